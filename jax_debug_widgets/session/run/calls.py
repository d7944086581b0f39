"""Keep the log of the calls of one run, for the threads that make calls, wait for them and read them.

The file has more than 300 lines because each reader of the book of calls has a method here, which takes in the news first.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets._jax.compat.names import function_of, unwrapped
from jax_debug_widgets._jax.running.dispatch import Execution, execution_of
from jax_debug_widgets._jax.running.running_programs import Ran, unknown
from jax_debug_widgets.events import Call, FiringBatch, Origin, Tap
from jax_debug_widgets.session.call_serializer import CallSerializer
from jax_debug_widgets.session.run.call_news import CallNews
from jax_debug_widgets.session.run.call_outcomes import CallOutcomes
from jax_debug_widgets.session.run.call_span import CallSpan
from jax_debug_widgets.session.run.record import CallRecord
from jax_debug_widgets.session.run.spans import WAIT_SITES, SpanLog

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets._jax.compat.processes import ProcessShare
    from jax_debug_widgets._jax.running.backlog import Backlog, HandOver, PendingResult
    from jax_debug_widgets._jax.running.dispatch import Stage
    from jax_debug_widgets._jax.running.waits import Wait
    from jax_debug_widgets.breakpoints import Policy
    from jax_debug_widgets.session.run.trace_prints import PrintInCall
    from jax_debug_widgets.session.run.waiter import Waiter


class CallLog:
    """Holds the calls of one run. Safe from any thread.

    The program does not wait for the book-keeping, see `CallNews`.
    """

    def __init__(self, origin_ns: int, waiter: Waiter, backlog: Backlog, policy: Policy) -> None:
        self._origin_ns = origin_ns
        self.spans = SpanLog()
        self._waiter = waiter
        self._backlog = backlog
        self._news = CallNews(policy)
        self._outcomes = CallOutcomes(self._news, waiter, backlog, origin_ns)
        self._turns = CallSerializer()
        self._dispatching: list[tuple[int, int, CallRecord]] = []
        """Thread, program and record of each call that is being dispatched."""
        self._open: dict[int, list[CallRecord]] = {}
        """Thread -> the open calls of the cell, outermost first. Only this thread uses its entry."""

    @property
    def dropped(self) -> int:
        """The number of calls that are no longer kept."""
        with self._news.up_to_date() as book:
            return book.dropped

    @property
    def newest(self) -> int:
        """The id of the call that began last; -1 before the first."""
        with self._news.up_to_date() as book:
            return book.newest

    @property
    def leading(self) -> str:
        """The name of the call that gives the run its title, see `CallBook.leading`; empty without one."""
        with self._news.up_to_date() as book:
            return book.leading.name if book.leading else ""

    @property
    def has_effects(self) -> bool:
        """See `CallBook`."""
        with self._news.up_to_date() as book:
            return book.has_effects

    @property
    def has_failed(self) -> bool:
        """See `CallBook`."""
        with self._news.up_to_date() as book:
            return book.has_failed

    @property
    def effects_have_failed(self) -> bool:
        """See `CallBook`."""
        with self._news.up_to_date() as book:
            return book.effects_have_failed

    def calls(self, since: int = 0) -> tuple[list[Call], int]:
        """See `CallBook.changed`."""
        with self._news.up_to_date() as book:
            return book.changed(since)

    def program_of(self, call: int) -> tuple[str, Any]:
        """See `CallBook`."""
        with self._news.up_to_date() as book:
            return book.program_of(call)

    def compilations(self) -> dict[str, float]:
        """See `Preparations`."""
        with self._news.up_to_date() as book:
            return book.preparations.compilations()

    def compiled_apart(self) -> tuple[int, float]:
        """See `Preparations.apart`."""
        with self._news.up_to_date() as book:
            return book.preparations.apart()

    def begin(self, name: str, function: str, callee: object = None) -> CallSpan:
        """Begin a call of the cell: this thread is about to call the compiled function `callee`."""
        record = self._new(name, function, "cell")
        with suppress(TypeError):  # Some objects have no weak references.
            record.callee = weakref.ref(callee)
        self._opened().append(record)
        return CallSpan(self, record)

    def end(self, record: CallRecord, result: object) -> None:
        """Note that a call has returned. Let the waiter wait for its outputs, unless they are ready or it waits already."""
        self._close(record)
        if record.executed:
            return
        with self._news.up_to_date() as book:
            book.preparations.hand_over(record)
            outputs = [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array)]
            self._outcomes.dispatched(record, execution_of(outputs), self._now(), book)

    def abandon(self, record: CallRecord, error: BaseException | None) -> None:
        """Note that a call has raised; `error` is None if the cell caught the exception."""
        self._close(record)
        with self._news.up_to_date() as book:
            book.preparations.hand_over(record)
            book.fail(record, error, self._now())

    def abandon_all(self, error: BaseException | None) -> None:
        """Note that the cell has ended: the calls that this thread has not finished have raised."""
        for record in self._opened().copy():
            self.abandon(record, error)
        for own in self._dispatching.copy():  # A signal's handler has raised before their dispatch was noted.
            if own[0] == threading.get_ident():
                self._dispatching.remove(own)
                self._outcomes.put_dispatched(own[2], Execution(finished=True, error=error))

    def ran(self, program: Any) -> bool:
        """Note that this thread begins to run a program from Python. Return whether it belongs to the cell's call."""
        opened = self._opened()
        name = unwrapped(program.jaxpr.debug_info.func_name or "")
        if not opened or opened[-1].executed or opened[-1].function not in ("", name):
            return False
        opened[-1].program = weakref.ref(program)
        return True

    def executing(
        self,
        name: str,
        ordered: bool,
        taps: Sequence[Tap],
        in_turn: bool = False,
        alone: bool = False,
        share: ProcessShare | None = None,
        begun: Callable[[CallRecord], None] | None = None,
    ) -> Callable[[Execution], None]:
        """Note that a program with effects is being dispatched: the program of the cell's call, or one inside a library.

        Args:
          name: the name of the program.
          ordered: whether it has ordered effects.
          taps: its taps, the same sequence object for each call.
          share: the part of the program that this process runs; None for all of it.
          in_turn: whether to wait until other threads' calls of the program are over, see `CallSerializer`; `alone`: this
            thread's calls too.
          begun: called with the record of the call.
        """
        record, executed = self._executing(name, ordered, taps, in_turn, alone, share)
        if begun is not None:
            begun(record)
        return executed

    def _executing(
        self,
        name: str,
        ordered: bool,
        taps: Sequence[Tap],
        in_turn: bool = False,
        alone: bool = False,
        share: ProcessShare | None = None,
    ) -> tuple[CallRecord, Callable[[Execution], None]]:
        """Do what `executing` does, and return the record of the call too."""
        function = function_of(name)
        opened = self._opened()
        record = opened[-1] if opened else None
        if record is None or record.executed or record.function not in ("", function):
            record = self._new(function, function, "library")
        record.executed = True
        own = threading.get_ident(), id(taps), record
        if in_turn:
            # A host function of a call may call the program again. That inner call is over first.
            is_inside = any(one[:2] == own[:2] for one in self._dispatching)
            self._turns.take(id(taps), alone=alone and not is_inside)
            record.at_end = partial(self._turns.give_back, id(taps))
        record.share, record.launched_ns = share, self._now()
        self._dispatching.append(own)
        self._news.put(lambda book: book.dispatching(record, function, ordered, taps))

        def executed(execution: Execution) -> None:
            self._outcomes.put_dispatched(record, execution)
            self._dispatching.remove(own)
            if execution.handed is not None:  # The program waits for no lock.
                self._waiter.when_ready((), partial(self._outcomes.over, execution.handed))
            elif in_turn or self._news.is_awaited or not execution.finished or execution.error is not None:
                self._news.catch_up()

        return record, executed

    @property
    def is_dispatching(self) -> bool:
        """Whether this thread is dispatching a program. A host function may call others meanwhile."""
        return any(ident == threading.get_ident() for ident, *_ in self._dispatching)

    def dispatched(self, program: str, taps: Sequence[Tap], hand_over: HandOver, ran: Ran = unknown) -> None:
        """Note a program that was dispatched already and has its prints among its results."""
        opened = self._opened()
        if opened:
            record, executed = self._executing(program, False, taps)
            handed = hand_over(None)
            record.program, record.is_called_from_cell = ran, record in opened
            record.seen = "at once" if record in opened else "over" if handed.was_over else "late"
            executed(Execution(finished=False, effects=(handed,)))
            return
        # Before `hand_over`, because a call begins before its prints.
        seen = function_of(program), self._now(), self.spans.calling(), threading.get_ident()

        def announce(handed: PendingResult) -> None:
            self._news.put(partial(self._outcomes.dispatched_elsewhere, *seen, taps, handed, ran))

        handed = hand_over(announce)
        self._waiter.when_ready((), partial(self._outcomes.over, handed))

    def compiled(self, stage: Stage, name: str, seconds: float, by_numba: float = 0.0) -> None:
        """Remember the seconds of a stage, and of Numba in it, until the call that it was for is known."""
        function = unwrapped(name.removeprefix("jit(").removesuffix(")"))
        with self._news.up_to_date() as book:
            book.preparations.compiled(stage, function, seconds)
            book.preparations.compiled_by_numba(function, by_numba)

    def prepared(self, name: str, seconds: float, by_numba: float = 0.0) -> None:
        """Count the time of changing a program before its lowering as a part of the lowering, without Numba's time."""
        with self._news.up_to_date() as book:
            book.preparations.prepared(function_of(name), seconds)
            book.preparations.compiled_by_numba(function_of(name), by_numba)

    def retraced(self, function: str, why: str | None) -> None:
        """Remember why a function was traced again until the call that it was for is known; None for a first trace."""
        with self._news.up_to_date() as book:
            book.preparations.retraced(function, why)

    def traced(self, printed: PrintInCall) -> None:
        """Note that a function that this thread traces has printed."""
        opened = self._opened()
        with self._news.up_to_date() as book:
            if opened:
                opened[-1].take_print(printed)
                book.touch(opened[-1])
            else:
                book.preparations.printed(printed)

    def attribute(self, times_ns: np.ndarray, batch: FiringBatch) -> tuple[np.ndarray, dict[int, int]]:
        """See `InFlight.attribute` and `InFlight.mixed`."""
        with self._news.up_to_date() as book:
            return book.attribute(times_ns, batch)

    def executions(self, calls: np.ndarray, batch: FiringBatch) -> np.ndarray:
        """See `Executions.of`."""
        with self._news.up_to_date() as book:
            return book.executions(calls, batch)

    def count(self, calls: np.ndarray, batch: FiringBatch) -> None:
        """Add firings to their calls; `calls` is int64[firings]."""
        with self._news.up_to_date() as book:
            book.count(calls, batch)

    def pending(self) -> list[CallRecord]:
        """Return the calls with effects that have not happened, oldest first."""
        with self._news.up_to_date() as book:
            return list(book.pending.values())

    def take_drained(self) -> Iterable[CallRecord]:
        """Return the calls that have drained since the last call of this method. Their events must have been counted."""
        with self._news.up_to_date() as book:
            return book.take_drained()

    def wait_until_drained(self, timeout: float | None) -> bool:
        """Block until no call is pending, at most `timeout` seconds. Return whether none is."""
        return self._news.wait_until_drained(timeout, self._backlog.report)

    def waited(self, what: Wait, began_ns: int, ended_ns: int) -> None:
        """Note that the current thread has waited in JAX's function `what`; times are in ns of `perf_counter_ns`."""
        spans, origin = self.spans, self._origin_ns
        spans.add(WAIT_SITES[what], began_ns - origin, ended_ns - origin, spans.calling())

    def _opened(self) -> list[CallRecord]:
        """Return the open calls of the cell in this thread, outermost first."""
        return self._open.setdefault(threading.get_ident(), [])

    def _new(self, name: str, function: str, origin: Origin) -> CallRecord:
        record = CallRecord(name, function, origin, self._now(), self.spans.calling(), threading.get_ident())
        self._news.put(lambda book: book.add(record))
        return record

    def _now(self) -> int:
        return time.perf_counter_ns() - self._origin_ns

    def _close(self, record: CallRecord) -> None:
        opened = self._opened()
        if record in opened:
            opened.remove(record)
