"""Pair each gradient with its watched value: both have the same note, in the forward and in the backward pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.watch.naming.named import Named


class ValueGradientPairs:
    """The sites of the values and gradients of one program. Its bodies come one after the other, inner ones first.

    Args:
      of_all: `CompiledPrograms.sites` of all programs: un-jitted, a value and its gradient are in different programs.
      carried: `CompiledPrograms.carried` of all programs.
    """

    def __init__(self, of_all: dict[Any, CallSite | None], carried: set[Any]) -> None:
        self._of_all, self._carried = of_all, carried
        self._own: dict[Any, CallSite | None] = {}
        self._gradients: dict[Any, CallSite] = {}
        """The sites of gradients that came before their values."""

    def of(self, one: Named, *, is_pass: bool) -> CallSite | None:
        """Return the site of the value that a gradient belongs to, or of a gradient that came before this value.

        Return None if it is unknown.

        Args:
          is_pass: whether the forward pass may be in another program.
        """
        known = [self._own, *([self._of_all] if is_pass else [])] if one.role == "gradient" else [self._gradients]
        return next((site for sites in known for key in _keys(one) if (site := sites.get(key)) is not None), None)

    def add(self, one: Named, site: CallSite) -> None:
        """Note the site of a value or gradient."""
        if one.role == "gradient":
            self._gradients.update((key, site) for key in _keys(one) if self._own.get(key) is None)
        elif site.phase != "recompute":  # The gradient belongs to the value that the forward pass computed before.
            for key in _keys(one):
                known = self._own.setdefault(key, site)
                own = site if known is not None and known.id == site.id else None
                self._own[key] = self._of_all[key] = own  # Of several programs, the last one that was lowered counts.

    def add_carried(self, named: Iterable[Named]) -> None:
        """Note the values of a body that the previous iteration made."""
        self._carried.update(key for one in named if one.carried for key in _keys(one))

    def is_carried(self, one: Named) -> bool:
        """Whether the previous iteration made the value, or the value that the gradient belongs to."""
        return one.carried or any(key in self._carried for key in _keys(one))


def _keys(one: Named) -> Iterator[Any]:
    """Return the keys of a value or gradient, one for each identity: the caller may name a returned value too."""
    return ((own, one.file, one.span, one.name) for own in one.identities)
