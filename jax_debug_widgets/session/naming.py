"""Find the value that a person means by a name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from jax_debug_widgets.events import CallSite


@dataclass(frozen=True)
class Choice:
    """Value number `value` of `site`."""

    site: CallSite
    value: int

    @property
    def name(self) -> str:
        """Its source expression."""
        return self.site.values[self.value]

    @property
    def place(self) -> str:
        """Its source expression and where it is, with the phase where that is not the forward pass."""
        phase = "" if self.site.phase == "forward" else f" ({self.site.phase})"
        return f"{self.name}@{self.site.where}{phase}"

    @property
    def keyword(self) -> str:
        """The keyword it was passed as, if it was."""
        return self.site.keywords[self.value] if self.value < len(self.site.keywords) else ""

    @property
    def names(self) -> tuple[str, ...]:
        """All that it can be called, the most telling first."""
        own = (self.place, f"{self.name}@{self.site.where}", self.name, self.keyword)
        return (*own, self.site.label) if len(self.site.values) == 1 else own


def choose(name: str, choices: Sequence[Choice]) -> Choice:
    """The value called `name`; of several, the one in the forward pass.

    Raises:
      KeyError: none, or several places; the message says which names there are.
    """
    plain, _, number = name.partition("#")
    kinds = max((len(choice.names) for choice in choices), default=0)
    for kind in range(kinds):
        found = [one for one in choices if kind < len(one.names) and plain and one.names[kind] == plain]
        forward = [choice for choice in found if choice.site.phase == "forward"]
        chosen = forward or found
        if number.isdecimal() and 0 < int(number) <= len(chosen):
            return chosen[int(number) - 1]
        # An expression that one call passes twice is one value.
        if len({choice.site.id for choice in chosen}) == 1:
            return chosen[0]
        if chosen:
            msg = f"{name!r} is captured at several places; say which: {', '.join(_told_apart(chosen))}"
            raise KeyError(msg)
    known = sorted({_told(choice) for choice in choices})
    near = difflib.get_close_matches(name, sorted({n for choice in choices for n in choice.names if n}), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    msg = f"no captured value is called {name!r}.{hint} There are: {', '.join(known) or 'none'}"
    raise KeyError(msg)


def _told(choice: Choice) -> str:
    return f"{choice.name} ({choice.keyword})" if choice.keyword not in ("", choice.name) else choice.name


def _told_apart(choices: Sequence[Choice]) -> list[str]:
    """Their places, numbered where these are the same."""
    places = [choice.place for choice in choices]
    if len(set(places)) == len(places):
        return sorted(places)
    return [f"{place}#{number}" for number, place in enumerate(places, 1)]
