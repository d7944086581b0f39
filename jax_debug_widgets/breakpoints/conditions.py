"""Check the conditions of `--break-on`: whether an event that is captured anyway stops the program.

The values are on the host already. So the program's thread checks them there, each time any site fires, in some microseconds
an event. The condition of `jdw.breakpoint(when=...)` is computed on the device.
"""

from __future__ import annotations

import ast
import difflib
import fnmatch
import keyword
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.breakpoints.expressions import WORDS, Expression, name_of, names_of
from jax_debug_widgets.breakpoints.nonfinite import KINDS, Kinds, Lanes, Onset, nonfinite_text
from jax_debug_widgets.events import CallSite, Tap, Watched
from jax_debug_widgets.events.elementwise import GRADIENT, names_in, parsed, resolved
from jax_debug_widgets.events.identifiers import as_python_has
from jax_debug_widgets.watch import MOST_ELEMENTS

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets.taps.gate import Firings

_PLACE = re.compile(r"(?:[^:]+:\d+)|\d+|[A-Za-z_]\w*")


@dataclass(frozen=True)
class StopCondition:
    """A condition on which the program stops.

    Attributes:
      text: the condition as the user wrote it.
      holds: tap, its arrays, and all firings that came together -> the lanes for which the condition holds, `[()]` outside
        `vmap`; empty if it does not hold.
      concerns: whether the condition can ever hold at a site.
      trouble: returns why the condition could not be computed; empty if it could.
      kinds: `nan`, `inf` or both, if the condition looks for these.
      names: the names of the values that the condition uses, of a tree its root: `params` for `params['w']`.
      is_expression: whether the condition is an expression over values.
      is_place: whether the condition is one place: a line, or the number of a site.
      was_together: returns whether an event had all of an expression's names, or events that came together had them.
    """

    text: str
    holds: Callable[[Tap, tuple[np.ndarray, ...], Firings], Lanes]
    concerns: Callable[[CallSite], bool]
    trouble: Callable[[], str] = str
    kinds: Kinds = ()
    names: frozenset[str] = frozenset()
    is_expression: bool = False
    is_place: bool = False
    was_together: Callable[[], bool] = bool

    def reason(self, tap: Tap, arrays: tuple[np.ndarray, ...]) -> str:
        """Return the reason of a stop by this condition, for people."""
        if self.kinds:
            masked = f"; {tap.site.choice} may mask it" if tap.site.choice else ""
            return nonfinite_text(tap, arrays, self.kinds) + masked
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
        onset = Onset(kinds)
        return StopCondition(
            text.lower(), lambda tap, arrays, _: onset(tap, arrays), lambda site: bool(site.values), kinds=kinds
        )
    if _PLACE.fullmatch(text):
        at_it = partial(_is_at, place=text)
        text = text if ":" in text else as_python_has(text)
        name = frozenset({text} if text.isidentifier() else ())
        return StopCondition(
            text,
            lambda tap, _arrays, _firings: list(tap.lane_order) if at_it(tap.site) else [],
            at_it,
            names=name,
            is_place=not name,
        )
    tree = parsed(text, f"--break-on wants {_WANTED}", WORDS)
    names = frozenset(names_in(tree, WORDS))
    if not names:
        msg = f"--break-on {text!r} names no captured value: write {_WANTED}"
        raise ValueError(msg)
    expression = Expression(text, tree)
    return StopCondition(
        text,
        expression,
        expression.concerns,
        expression.trouble,
        names=names,
        is_expression=True,
        was_together=lambda: expression.was_together,
    )


def _refuse_misspelled(text: str) -> None:
    word = text.lower().replace("-", "").replace("_", "")
    near = [_ALSO[word]] if word in _ALSO else difflib.get_close_matches(word, ["nonfinite"], n=1, cutoff=0.8)
    if word.isidentifier() and near:
        raise ValueError(
            f"--break-on {text}: did you mean {near[0]}? To stop on a value of that name, write an expression: "
            f"--break-on '{text} > 0'"
        )


def unmet(
    conditions: Iterable[StopCondition],
    sites: Iterable[CallSite],
    *,
    why: Callable[[str], str] = lambda _name: "",
    watches_all: bool = False,
) -> list[str]:
    """Return a sentence for each condition that could hold at none of the sites, or could never be computed.

    Args:
      conditions: the conditions of the run; `sites` are its sites.
      why: returns a sentence about why a name has no values, if that is known. `watches_all`: every named value is watched.
    """
    sites = list(sites)
    known = sorted(set(KINDS).union(*map(names_of, sites)))
    sentences = [
        f"--break-on {condition.text} could not be computed: {trouble}"
        if (trouble := condition.trouble())
        else _unmet(condition, sites, known, why, "" if watches_all else _ADVICE)
        * (not any(condition.concerns(site) for site in sites))
        for condition in conditions
    ]
    return [sentence for sentence in sentences if sentence]


def unwatched(conditions: Iterable[StopCondition]) -> list[str]:
    """Return a sentence for each condition over all values; for a capture that watches nothing."""
    return [
        f"--break-on {one.text} sees only the values of prints and callbacks, because nothing is watched. Add --watch-all "
        "to check every named value, or --watch NAMES."
        for one in conditions
        if one.kinds
    ]


def _unmet(
    condition: StopCondition, sites: Sequence[CallSite], known: list[str], why: Callable[[str], str], advice: str
) -> str:
    text, watched = condition.text, _watched_names(condition, sites)
    if len(watched) > 1 and not condition.was_together():
        names = ", ".join(sorted(watched))
        return (
            f"--break-on {text} was never checked: no function or loop body computes all of {names}, and values of "
            "different ones are not there at the same time."
        )
    if any(math.prod(site.shape) > 1 for site in watched.values()):
        # Values with at most MOST_ELEMENTS elements are handed over whole, so the condition was checked for them.
        large = sorted(name for name, site in watched.items() if math.prod(site.shape) > MOST_ELEMENTS)
        if not large:
            return ""
        return (
            f"--break-on {text} was never checked: only statistics of {', '.join(large)} are recorded, because they have "
            f"more than {MOST_ELEMENTS} elements. `--values` records the elements."
        )
    return "" if watched else _unseen(condition, known, why, advice)


def _unseen(condition: StopCondition, known: list[str], why: Callable[[str], str], advice: str) -> str:
    """Return a sentence about a condition over what nothing prints or watches."""
    text = condition.text
    if condition.is_place:
        return f"--break-on {text} was never checked: no print, callback or watched value is there.{advice}"
    missing = _missing(condition, known)
    if reasons := " ".join(filter(None, map(why, missing))):
        return f"--break-on {text} was never checked: {reasons}"
    return (
        f"--break-on {text} was never checked: it sees the values of prints, callbacks and watched names, and "
        f"{_lacking(condition, missing)}.{_suggestion(text, known)}{advice}"
    )


_ADVICE = " `--watch-all` adds every named value, `--watch NAMES` some of them."


def _missing(condition: StopCondition, known: Iterable[str]) -> list[str]:
    """Return the names in an expression that no event has."""
    if not condition.is_expression:
        return []
    return sorted(resolved(ast.parse(condition.text, mode="eval"), set(known), WORDS).missing)


def _lacking(condition: StopCondition, missing: Sequence[str]) -> str:
    """Return a sentence about the names that no event has, for a condition that was never checked."""
    if not condition.is_expression:
        return "none of these has such a value"
    if missing:
        return f"none of these is called {' or '.join(missing)}"
    return f"no event has all of {', '.join(sorted(condition.names))}"


def _watched_names(condition: StopCondition, sites: Sequence[CallSite]) -> dict[str, Watched]:
    """Return the watched values that an expression uses, by name; empty if one of its names is not watched."""
    if not condition.is_expression:
        return {}
    watched = {name_of(site.watch): site.watch for site in sites if site.watch}
    found = resolved(ast.parse(condition.text, mode="eval"), watched, WORDS)
    return {} if found.missing else {name: watched[name] for name in found.variables}


def _suggestion(text: str, known: list[str]) -> str:
    """Suggest a name that the user may have meant: a gradient, or a name that is nearly the same; empty without one."""
    words = re.findall(r"[A-Za-z_]\w*", text)
    names = [word for word in words if not keyword.iskeyword(word) and word not in WORDS]
    of_gradients = [f"{GRADIENT}{name}" for name in names if f"{GRADIENT}{name}" in known]
    if of_gradients and not any(name in known for name in names):
        return f" Its gradient is called {' and '.join(of_gradients)}."
    unknown = [name for name in names if name not in known]
    near = [close for name in unknown for close in difflib.get_close_matches(name, known, n=1)]
    return f" Did you mean {' and '.join(near)}?" if near else ""


def _is_at(site: CallSite, place: str) -> bool:
    names = map(as_python_has, (site.label, *site.aliases))
    if place in (str(site.id), site.where, site.label, site.format, *site.aliases) or as_python_has(place) in names:
        return True
    file, _, line = place.rpartition(":")
    return bool(file) and line == str(site.line) and f"/{site.file}".endswith(f"/{file}")
