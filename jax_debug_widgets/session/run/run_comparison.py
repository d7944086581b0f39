"""Compare the common values of runs step by step, and find the first step at which they differ."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.session.run.curves import Key, RunCurves, common, shared_steps
from jax_debug_widgets.session.run.program_order import first_computed
from jax_debug_widgets.session.run.progress import progress

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite

_TOLERANCE = 16
"""Numbers count as equal if they differ by at most this number of times their precision, as in `jdw.compare`."""


@dataclass(frozen=True)
class ValueDifference:
    """The difference of one value between runs.

    Attributes:
      name: the name of the value.
      site: its site in the first run that has it.
      first: the first step at which the runs differ; None if they never do.
      worst: the greatest difference, relative to the greatest value of all steps; infinite if only one run is not finite.
      at: the step of the greatest difference.
      values: each run's value at this step; None for a run without it.
    """

    name: str
    site: CallSite
    first: float | None
    worst: float
    at: float
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class RunComparison:
    """The comparison of the values that runs have in common, the worst difference first.

    Attributes:
      unread: the number of common values that were not compared because the time was up.
    """

    differences: tuple[ValueDifference, ...]
    unread: int

    @property
    def first(self) -> ValueDifference | None:
        """The value that differs first; of several at one step, the one that is computed first. None if no value differs."""
        step = min((one.first for one in self.differences if one.first is not None), default=None)
        parted = [one for one in self.differences if one.first == step]
        if step is None:
            return None
        site = first_computed([one.site for one in parted])
        return next(one for one in parted if one.site is site)


def parting_of(runs: Sequence[RunCurves], seconds: float = math.inf) -> RunComparison:
    """Compare the values that at least two runs have; those that are not compared after so many seconds are counted."""
    keys = common(runs)
    until = time.monotonic() + seconds
    found, read = [], 0
    with progress("comparing runs", "values", len(keys)) as advance:
        for key in keys:
            if time.monotonic() > until:
                break
            difference = _difference(runs, key)
            read += 1
            if difference is not None:
                found.append(difference)
            advance()
    found.sort(key=lambda one: -one.worst)
    return RunComparison(tuple(found), len(keys) - read)


def _difference(runs: Sequence[RunCurves], key: Key) -> ValueDifference | None:
    """Compare one value; None if fewer than two runs have it at a common step."""
    curves = [run.of(key) if key in run.choices else None for run in runs]
    there = [curve for curve in curves if curve is not None]
    shared, rows = shared_steps(there) if there else (np.zeros(0), [])
    if len(there) <= 1 or not len(shared):
        return None
    table = np.stack([curve.y[own] for curve, own in zip(there, rows, strict=True)])
    apart = _apart(table)
    tolerance = _TOLERANCE * max(run.epsilon(key) for run in runs if key in run.choices)
    parted = np.flatnonzero(apart > tolerance)
    share = _share(table, apart)
    at = int(np.argmax(share)) if len(parted) else len(shared) - 1
    values = iter(table[:, at].tolist())
    site = next(run.choices[key].site for run in runs if key in run.choices)
    return ValueDifference(
        name=key[0],
        site=site,
        first=float(shared[parted[0]]) if len(parted) else None,
        worst=float(share[at]) if len(parted) else 0.0,
        at=float(shared[at]),
        values=tuple(None if curve is None else next(values) for curve in curves),
    )


def _share(table: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Return the greatest difference at each step, relative to the greatest value of all steps, so that zeros matter little."""
    values = np.where(np.isfinite(table), table, 0.0)
    greatest = float(np.abs(values).max())
    share = np.ptp(values, axis=0) / greatest if greatest > 0 else np.zeros(values.shape[1])
    return np.where(np.isinf(apart), math.inf, share)


def _apart(table: np.ndarray) -> np.ndarray:
    """Return the greatest difference between rows at each step, relative to the values there.

    It is infinite if the rows differ in which values are finite.
    """
    finite = np.isfinite(table)
    values = np.where(finite, table, 0.0)
    spread, size = values.max(axis=0) - values.min(axis=0), np.abs(values).max(axis=0)
    apart = np.divide(spread, size, out=np.zeros_like(spread), where=size > 0)
    kinds = np.where(np.isnan(table), 2.0, np.where(finite, 0.0, np.sign(table)))
    return np.where(kinds.max(axis=0) != kinds.min(axis=0), math.inf, apart)
