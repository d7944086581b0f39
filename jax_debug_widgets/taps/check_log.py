"""Keep what the checks of a run have found.

A checked program returns the hits among its results. The log reads these results when the hits are requested, or when
many calls wait to be read.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets._jax.passes.checked import Checked, Recorded

_MOST_PENDING = 64
"""The most calls with results that wait to be read; one more makes the log read the oldest."""


@dataclass
class LineHits:
    """The hits of a check at one line.

    Attributes:
      checked: the place in the program.
      numbers: the record of the first call that had a hit.
      call: the number of that call among the calls of its program, from 0.
      newest: the newest call of the run when that call had been dispatched. It is that call, the one before it, or a call
        of another thread.
      calls: the number of calls with a hit.
      count: the number of hits in all calls.
    """

    checked: Checked
    numbers: tuple[int, ...]
    call: int
    newest: int
    calls: int = 0
    count: int = 0


def _line_of(checked: Checked) -> tuple[Any, ...]:
    """Return the key that the hits of one line have in common."""
    return checked.option, checked.frames[0], checked.primitive


class CheckLog:
    """Collects the results that programs return for their checks. Safe from any thread."""

    def __init__(self, newest: Callable[[], int] = lambda: -1) -> None:
        """Make an empty log. `newest` returns the number of the run's newest call, -1 before the first."""
        self._newest = newest
        self._pending: deque[tuple[Recorded, int, int, Sequence[Any]]] = deque()
        self._calls: dict[Any, int] = {}
        self._calls_of_user = 0
        self._options: set[str] = set()
        self._seen: dict[Any, LineHits] = {}
        self._lock = threading.Lock()

    def add(self, program: Recorded, results: Sequence[Any]) -> None:
        """Add a call of a program with the results that hold its records, which may not be ready yet."""
        newest = self._newest()
        with self._lock:
            number = self._calls.get(program.key, 0)
            self._calls[program.key] = number + 1
            self._calls_of_user += not program.is_of_call
            self._options.update(one.option for one in program.records)
            self._pending.append((program, number, newest, results))
            while len(self._pending) > _MOST_PENDING:
                self._read_oldest()

    @property
    def calls(self) -> int:
        """The number of checked calls of the user's programs, without un-jitted operations."""
        with self._lock:
            return self._calls_of_user

    @property
    def options(self) -> frozenset[str]:
        """The checks that an operation in a called program was for."""
        with self._lock:
            return frozenset(self._options)

    def note(self, checked: Checked) -> None:
        """Add a hit that was found while a program was traced or called, not in its results."""
        newest = self._newest()
        with self._lock:
            seen = self._seen.setdefault(_line_of(checked), LineHits(checked, (1,), 0, newest))
            seen.calls += 1
            seen.count += 1

    def seen(self, *, wait: bool) -> list[LineHits]:
        """Return the hits so far, in the order of time. With `wait`, first wait for the results of all calls."""
        with self._lock:
            while self._pending and (wait or all(one.is_ready() for one in self._pending[0][-1])):
                self._read_oldest()
            return list(self._seen.values())

    def _read_oldest(self) -> None:
        program, call, newest, results = self._pending.popleft()
        try:
            arrays = [np.asarray(one) for one in results]
        except Exception:  # noqa: BLE001 - a program that has failed has found nothing.
            return
        records = program.read(arrays)
        for checked, numbers in records:
            seen = self._seen.setdefault(_line_of(checked), LineHits(checked, numbers, call, newest))
            seen.count += numbers[0]
        for line in {_line_of(checked) for checked, _ in records}:
            self._seen[line].calls += 1
