"""The calls of one run: what was traced, lowered and compiled, when it was dispatched, ready, and drained."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_debug_widgets.events import Call, CallState, Origin

if TYPE_CHECKING:
    from jax_debug_widgets._jax.dispatch import Execution, Stage
    from jax_debug_widgets.session.waiter import Waiter


_NEVER = np.iinfo(np.int64).max


class Record:
    """One call while it is being lived; `CallLog.calls` gives it as a frozen `Call`."""

    def __init__(self, number: int, name: str, function: str, origin: Origin, started_ns: int) -> None:
        self.id, self.name, self.function, self.origin, self.started_ns = number, name, function, origin, started_ns
        self.stages: dict[Stage, float] = {}
        self.dispatched_ns: int | None = None
        self.ready_ns: int | None = None
        self.drained_ns: int | None = None
        self.over_ns: int | None = None
        """When the last event can have fired, for `CallLog.attribute`; earlier than `drained_ns`, which waits its turn."""
        self.effects = self.ordered = self.executed = False
        self.events = 0
        self.error = ""

    @property
    def state(self) -> CallState:
        if self.error:
            return "failed"
        if self.drained_ns is not None:
            return "drained"
        if self.ready_ns is not None:
            return "ready"
        return "tracing" if self.dispatched_ns is None and not self.executed else "dispatched"

    def frozen(self) -> Call:
        return Call(
            id=self.id,
            name=self.name,
            origin=self.origin,
            state=self.state,
            started_ns=self.started_ns,
            trace=self.stages.get("trace"),
            lower=self.stages.get("lower"),
            compile=self.stages.get("compile"),
            dispatched_ns=self.dispatched_ns,
            ready_ns=self.ready_ns,
            drained_ns=self.drained_ns,
            effects=self.effects,
            ordered=self.ordered,
            events=self.events,
            error=self.error,
        )


class CallLog:
    """The calls of one run, in the order in which they began. Safe from any thread."""

    def __init__(self, origin_ns: int, waiter: Waiter) -> None:
        self._origin_ns = origin_ns
        self._waiter = waiter
        self._changed = threading.Condition()
        self._records: list[Record] = []
        self._open: dict[int, list[Record]] = {}
        self._compiled: dict[str, dict[Stage, float]] = {}
        self._versions: dict[int, int] = {}
        self._version = 0

    def calls(self, since: int = 0) -> tuple[list[Call], int]:
        """The calls that changed after version `since`, and the version now."""
        with self._changed:
            changed = [r.frozen() for r in self._records if self._versions[r.id] > since]
            return changed, self._version

    def begin(self, name: str, function: str) -> CallSpan:
        """The cell is about to call a compiled function from this thread."""
        with self._changed:
            record = self._new(name, function, "cell")
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
                self._wait_for(record, outputs, ())
            self._touch(record)

    def abandon(self, record: Record, error: BaseException | None) -> None:
        """The call has raised: `error`, if it is known (an exception that the cell caught is not)."""
        with self._changed:
            self._close(record)
            self._take_stages(record)
            record.error = record.error or (brief(error) if error else "raised an exception")
            self._touch(record)

    def abandon_all(self, error: BaseException | None) -> None:
        """The cell has ended; the calls that this thread has not finished have raised."""
        for record in list(self._open.get(threading.get_ident(), ())):
            self.abandon(record, error)

    def executing(self, name: str, ordered: bool) -> Callable[[Execution], None]:
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
            record.function = function
            record.effects, record.ordered, record.executed = True, record.ordered or ordered, True
            self._take_stages(record)
            self._touch(record)

        def executed(execution: Execution) -> None:
            with self._changed:
                record.dispatched_ns = self._now()
                if execution.finished:
                    record.over_ns = record.ready_ns = record.dispatched_ns
                if execution.error is not None:
                    record.error = brief(execution.error)
                else:
                    self._wait_for(record, execution.outputs, execution.effects)
                self._touch(record)

        return executed

    def compiled(self, stage: Stage, name: str, seconds: float) -> None:
        """Remember how long a stage took until the call that it was for is known."""
        function = name.removeprefix("jit(").removesuffix(")")
        with self._changed:
            # Of functions traced inside others the outermost is told last, and includes them.
            self._compiled.setdefault(function, {})[stage] = seconds

    def unclaimed(self) -> dict[str, float]:
        """Functions that were compiled but are no call above, inside libraries: name -> seconds in all."""
        with self._changed:
            return {name: sum(s.values()) for name, s in self._compiled.items() if "compile" in s}

    def attribute(self, times_ns: np.ndarray) -> np.ndarray:
        """For each time, the id of the call that was executing: the oldest with effects, if there are several; else -1.

        A device runs its programs one after the other, so with several in flight the oldest is the one at work.

        Args:
          times_ns: int64[n], since the run started.
        """
        with self._changed:
            live = [record for record in self._records if record.effects]
            starts = np.array([record.started_ns for record in live], np.int64)
            ends = np.array([r.over_ns or _NEVER for r in live], np.int64)
            ids = np.array([record.id for record in live], np.int64)
        if not len(live):
            return np.full(len(times_ns), -1)
        # A call's end is never before that of an older one here, so the first that has not ended is the oldest.
        first = np.searchsorted(np.maximum.accumulate(ends), times_ns, side="left")
        inside = np.minimum(first, len(live) - 1)
        found = (first < len(live)) & (starts[inside] <= times_ns)
        return np.where(found, ids[inside], -1)

    def count_events(self, calls: np.ndarray, sizes: np.ndarray) -> None:
        """Add fired events to their calls."""
        with self._changed:
            for call, count in zip(*_summed(calls, sizes), strict=True):
                if call >= 0:
                    self._records[call].events += count
                    self._touch(self._records[call])

    def pending(self) -> list[Record]:
        """Calls whose effects have not drained, oldest first."""
        with self._changed:
            return [r for r in self._records if r.effects and r.drained_ns is None and not r.error]

    def has_effects(self) -> bool:
        """Whether any call has debugging effects."""
        with self._changed:
            return any(record.effects for record in self._records)

    def failed(self) -> bool:
        """Whether any call has raised."""
        with self._changed:
            return any(record.error for record in self._records)

    def wait_until_drained(self, timeout: float | None) -> bool:
        """Block until no call is pending, at most `timeout` seconds; whether that came to be."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.pending(), timeout)

    def _new(self, name: str, function: str, origin: Origin) -> Record:
        record = Record(len(self._records), name, function, origin, self._now())
        self._records.append(record)
        self._touch(record)
        return record

    def _now(self) -> int:
        return time.perf_counter_ns() - self._origin_ns

    def _touch(self, record: Record) -> None:
        self._version += 1
        self._versions[record.id] = self._version
        self._changed.notify_all()

    def _close(self, record: Record) -> None:
        stack = self._open.get(threading.get_ident(), [])
        if record in stack:
            stack.remove(record)

    def _take_stages(self, record: Record) -> None:
        record.stages.update(self._compiled.pop(record.function, {}))

    def _wait_for(self, record: Record, outputs: Sequence[Any], effects: Sequence[Any]) -> None:
        def ready(error: Exception | None) -> None:
            with self._changed:
                record.ready_ns = record.ready_ns or self._now()
                record.error = record.error or (brief(error) if error else "")
                self._touch(record)

        def drained(error: Exception | None) -> None:
            with self._changed:
                record.drained_ns = self._now()
                record.over_ns = record.over_ns or record.drained_ns
                record.error = record.error or (brief(error) if error else "")
                self._touch(record)

        self._waiter.when_ready(tuple(outputs), ready)
        self._waiter.when_ready(tuple(effects), drained)


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
    """The type and first line of an exception."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _summed(calls: np.ndarray, sizes: np.ndarray) -> tuple[list[int], list[int]]:
    unique, inverse = np.unique(calls, return_inverse=True)
    return unique.tolist(), np.bincount(inverse, sizes).astype(int).tolist()
