"""Compute the expressions of `--break-on` from the values of a firing, or of several that come together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jax_debug_widgets.events import CallSite, Tap, Watched
from jax_debug_widgets.events.elementwise import GRADIENT, compiled, names_in, resolved, why_not, words_of
from jax_debug_widgets.events.identifiers import as_python_has

if TYPE_CHECKING:
    from jax_debug_widgets.breakpoints.nonfinite import Lanes
    from jax_debug_widgets.taps.gate import Firings

WORDS = {**words_of(np), "float": float, "int": int, "bool": bool}
"""The functions that an expression may use by their names."""


class Expression:
    """Finds the lanes in which an expression is true for any element; none if its names have no values.

    The values are those of one event. Or they are watched values of one function or loop body: these come together. Then the
    expression is computed at the last of them, in the order of the program.
    """

    def __init__(self, text: str, tree: ast.Expression) -> None:
        self._text, self._tree = text, tree
        self._names = names_in(tree, WORDS)
        self._known: dict[Tap, _Computed | None] = {}
        self._joined: dict[tuple[Tap, ...], _Joined | None] = {}
        self._has_worked = self.was_together = False
        self._error = ""

    def trouble(self) -> str:
        """Return why the expression could never be computed; empty if it was computed once, or no event had its names."""
        return "" if self._has_worked else self._error

    def concerns(self, site: CallSite) -> bool:
        """Whether a site has all names of the expression."""
        return not resolved(self._tree, names_of(site), WORDS).missing

    def __call__(self, tap: Tap, arrays: tuple[np.ndarray, ...], firings: Firings) -> Lanes:
        """Return the lanes of this firing in which the expression is true; `firings` are all that came together."""
        if tap not in self._known:
            self._known[tap] = self._computed_of(names_of(tap.site))
        computed = self._known[tap]
        if computed is None:
            return self._of_several(tap, firings)
        self.was_together = True
        return [lane for lane in tap.lane_order if self._is_true(computed, variables_of(tap, arrays, lane))]

    def _of_several(self, tap: Tap, firings: Firings) -> Lanes:
        if len(firings) == 1 or len(self._names) == 1 or tap.site.watch is None:
            return []
        together = tuple(one for one, _ in firings)
        if together not in self._joined:
            self._joined[together] = self._join(together)
        joined = self._joined[together]
        if joined is None or joined.at is not tap:
            return []
        values = {name: variables_of(*firings[number], ())["value"] for name, number in joined.sources.items()}
        return [()] if self._is_true(joined.computed, values) else []

    def _join(self, taps: Sequence[Tap]) -> _Joined | None:
        """Find the watched values that have all names of the expression; None if one of the names has no whole value."""
        watched = {number: tap.site for number, tap in enumerate(taps) if tap.site.watch and not tap.lanes}
        self.was_together |= not resolved(self._tree, {_name(site) for site in watched.values()}, WORDS).missing
        # A value that was recorded before is taken only where no other one has its name.
        order = sorted(watched, key=lambda number: (_again(watched[number]) != "name", number))
        last = {_name(watched[number]): number for number in order if "value" in watched[number].values}
        computed = self._computed_of(last)
        if computed is None:
            return None
        sources = {name: last[name] for name in computed.variables}
        new = [number for number in sources.values() if _again(watched[number]) != "name"]
        return _Joined(taps[max(new)], sources, computed) if new else None

    def _computed_of(self, names: set[str] | Mapping[str, Any]) -> _Computed | None:
        found = resolved(self._tree, names, WORDS)
        return None if found.missing else _Computed(found.variables, compiled(found.expression, np, WORDS))

    def _is_true(self, computed: _Computed, values: Mapping[str, Any]) -> bool:
        try:
            with np.errstate(all="ignore"):
                is_true = bool(np.any(computed.of({at: values[name] for name, at in computed.variables.items()})))
        except Exception as error:  # noqa: BLE001 - an expression that raises for these values does not hold for them.
            self._error = why_not(self._text, error)
            return False
        self._has_worked = True
        return is_true


class _Computed(NamedTuple):
    """An expression over the values of some names: the names, and the function that computes it from the values."""

    variables: Mapping[str, str]
    of: Callable[[Mapping[str, Any]], Any]


class _Joined(NamedTuple):
    """An expression over values that come together: where it is computed, and the number of the firing of each name."""

    at: Tap
    sources: Mapping[str, int]
    computed: _Computed


def names_of(site: CallSite) -> set[str]:
    """Return the names that an expression may use for the values of a site's events: a gradient is `grad.h`, not `h`."""
    watched = {name_of(site.watch)} if site.watch and "value" in site.values else set[str]()
    names = {as_python_has(name) for name in (*site.values, *site.aliases) if name}
    return names - {"value" if watched else ""} | watched


def name_of(watch: Watched) -> str:
    """Return the name of a watched value in expressions."""
    return (GRADIENT if watch.role == "gradient" else "") + watch.name


def variables_of(tap: Tap, arrays: tuple[np.ndarray, ...], lane: tuple[int, ...]) -> dict[str, Any]:
    """Return the values of one lane by the names that an expression may use."""
    values = tap.values_of(arrays, lane)
    named = dict(zip(tap.site.values, values, strict=False))
    if tap.site.watch and "value" in named:
        named[name_of(tap.site.watch)] = named["value"]
    both = {**{key: value for key, value in zip(tap.site.aliases, values, strict=False) if key}, **named}
    return {as_python_has(name): value for name, value in both.items()}


def _name(site: CallSite) -> str:
    return name_of(site.watch) if site.watch else ""


def _again(site: CallSite) -> str:
    return site.watch.again if site.watch else ""
