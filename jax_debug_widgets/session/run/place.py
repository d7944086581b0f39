"""Where a process that has written a run did run, and what its clock said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class JobProcess:
    """One process of a job.

    Attributes:
      host: the name of its machine.
      count: how many processes the job has.
      began: when its part of the run began, in seconds since the epoch, by the clock of process 0.
      ahead: how many seconds its clock is ahead of that of process 0; `error`: within how many that is known.
    """

    host: str
    count: int
    began: float
    ahead: float = 0.0
    error: float = 0.0


def place_of(about: Mapping[str, Any]) -> JobProcess:
    """The place that a process has written of itself. Other versions do not tell all of it."""
    clock = about.get("clock")
    ahead, error = (_number(clock.get(name)) if isinstance(clock, dict) else 0.0 for name in ("ahead", "error"))
    count = about.get("processes")
    known = count if isinstance(count, int) and count > 0 else 1
    return JobProcess(str(about.get("host", "")), known, _number(about.get("started")) - ahead, ahead, error)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST else 0.0


_MOST = 1e12
"""Seconds; no clock says more."""
