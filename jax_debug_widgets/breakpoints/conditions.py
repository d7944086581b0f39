"""Check the conditions of `--break-on`: whether an event that is captured anyway stops the program.

The values are on the host already. So the program's thread checks them there, each time any site fires, in some microseconds
an event. The condition of `jdw.breakpoint(when=...)` is computed on the device.
"""

from __future__ import annotations

import ast
import difflib
import fnmatch
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jax_debug_widgets.breakpoints.nonfinite import KINDS, Kinds, Lanes, Onset, nonfinite_words
from jax_debug_widgets.events import CallSite, Tap, Watched
from jax_debug_widgets.events.elementwise import GRADIENT, compiled, names_in, parsed, resolved, why_not, words_of
from jax_debug_widgets.events.identifiers import as_python_has
from jax_debug_widgets.watch import MOST_ELEMENTS

_PLACE = re.compile(r"(?:[^:]+:\d+)|\d+|[A-Za-z_]\w*")


@dataclass(frozen=True)
class StopCondition:
    """A condition on which the program stops.

    Attributes:
      text: the condition as the user wrote it.
      holds: tap and its arrays -> the lanes for which the condition holds, `[()]` outside `vmap`; empty if it does not hold.
      concerns: whether the condition can ever hold at a site.
      trouble: returns why the condition could not be computed; empty if it could.
      kinds: `nan`, `inf` or both, if the condition looks for these.
      names: the names of the values that the condition uses, of a tree its root: `params` for `params['w']`.
      is_expression: whether the condition is an expression over values.
    """

    text: str
    holds: Callable[[Tap, tuple[np.ndarray, ...]], Lanes]
    concerns: Callable[[CallSite], bool]
    trouble: Callable[[], str] = str
    kinds: Kinds = ()
    names: frozenset[str] = frozenset()
    is_expression: bool = False

    def reason(self, tap: Tap, arrays: tuple[np.ndarray, ...]) -> str:
        """Return the reason of a stop by this condition, for people."""
        if self.kinds:
            masked = f"; {tap.site.choice} may mask it" if tap.site.choice else ""
            return nonfinite_words(tap, arrays, self.kinds) + masked
        return f"{self.text} at {tap.site.where}"


def conditions_of(break_on: Any) -> tuple[str, ...]:
    """Return the conditions of `jdw.capture(break_on=...)` as texts.

    Raises:
      TypeError: `break_on` is not a text, the number of a site, or a list or tuple of these.
    """
    several = tuple(break_on) if isinstance(break_on, list | tuple) else (break_on,)
    for one in several:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise TypeError(f"break_on wants {_WANTED}, or several of these in a list, got {one!r}")
    return tuple(map(str, several))


_WANTED = "nonfinite, a site (train.py:41, its number or name), an expression (loss>10, grad.w>10), nan or inf"


_ALSO = {"nans": "nan", "infs": "inf", "infinite": "inf", "infinity": "inf"}
"""Other spelling of a kind of number -> the kind."""


def parse_condition(text: str, watched: Iterable[str] = ()) -> StopCondition:
    """Parse `nonfinite`, `nan`, `inf`, a site (`train.py:41`, its number, its name), or an expression (`loss > 10`).

    Args:
      watched: the name patterns of the watched values.

    Raises:
      ValueError: the text is none of these, or it nearly spells `nonfinite` and is not a watched name.
    """
    text = text.strip()
    kinds = KINDS.get(text.lower())
    if kinds is None and not any(fnmatch.fnmatchcase(text, pattern) for pattern in watched):
        _refuse_misspelled(text)
    if kinds is not None:
        return StopCondition(text.lower(), Onset(kinds), lambda site: bool(site.values), kinds=kinds)
    if _PLACE.fullmatch(text):
        at_it = partial(_is_at, place=text)
        text = text if ":" in text else as_python_has(text)
        name = frozenset({text} if text.isidentifier() else ())
        return StopCondition(
            text, lambda tap, _arrays: list(tap.lane_order) if at_it(tap.site) else [], at_it, names=name
        )
    tree = parsed(text, f"--break-on wants {_WANTED}", _WORDS)
    names = frozenset(names_in(tree, _WORDS))
    if not names:
        msg = f"--break-on {text!r} names no captured value: write {_WANTED}"
        raise ValueError(msg)
    expression = _Expression(text, tree)
    return StopCondition(text, expression, expression.concerns, expression.trouble, names=names, is_expression=True)


def _refuse_misspelled(text: str) -> None:
    word = text.lower().replace("-", "").replace("_", "")
    near = [_ALSO[word]] if word in _ALSO else difflib.get_close_matches(word, ["nonfinite"], n=1, cutoff=0.8)
    if word.isidentifier() and near:
        raise ValueError(
            f"--break-on {text}: did you mean {near[0]}? To stop on a value of that name, write an expression: "
            f"--break-on '{text} > 0'"
        )


def unmet(conditions: Iterable[StopCondition], sites: Iterable[CallSite]) -> list[str]:
    """Return a sentence for each condition that could hold at none of the sites, or could never be computed."""
    sites = list(sites)
    known = sorted(set(KINDS).union(*map(names_of, sites)))
    told = [
        f"--break-on {condition.text} could not be computed: {trouble}"
        if (trouble := condition.trouble())
        else _unmet(condition, sites, known) * (not any(condition.concerns(site) for site in sites))
        for condition in conditions
    ]
    return [sentence for sentence in told if sentence]


def unwatched(conditions: Iterable[StopCondition]) -> list[str]:
    """Return a sentence for each condition over all values; for a capture that watches nothing."""
    return [
        f"--break-on {one.text} sees only the values of prints and callbacks, because nothing is watched. Add --watch-all "
        "to check every named value, or --watch NAMES."
        for one in conditions
        if one.kinds
    ]


def _unmet(condition: StopCondition, sites: Sequence[CallSite], known: list[str]) -> str:
    text, watched = condition.text, _watched_names(condition, sites)
    if any(math.prod(site.shape) > 1 for site in watched.values()):
        # Values with at most MOST_ELEMENTS elements are handed over whole, so the condition was checked for them.
        large = sorted(name for name, site in watched.items() if math.prod(site.shape) > MOST_ELEMENTS)
        if not large:
            return ""
        return (
            f"--break-on {text} was never checked: only statistics of {', '.join(large)} are recorded, because they have "
            f"more than {MOST_ELEMENTS} elements. `--values` records the elements."
        )
    meant = _meant(text, known)
    return (
        f"--break-on {text} was never checked: it sees the values of prints, callbacks and watched names, and none of these "
        f"has such a value.{meant} `--watch-all` adds every named value, `--watch NAMES` some of them."
    )


def _watched_names(condition: StopCondition, sites: Sequence[CallSite]) -> dict[str, Watched]:
    """Return the watched values that an expression uses, by name; empty if one of its names is not watched."""
    if not condition.is_expression:
        return {}
    watched = {_name_of(site.watch): site.watch for site in sites if site.watch}
    found = resolved(ast.parse(condition.text, mode="eval"), watched, _WORDS)
    return {} if found.missing else {name: watched[name] for name in found.variables}


def _meant(text: str, known: list[str]) -> str:
    """Suggest a name that the user may have meant: a gradient, or a name that is nearly the same; empty without one."""
    names = re.findall(r"[A-Za-z_]\w*", text)
    of_gradients = [f"{GRADIENT}{name}" for name in names if f"{GRADIENT}{name}" in known]
    if of_gradients and not any(name in known for name in names):
        return f" Its gradient is called {' and '.join(of_gradients)}."
    unknown = [name for name in names if name not in known]
    near = [close for name in unknown for close in difflib.get_close_matches(name, known, n=1)]
    return f" Did you mean {' and '.join(near)}?" if near else ""


_WORDS = {**words_of(np), "float": float, "int": int, "bool": bool}


class _Expression:
    """Finds the lanes in which an expression is true for any element; none if the event lacks one of its names."""

    def __init__(self, text: str, tree: ast.Expression) -> None:
        self._text, self._tree = text, tree
        self._known: dict[Tap, _Computed | None] = {}
        self._has_worked = False
        self._error = ""

    def trouble(self) -> str:
        """Return why the expression could never be computed; empty if it was computed once, or no event had its names."""
        return "" if self._has_worked else self._error

    def concerns(self, site: CallSite) -> bool:
        """Whether a site has all names of the expression."""
        return not resolved(self._tree, names_of(site), _WORDS).missing

    def __call__(self, tap: Tap, arrays: tuple[np.ndarray, ...]) -> Lanes:
        if tap not in self._known:
            found = resolved(self._tree, names_of(tap.site), _WORDS)
            self._known[tap] = (
                None if found.missing else _Computed(found.variables, compiled(found.expression, np, _WORDS))
            )
        computed = self._known[tap]
        if computed is None:
            return []
        return [lane for lane in tap.lane_order if self._is_true(computed, variables_of(tap, arrays, lane))]

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
    """An expression at one site: the names of its values, and the function that computes it from the values."""

    variables: Mapping[str, str]
    of: Callable[[Mapping[str, Any]], Any]


def names_of(site: CallSite) -> set[str]:
    """Return the names that an expression may use for the values of a site's events: a gradient is `grad.h`, not `h`."""
    watched = {_name_of(site.watch)} if site.watch and "value" in site.values else set[str]()
    names = {as_python_has(name) for name in (*site.values, *site.aliases) if name}
    return names - {"value" if watched else ""} | watched


def _name_of(watch: Watched) -> str:
    return (GRADIENT if watch.role == "gradient" else "") + watch.name


def variables_of(tap: Tap, arrays: tuple[np.ndarray, ...], lane: tuple[int, ...]) -> dict[str, Any]:
    """Return the values of one lane by the names that an expression may use."""
    values = tap.values_of(arrays, lane)
    named = dict(zip(tap.site.values, values, strict=False))
    if tap.site.watch and "value" in named:
        named[_name_of(tap.site.watch)] = named["value"]
    both = {**{key: value for key, value in zip(tap.site.aliases, values, strict=False) if key}, **named}
    return {as_python_has(name): value for name, value in both.items()}


def _is_at(site: CallSite, place: str) -> bool:
    names = map(as_python_has, (site.label, *site.aliases))
    if place in (str(site.id), site.where, site.label, site.format, *site.aliases) or as_python_has(place) in names:
        return True
    file, _, line = place.rpartition(":")
    return bool(file) and line == str(site.line) and f"/{site.file}".endswith(f"/{file}")
