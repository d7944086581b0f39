"""Which watched value a gradient is of, where the program that computes both tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.inlining import is_inlined
from jax_debug_widgets.events import NO_VALUE
from jax_debug_widgets.taps.sites import phase_of
from jax_debug_widgets.watch.source import Span

if TYPE_CHECKING:
    from jax_debug_widgets._jax.uses import Around
    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.watch.body import Body
    from jax_debug_widgets.watch.names import Named

_Key = tuple[str, Span, str]


class Partners:
    """The sites of the values and gradients of one program, whose bodies come one after the other, inner ones first.

    Args:
      of_all: `Seen.sites`, by identity, of all programs: un-jitted, a gradient is computed by another one than its value.
    """

    def __init__(self, of_all: dict[Any, int | None]) -> None:
        self._of_all = of_all
        self._own: dict[Any, int | None] = {}
        self._executions: dict[_Key, list[CallSite]] = {}
        """The executions of each statement in the forward pass, in their order."""
        self._turns: dict[_Key, list[tuple[int, int, int]]] = {}
        """Gradients of what checkpointed functions compute, of which no value has come: which call, of how many, the site."""
        self._keys: set[_Key] = set()
        self._gradients: dict[Any, int] = {}
        """Of the variables of values those that came first."""

    def begin(self, chosen: Sequence[Named], body: Body) -> None:
        """These of a body are watched: the sites of its values come next."""
        values = [one for one in chosen if one.role == "value" and phase_of(one.stack) != "recompute"]
        self._keys.update(map(_key, values))
        for key in {_key(one) for one in values} & self._turns.keys():
            executions = _differentiated([one for one in values if _key(one) == key])
            executions = [one for one in executions if is_inlined(body.equations[one.equation])] or executions
            turns = self._turns.pop(key)
            for number, count, site in turns:
                if len(executions) == count and sum(one[0] == number for one in turns) == 1:
                    self._gradients[executions[number].variable] = site

    def gradient_of(self, value: Named) -> int | None:
        """The site of the gradient of a value, where that came first."""
        return self._gradients.get(value.variable)

    def add(self, one: Named, site: CallSite, around: Around) -> None:
        """A value or gradient has its site."""
        if one.role == "gradient":
            if around.turn is not None and _key(one) not in self._executions:
                self._turns.setdefault(_key(one), []).append((*around.turn, site.id))
            return
        if site.phase == "recompute":
            return  # The forward pass has computed it before: the gradient is told there.
        self._executions.setdefault(_key(one), []).append(site)
        if one.identity is None:
            return
        # What a function returns has a name in its caller, too, and a gradient there.
        identity = one.identity, *_key(one)
        for sites in (self._own, self._of_all):
            sites[identity] = site.id if sites.setdefault(identity, site.id) == site.id else None

    def value_of(self, gradient: Named, around: Around) -> int | None:
        """The site of the value of a gradient; `NO_VALUE` where none is known yet, None where only the order of all tells."""
        identity, key = gradient.identity and (gradient.identity, *_key(gradient)), _key(gradient)
        known = self._own if identity in self._own or not around.is_pass else self._of_all
        if (value := known.get(identity)) is not None or around.is_pass:
            return value
        if around.turn is not None:
            number, count = around.turn
            executions = _differentiated(self._executions.get(key, []))
            if not executions and count == 1:
                return None  # Its values may still come. Several calls have bodies in no order of theirs.
            return executions[number].id if len(executions) == count else NO_VALUE
        is_told = gradient.identity is not None or around.outer is not None
        is_missing = is_told and identity not in self._own
        return NO_VALUE if is_missing or key not in self._keys else None


def _key(one: Named) -> _Key:
    return one.file, one.span, one.name


def _differentiated(executions: Sequence[Any]) -> Sequence[Any]:
    """Of executions of one statement, sites or named values, those of which a derivative is taken, if there are any."""
    found = [one for one in executions if "jvp(" in (getattr(one, "stack", "") or getattr(one, "name_stack", ""))]
    return found or executions
