"""`--break-on`: when an event that is captured anyway stops the program.

The values are on the host already, so they are looked at there, on the program's thread, each time any site fires: some
microseconds an event. `jdw.breakpoint(when=...)` is looked at on the device.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from jax_debug_widgets.events import CallSite, Tap
from jax_debug_widgets.events.elementwise import compiled, names_in, parsed, why_not, words_of
from jax_debug_widgets.events.numbers import infinite

_PLACE = re.compile(r"(?:[^:]+:\d+)|\d+|[A-Za-z_]\w*")

Lanes = list[tuple[int, ...]]


@dataclass(frozen=True)
class Condition:
    """When to stop.

    Attributes:
      text: as the user wrote it.
      holds: tap and its arrays -> the lanes for which it holds, `[()]` outside `vmap`; empty where it does not.
      concerns: whether it can ever hold at a site.
      trouble: why it could not be computed; empty where it could.
    """

    text: str
    holds: Callable[[Tap, tuple[np.ndarray, ...]], Lanes]
    concerns: Callable[[CallSite], bool]
    trouble: Callable[[], str] = str

    def reason(self, tap: Tap, arrays: tuple[np.ndarray, ...]) -> str:
        """A sentence of what is the matter."""
        if self.text == "nonfinite":
            masked = f"; {tap.site.choice} may mask it" if tap.site.choice else ""
            return nonfinite_words(tap, arrays) + masked
        return f"{self.text} at {tap.site.where}"


def conditions_of(break_on: Any) -> tuple[str, ...]:
    """The conditions of `jdw.capture(break_on=...)`, each as a text.

    Raises:
      TypeError: what is no text, no number of a site, and no several of these.
    """
    several = tuple(break_on) if isinstance(break_on, list | tuple) else (break_on,)
    for one in several:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise TypeError(f"break_on wants {_WANTED}, or several of these in a list, got {one!r}")
    return tuple(map(str, several))


_WANTED = "nonfinite, a site (train.py:41, its number or name), or an expression (loss>10)"


def parse_condition(text: str) -> Condition:
    """`nonfinite`, a site (`train.py:41`, its number, its name), or an expression over captured values (`loss > 10`).

    Raises:
      ValueError: none of these.
    """
    text = text.strip()
    if text == "nonfinite":
        return Condition(text, _Onset(), lambda site: bool(site.values))
    if _PLACE.fullmatch(text):
        at_it = partial(_is_at, place=text)
        return Condition(text, lambda tap, _arrays: list(tap.lane_order) if at_it(tap.site) else [], at_it)
    tree = parsed(text, f"--break-on wants {_WANTED}", _WORDS)
    names = frozenset(names_in(tree, _WORDS))
    if not names:
        msg = f"--break-on {text!r} names no captured value: write {_WANTED}"
        raise ValueError(msg)
    expression = _Expression(text, compiled(tree, np, _WORDS), names)
    return Condition(text, expression, lambda site: names <= names_of(site), expression.trouble)


def unmet(conditions: Iterable[Condition], sites: Iterable[CallSite]) -> list[str]:
    """A sentence for each condition that could hold at none of the sites, or be computed of nothing."""
    sites = list(sites)
    known = sorted({"nonfinite"}.union(*map(names_of, sites)))
    told = [
        f"--break-on {condition.text} could not be computed: {trouble}"
        if (trouble := condition.trouble())
        else _unmet(condition.text, known) * (not any(condition.concerns(site) for site in sites))
        for condition in conditions
    ]
    return [sentence for sentence in told if sentence]


def _unmet(text: str, known: list[str]) -> str:
    unknown = [name for name in re.findall(r"[A-Za-z_]\w*", text) if name not in known]
    near = [close for name in unknown for close in difflib.get_close_matches(name, known, n=1)]
    meant = f" Did you mean {' and '.join(near)}?" if near else ""
    return (
        f"--break-on {text} had nothing to look at: it sees what prints, callbacks and watched values show, and none shows "
        f"that.{meant} `--watch-all` shows it every named value, `--watch NAMES` some."
    )


_WORDS = {**words_of(np), "float": float, "int": int, "bool": bool}


class _Expression:
    """Lanes in which an expression is true of any element; none where the event has not all of its names."""

    def __init__(self, text: str, value: Callable[[Mapping[str, Any]], Any], names: frozenset[str]) -> None:
        self._text = text
        self._value = value
        self._names = names
        self._known: dict[Tap, bool] = {}
        self._has_worked = False
        self._error = ""

    def trouble(self) -> str:
        """Why it could never be computed; empty where it once was, and where nothing had its names."""
        return "" if self._has_worked else self._error

    def __call__(self, tap: Tap, arrays: tuple[np.ndarray, ...]) -> Lanes:
        if tap not in self._known:
            self._known[tap] = self._names <= names_of(tap.site)
        return [lane for lane in tap.lane_order if self._is_true(tap, arrays, lane)] if self._known[tap] else []

    def _is_true(self, tap: Tap, arrays: tuple[np.ndarray, ...], lane: tuple[int, ...]) -> bool:
        values = variables_of(tap, arrays, lane)
        try:
            with np.errstate(all="ignore"):
                is_true = bool(np.any(self._value({name: values[name] for name in self._names})))
        except Exception as error:  # noqa: BLE001 - an expression that raises for these values does not hold for them.
            self._error = why_not(self._text, error)
            return False
        self._has_worked = True
        return is_true


def names_of(site: CallSite) -> set[str]:
    """What the values of its events may be called."""
    watched = [site.watch.name] if site.watch and "value" in site.values else []
    return {name for name in (*site.values, *site.keywords, *watched) if name.isidentifier()}


def variables_of(tap: Tap, arrays: tuple[np.ndarray, ...], lane: tuple[int, ...]) -> dict[str, Any]:
    """The values of one lane by name."""
    values = tap.values_of(arrays, lane)
    named = dict(zip(tap.site.values, values, strict=False))
    if tap.site.watch and "value" in named:
        named[tap.site.watch.name] = named["value"]
    return {**{key: value for key, value in zip(tap.site.keywords, values, strict=False) if key}, **named}


def is_inexact(array: np.ndarray) -> bool:
    """Whether it may hold NaN; `bfloat16` and the like are no NumPy floats."""
    return array.dtype.kind in "fc" or (array.dtype.kind == "V" and array.dtype.name.startswith(("bfloat", "float")))


class _Onset:
    """Lanes that are not finite and were at the firing before: who has seen a NaN need not stop for it in every iteration."""

    def __init__(self) -> None:
        self._before: dict[tuple[int, tuple[int, ...]], Lanes] = {}
        """By site and device."""

    def __call__(self, tap: Tap, arrays: tuple[np.ndarray, ...]) -> Lanes:
        here = tap.site.id, tap.coordinates_of(arrays)
        lanes, before = _nonfinite_lanes(tap, arrays), self._before.get(here, [])
        self._before[here] = lanes
        return [lane for lane in lanes if lane not in before] if before else lanes


def _nonfinite_lanes(tap: Tap, arrays: tuple[np.ndarray, ...]) -> Lanes:
    if tap.site.watch is not None:
        return [()] if nonfinite_words(tap, arrays) else []
    suspects = [array for array in arrays[: len(tap.shapes)] if is_inexact(array)]
    if all(bool(np.isfinite(array).all()) for array in suspects):
        return []
    return [
        lane
        for lane in tap.lane_order
        if any(is_inexact(value) and not np.isfinite(value).all() for value in tap.values_of(arrays, lane))
    ]


def nonfinite_words(tap: Tap, arrays: tuple[np.ndarray, ...]) -> str:
    """`h is not finite: 3 NaN`; empty where all are."""
    watch = tap.site.watch
    meant = watch.meant if watch else ()
    if watch is not None and "nan" in tap.site.values:
        told = dict(zip(tap.site.values, arrays, strict=False))
        odd = sum(int(told[name]) for name in ("posinf", "neginf") if name not in meant)
        return _not_finite(watch.name, ((int(told["nan"]), "NaN"), (odd, "infinite")))
    for name, array in zip(tap.site.values, arrays, strict=False):
        if is_inexact(array) and not np.isfinite(array).all():
            counts = ((int(np.isnan(array).sum()), "NaN"), (int(infinite(array, meant).sum()), "infinite"))
            return _not_finite(watch.name if watch else name, counts)
    return ""


def _not_finite(name: str, counts: Iterable[tuple[int, str]]) -> str:
    told = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"{name} is not finite: {told}" if told else ""


def _is_at(site: CallSite, place: str) -> bool:
    if place in (str(site.id), site.where, site.label, site.format, *site.keywords):
        return True
    file, _, line = place.rpartition(":")
    return bool(file) and line == str(site.line) and f"/{site.file}".endswith(f"/{file}")
