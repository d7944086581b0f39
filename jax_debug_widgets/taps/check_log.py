"""Keep what the checks of a run have found: results of its programs, read when somebody asks or many are there."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets._jax.passes.checked import Checked, CheckedProgram

_MOST_PENDING = 64
"""Calls whose results wait to be read."""


@dataclass
class LineHits:
    """The hits of a check at one line.

    Attributes:
      checked: where.
      numbers: the record of the first call that has found something.
      call: which call of its program that was, from 0.
      newest: the newest call of the run when that call had been dispatched: that call, the one before it, or
        one of another thread.
      calls: how many calls have found something.
      count: how often it was found.
    """

    checked: Checked
    numbers: tuple[int, ...]
    call: int
    newest: int
    calls: int = 0
    count: int = 0


def _line_of(checked: Checked) -> tuple[Any, ...]:
    """What the hits of one line have in common."""
    return checked.option, checked.frames[0], checked.primitive


class CheckLog:
    """The results of programs for their checks. Safe from any thread."""

    def __init__(self, newest: Callable[[], int] = lambda: -1) -> None:
        """`newest` says which call of the run began last; -1 before the first."""
        self._newest = newest
        self._pending: deque[tuple[CheckedProgram, int, int, Sequence[Any]]] = deque()
        self._calls: dict[CheckedProgram, int] = {}
        self._seen: dict[Any, LineHits] = {}
        self._lock = threading.Lock()

    def add(self, program: CheckedProgram, results: Sequence[Any]) -> None:
        """A program was called, and will have given this."""
        newest = self._newest()
        with self._lock:
            number = self._calls.get(program, 0)
            self._calls[program] = number + 1
            self._pending.append((program, number, newest, results))
            while len(self._pending) > _MOST_PENDING:
                self._read_oldest()

    @property
    def calls(self) -> int:
        """How many calls of programs were checked."""
        with self._lock:
            return sum(self._calls.values())

    def note(self, checked: Checked) -> None:
        """Something was found while a program was traced or called."""
        newest = self._newest()
        with self._lock:
            seen = self._seen.setdefault(_line_of(checked), LineHits(checked, (1,), 0, newest))
            seen.calls += 1
            seen.count += 1

    def seen(self, *, wait: bool) -> list[LineHits]:
        """The hits so far, in the order of time; with `wait` by all calls, otherwise by those that are over."""
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
