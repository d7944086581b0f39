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
    def names(self) -> tuple[str, ...]:
        """All that it can be called."""
        own = (self.place, f"{self.name}@{self.site.where}", self.name)
        return (*own, self.site.label) if len(self.site.values) == 1 else own


def choose(name: str, choices: Sequence[Choice]) -> Choice:
    """The value called `name`; of several, the one in the forward pass.

    Raises:
      KeyError: none, or several places; the message says which names there are.
    """
    for kind in range(4):
        found = [choice for choice in choices if kind < len(choice.names) and choice.names[kind] == name]
        forward = [choice for choice in found if choice.site.phase == "forward"]
        chosen = forward or found
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            places = ", ".join(sorted(choice.place for choice in chosen))
            msg = f"{name!r} is captured at several places; say which: {places}"
            raise KeyError(msg)
    known = sorted({choice.name for choice in choices})
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    msg = f"no captured value is called {name!r}.{hint} There are: {', '.join(known) or 'none'}"
    raise KeyError(msg)
