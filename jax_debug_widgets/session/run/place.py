"""Describe the process that has written a run: its host, and its clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class JobProcess:
    """One process of a job.

    Attributes:
      host: the name of its machine.
      count: the number of processes of the job.
      began: when its part of the run began, in seconds since the epoch by the clock of process 0.
      ahead: the seconds that its clock is ahead of the clock of process 0.
      error: the error of `ahead` in seconds.
    """

    host: str
    count: int
    began: float
    ahead: float = 0.0
    error: float = 0.0


def place_of(about: Mapping[str, Any]) -> JobProcess:
    """Read the process's description from a run's file. Files of other versions may lack parts of it."""
    clock = about.get("clock")
    ahead, error = (_number(clock.get(name)) if isinstance(clock, dict) else 0.0 for name in ("ahead", "error"))
    count = about.get("processes")
    known = count if isinstance(count, int) and count > 0 else 1
    return JobProcess(str(about.get("host", "")), known, _number(about.get("started")) - ahead, ahead, error)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST else 0.0


_MOST = 1e12
"""The largest plausible time in seconds."""
