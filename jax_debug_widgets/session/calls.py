"""The calls of one run: what was traced, lowered and compiled, when it was dispatched, ready, and drained."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_debug_widgets.events import Call, Lot, Origin, Tap
from jax_debug_widgets.session.record import Record
from jax_debug_widgets.session.spans import WAIT_SITES, SpanLog
from jax_debug_widgets.session.trace_prints import Traced
from jax_debug_widgets.session.waiter import at_once

if TYPE_CHECKING:
    from jax_debug_widgets._jax.dispatch import Execution, Stage
    from jax_debug_widgets._jax.waits import Wait
    from jax_debug_widgets.breakpoints import Policy
    from jax_debug_widgets.session.waiter import Waiter

MAX_CALLS = 10_000
"""Calls that are kept; of older ones only the number."""

_NEVER = np.iinfo(np.int64).max


class CallLog:
    """The calls of one run, in the order in which they began. Safe from any thread.

    Nothing here looks at all calls: a training loop makes millions.
    """

    def __init__(self, origin_ns: int, waiter: Waiter, policy: Policy) -> None:
        self._origin_ns = origin_ns
        self.spans = SpanLog()
        self._waiter = waiter
        self._policy = policy
        self._changed = threading.Condition()
        self._records: dict[int, Record] = {}
        self._count = 0
        self._open: dict[int, list[Record]] = {}
        self._compiled: dict[str, dict[Stage, float]] = {}
        self._printed: dict[str, list[Traced]] = {}
        """Function -> what it printed while it was traced, until the call that it was for is known."""
        self._versions: dict[int, int] = {}
        """Call -> the version in which it last changed, the newest last."""
        self._version = 0
        self._pending: dict[int, Record] = {}
        self._live: deque[Record] = deque()
        """Calls with effects whose events may still be in the inbox, oldest first."""
        self._drained: deque[Record] = deque()
        """Calls that have drained and have not been compared with what their programs say."""
        self._leading: Record | None = None
        self.has_effects = False
        self.has_failed = False

    @property
    def dropped(self) -> int:
        """How many calls are no longer kept."""
        return self._count - len(self._records)

    @property
    def newest(self) -> int:
        """The id of the call that began last; -1 before the first."""
        return self._count - 1

    @property
    def leading(self) -> str:
        """What the cell is about: its first call of a program that can say something, or else its first; empty for none."""
        return self._leading.name if self._leading else ""

    def calls(self, since: int = 0) -> tuple[list[Call], int]:
        """The kept calls that changed after version `since`, in the order in which they began, and the version now."""
        with self._changed:
            changed = []
            for number in reversed(self._versions):
                if self._versions[number] <= since:
                    break
                changed.append(number)
            return [self._records[number].frozen() for number in sorted(changed)], self._version

    def compilations(self) -> dict[str, float]:
        """Functions that were compiled and are none of the calls, e.g. un-jitted operations: name -> seconds."""
        with self._changed:
            return {name: sum(stages.values()) for name, stages in self._compiled.items() if "compile" in stages}

    def begin(self, name: str, function: str) -> CallSpan:
        """The cell is about to call a compiled function from this thread."""
        with self._changed:
            record = self._new(name, function, "cell")
            self._leading = self._leading or record
            self._open.setdefault(threading.get_ident(), []).append(record)
            return CallSpan(self, record)

    def end(self, record: Record, result: object) -> None:
        """The call has returned; wait for its outputs, unless its program is being waited for already."""
        with self._changed:
            self._close(record)
            self._take_stages(record)
            if record.dispatched_ns is None:
                record.dispatched_ns = self._now()
                outputs = [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array)]
                self._wait_for(record, outputs, (), self._waiter.when_ready)
            self._touch(record)

    def abandon(self, record: Record, error: BaseException | None) -> None:
        """The call has raised: `error`, if it is known (an exception that the cell caught is not)."""
        with self._changed:
            self._close(record)
            self._take_stages(record)
            self._fail(record, error)
            self._touch(record)

    def abandon_all(self, error: BaseException | None) -> None:
        """The cell has ended; the calls that this thread has not finished have raised."""
        for record in list(self._open.get(threading.get_ident(), ())):
            self.abandon(record, error)

    def executing(self, name: str, ordered: bool, taps: Sequence[Tap]) -> Callable[[Execution], None]:
        """A program with effects is being dispatched: that of the cell's call, or one inside a library."""
        function = name.removeprefix("jit(").removeprefix("jit_").removesuffix(")")
        with self._changed:
            open_calls = self._open.get(threading.get_ident())
            record = open_calls[-1] if open_calls else None
            if record is None or record.executed or record.function not in ("", function):
                record = self._new(function, function, "library")
                self._take_stages(record)
                # It is seen only now that it has been compiled.
                record.started_ns -= int(sum(record.stages.values()) * 1e9)
            record.function, record.taps = function, taps
            if record.origin == "cell" and not (self._leading and self._leading.effects):
                self._leading = record
            record.effects, record.ordered, record.executed = True, record.ordered or ordered, True
            self.has_effects = True
            self._pending[record.id] = record
            self._live.append(record)
            self._take_stages(record)
            self._touch(record)

        def executed(execution: Execution) -> None:
            with self._changed:
                record.dispatched_ns = self._now()
                if execution.finished:
                    record.over_ns = record.ready_ns = record.dispatched_ns
                if execution.error is not None:
                    self._fail(record, execution.error)
                else:
                    when_ready = at_once if execution.finished else self._waiter.when_ready
                    self._wait_for(record, execution.outputs, execution.effects, when_ready)
                self._touch(record)

        return executed

    def compiled(self, stage: Stage, name: str, seconds: float) -> None:
        """Remember how long a stage took until the call that it was for is known."""
        function = name.removeprefix("jit(").removesuffix(")")
        with self._changed:
            # Of functions traced inside others the outermost is told last, and includes them.
            self._compiled.setdefault(function, {})[stage] = seconds

    def traced(self, printed: Traced) -> None:
        """A function has printed while it was traced by this thread."""
        with self._changed:
            open_calls = self._open.get(threading.get_ident())
            if open_calls:
                self._take_print(open_calls[-1], printed)
                self._touch(open_calls[-1])
            else:
                self._printed.setdefault(printed.told.function, []).append(printed)

    def attribute(self, times_ns: np.ndarray) -> np.ndarray:
        """For each time, the id of the call that was executing: the oldest with effects, if there are several; else -1.

        A device runs its programs one after the other, so with several in flight the oldest is the one at work.

        Args:
          times_ns: int64[n], since the run started; none much before those of the last time.
        """
        with self._changed:
            earliest = times_ns.min(initial=_NEVER)
            while self._live and (self._live[0].over_ns or _NEVER) < earliest:
                self._live.popleft()
            live = list(self._live)
        if not live:
            return np.full(len(times_ns), -1)
        starts = np.array([record.started_ns for record in live], np.int64)
        ends = np.array([record.over_ns or _NEVER for record in live], np.int64)
        ids = np.array([record.id for record in live], np.int64)
        # A call's end is never before that of an older one here, so the first that has not ended is the oldest.
        first = np.searchsorted(np.maximum.accumulate(ends), times_ns, side="left")
        inside = np.minimum(first, len(live) - 1)
        found = (first < len(live)) & (starts[inside] <= times_ns)
        return np.where(found, ids[inside], -1)

    def count(self, calls: np.ndarray, lot: Lot) -> None:
        """Add firings to their calls (int64, one a firing)."""
        kinds = len(lot.taps)
        pairs, counts = np.unique(calls * kinds + lot.tap, return_counts=True)
        with self._changed:
            for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
                call, number = divmod(pair, kinds)
                record, tap = self._records.get(call), lot.taps[number]
                if record is not None:
                    record.events += count * tap.size
                    record.fired[tap] += count
                    self._touch(record)

    def pending(self) -> list[Record]:
        """Calls whose effects have not drained, oldest first."""
        with self._changed:
            return list(self._pending.values())

    def take_drained(self) -> Iterable[Record]:
        """The calls that have drained since this was last asked. Their events must have been counted."""
        with self._changed:
            drained, self._drained = self._drained, deque()
        return drained

    def wait_until_drained(self, timeout: float | None) -> bool:
        """Block until no call is pending, at most `timeout` seconds; whether that came to be."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending, timeout)

    def waited(self, what: Wait, began_ns: int, ended_ns: int) -> None:
        """The current thread has waited in JAX's function `what`; times are those of `perf_counter_ns`."""
        spans, origin = self.spans, self._origin_ns
        spans.add(WAIT_SITES[what], began_ns - origin, ended_ns - origin, spans.calling())

    def _new(self, name: str, function: str, origin: Origin) -> Record:
        record = Record(self._count, name, function, origin, self._now(), self.spans.calling())
        self._records[self._count] = record
        self._count += 1
        if len(self._records) > MAX_CALLS:
            oldest = next(iter(self._records))
            if oldest not in self._pending:
                del self._records[oldest], self._versions[oldest]
        self._touch(record)
        return record

    def _now(self) -> int:
        return time.perf_counter_ns() - self._origin_ns

    def _touch(self, record: Record) -> None:
        if record.id not in self._records:
            return
        self._version += 1
        self._versions.pop(record.id, None)
        self._versions[record.id] = self._version
        if not record.pending and self._pending.pop(record.id, None) is not None:
            self._changed.notify_all()

    def _fail(self, record: Record, error: BaseException | None) -> None:
        record.over_ns = record.over_ns or self._now()
        if record.error:
            return
        if error is not None and self._policy.ends(error):
            record.outcome = self._policy.halted or "interrupted"
            record.error = self._policy.ended or brief(error)
        else:
            record.error = brief(error) if error else "raised an exception"
            self.has_failed = True

    def _close(self, record: Record) -> None:
        stack = self._open.get(threading.get_ident(), [])
        if record in stack:
            stack.remove(record)

    def _take_stages(self, record: Record) -> None:
        record.stages.update(self._compiled.pop(record.function, {}))
        for printed in self._printed.pop(record.function, ()):
            self._take_print(record, printed)

    def _take_print(self, record: Record, printed: Traced) -> None:
        printed.call = record.id
        record.prints.append(str(printed.told))

    def _wait_for(
        self, record: Record, outputs: Sequence[Any], effects: Sequence[Any], when_ready: Callable[..., None]
    ) -> None:
        def ready(error: Exception | None) -> None:
            with self._changed:
                record.ready_ns = record.ready_ns or self._now()
                if error is not None:
                    self._fail(record, error)
                self._touch(record)

        def drained(error: Exception | None) -> None:
            with self._changed:
                record.drained_ns = self._now()
                record.over_ns = record.over_ns or record.drained_ns
                if error is not None:
                    self._fail(record, error)
                elif record.taps:
                    self._drained.append(record)
                self._touch(record)

        when_ready(tuple(outputs), ready)
        when_ready(tuple(effects), drained)


@dataclass(frozen=True)
class CallSpan:
    """A call of the cell that is under way; exactly one of the two ends it."""

    log: CallLog
    record: Record

    def returned(self, result: object) -> None:
        """It has returned `result`."""
        self.log.end(self.record, result)

    def raised(self, error: BaseException | None) -> None:
        """It has raised `error`; None where the cell caught it."""
        self.log.abandon(self.record, error)


def brief(error: BaseException) -> str:
    """The type and first line of an exception; of one in a callback, which XLA tells as a traceback, the last."""
    lines = str(error).strip().splitlines()
    if not lines:
        return type(error).__name__
    return lines[-1] if "Traceback (most recent call last)" in lines[0] else f"{type(error).__name__}: {lines[0]}"
