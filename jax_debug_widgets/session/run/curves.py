"""Read the values of several runs by name, so that values of the same name can be laid over each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.session.run.counters import Counters
from jax_debug_widgets.session.run.headline import headline, placed_numbers_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.naming import SelectedValue
    from jax_debug_widgets.session.run.ports import ComparedRun

Key = tuple[str, str, int]
"""The name of a value, its phase, and its number among the values of that name."""


@dataclass(frozen=True)
class Curve:
    """One value of a run or a group along its steps; for several lanes or runs, their mean with a band.

    Attributes:
      x: float64[n], the steps, strictly ascending.
      seconds: float64[n], seconds since the run began.
      y: float64[n], the values.
      low, high: float64[n], the least and the greatest value of each step; None if each step has only one value.
    """

    x: np.ndarray
    seconds: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


class RunCurves:
    """Reads the values of one run as they were at the first access.

    Attributes:
      choices: key -> value, for numbers that do not count steps, the most important first.
    """

    def __init__(self, run: ComparedRun) -> None:
        run.collect()
        self._store = run.store
        self.choices = _keyed(headline(run.store.sites()))
        self._counters = Counters(run.store, self.choices.values())
        self._curves: dict[Key, Curve | None] = {}
        pieces = run.store.columns(0, len(run.store))
        self._first = pieces[0].first if pieces else 0
        self._times_ns = np.concatenate([np.zeros(0, np.int64), *(piece.time_ns for piece in pieces)])

    def of(self, key: Key) -> Curve | None:
        """Return the curve of a value; None if it is not a number, or counts steps."""
        if key not in self._curves:
            self._curves[key] = self._read(self.choices[key])
        return self._curves[key]

    def epsilon(self, key: Key) -> float:
        """Return the precision (machine epsilon) of the numbers of a value."""
        choice = self.choices[key]
        dtype = self._store.latest_taps()[choice.site.id].dtypes[choice.value]
        return float(np.finfo(dtype).eps) if dtype.kind == "f" else float(np.finfo(np.float32).eps)

    def _read(self, choice: SelectedValue) -> Curve | None:
        found = placed_numbers_of(self._store, choice)
        if found is None or self._counters.has(choice, found[1]):
            return None
        positions, values = found
        steps = self._store.history.steps(choice.site.id)
        count = min(len(values), len(positions), len(steps))  # Events may have come or gone between the reads.
        positions, steps, values = (column[len(column) - count :] for column in (positions, steps, values))
        known = (positions >= self._first) & (positions < self._first + len(self._times_ns))
        positions, steps, values = positions[known], steps[known], values[known]
        seconds = self._times_ns[positions - self._first] * 1e-9
        return by_step(steps.astype(np.float64), seconds, values.astype(np.float64))


def by_step(x: np.ndarray, seconds: np.ndarray, y: np.ndarray) -> Curve:
    """Make a curve with one point for each step: the mean of all values at the step, such as lanes, and their range."""
    if bool((np.diff(x) > 0).all()):
        return Curve(x, seconds, y)
    steps, where = np.unique(x, return_inverse=True)
    number = np.bincount(where)
    order = np.argsort(where, kind="stable")
    starts = np.concatenate([[0], np.cumsum(number)[:-1]])
    with np.errstate(invalid="ignore"):
        mean = np.add.reduceat(y[order], starts) / number
    low, high = np.fmin.reduceat(y[order], starts), np.fmax.reduceat(y[order], starts)
    is_band = bool((number > 1).any())
    return Curve(
        steps,
        np.maximum.reduceat(seconds[order], starts),
        mean,
        low if is_band else None,
        high if is_band else None,
    )


def together(curves: Sequence[Curve]) -> Curve:
    """Return the mean of several runs at their common steps, with a band from the least to the greatest value."""
    if len(curves) == 1:
        return curves[0]
    shared, rows = shared_steps(curves)
    table = np.stack([curve.y[own] for curve, own in zip(curves, rows, strict=True)])
    seconds = np.stack([curve.seconds[own] for curve, own in zip(curves, rows, strict=True)])
    with np.errstate(invalid="ignore"):
        mean = table.mean(axis=0) if len(shared) else np.zeros(0)
    low, high = (pick.reduce(table, axis=0) if len(shared) else np.zeros(0) for pick in (np.fmin, np.fmax))
    return Curve(shared, seconds.mean(axis=0) if len(shared) else np.zeros(0), mean, low, high)


def shared_steps(curves: Sequence[Curve]) -> tuple[np.ndarray, list[np.ndarray | slice]]:
    """Return the steps that all curves have, and their indices in each curve."""
    first = curves[0].x
    if all(np.array_equal(curve.x, first) for curve in curves[1:]):
        return first, [slice(None) for _ in curves]
    steps, seen = np.unique(np.concatenate([curve.x for curve in curves]), return_counts=True)
    shared = steps[seen == len(curves)]
    return shared, [np.searchsorted(curve.x, shared) for curve in curves]


def common(runs: Sequence[RunCurves], least: int = 2) -> list[Key]:
    """Return the values that at least `least` runs have, the most important first. A printed and watched value comes once."""
    seen = Counter(key for run in runs for key in run.choices)
    keys = dict.fromkeys(key for run in runs for key in run.choices)
    return [key for key in keys if seen[key] >= min(least, len(runs))]


def _keyed(chosen: Iterable[tuple[SelectedValue, str]]) -> dict[Key, SelectedValue]:
    """Return the choices by keys that are the same in each run of the program: line numbers change from cell to cell."""
    ranked = list(chosen)
    printed = {choice.name for choice, _ in ranked if choice.site.watch is None}
    kept = [choice for choice, _ in ranked if choice.site.watch is None or choice.name not in printed]
    in_order = sorted(kept, key=lambda one: (one.site.file, one.site.line, one.site.column, one.site.order))
    numbers: Counter[tuple[str, str]] = Counter()
    keys: dict[tuple[int, int], Key] = {}
    for choice in in_order:
        name = choice.name, choice.site.phase
        keys[choice.site.id, choice.value] = (*name, numbers[name])
        numbers[name] += 1
    return {keys[choice.site.id, choice.value]: choice for choice in kept}
