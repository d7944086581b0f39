"""Note in the book of calls when a dispatched program's outputs are ready, its effects drained, or it failed."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.run.record import CallRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax_debug_widgets._jax.running.backlog import Backlog, PendingResult
    from jax_debug_widgets._jax.running.dispatch import Execution
    from jax_debug_widgets._jax.running.running_programs import Ran
    from jax_debug_widgets.events import Tap
    from jax_debug_widgets.session.run.call_book import CallBook
    from jax_debug_widgets.session.run.call_news import CallNews
    from jax_debug_widgets.session.run.waiter import Waiter


class CallOutcomes:
    """Notes the progress of one run's calls. Times are since `origin_ns`."""

    def __init__(self, news: CallNews, waiter: Waiter, backlog: Backlog, origin_ns: int) -> None:
        self._news, self._waiter, self._backlog, self._origin_ns = news, waiter, backlog, origin_ns

    def put_dispatched(self, record: CallRecord, execution: Execution) -> None:
        """Queue that the program of a call has been dispatched now."""
        self._news.put(partial(self.dispatched, record, execution, self._now()))

    def dispatched(self, record: CallRecord, execution: Execution, at_ns: int, book: CallBook) -> None:
        """Note that the program of a call has been dispatched, and let the waiter wait for its outputs unless it is over."""
        if execution.handed is not None:
            self._handed(record, execution.handed, at_ns, book)
            return
        record.dispatched_ns = at_ns
        if not execution.finished:
            self._wait_for(record, execution.outputs, execution.effects)
            book.touch(record)
            return
        record.over_ns = at_ns
        book.ready(record, at_ns)
        if execution.error is not None:
            book.fail(record, execution.error, at_ns)
        else:
            book.drain(record, at_ns)

    def dispatched_elsewhere(
        self,
        function: str,
        at_ns: int,
        thread: str,
        ident: int,
        taps: Sequence[Tap],
        handed: PendingResult,
        ran: Ran,
        book: CallBook,
    ) -> None:
        """Note a program that was called inside a library, or in a loop of the cell."""
        record = CallRecord(function, function, "library", at_ns, thread, ident)
        record.executed, record.program = True, ran
        record.seen = "over" if handed.was_over else "late"
        book.add(record)
        book.dispatching(record, function, False, taps)
        self._handed(record, handed, at_ns, book)

    def over(self, handed: PendingResult, _error: Exception | None) -> None:
        """Note that a call with prints among its results is over. Readers of the run, or waiters, read the prints."""
        handed.settle()
        if self._backlog.over(is_awaited=self._news.is_awaited):
            self._news.catch_up()

    def _handed(self, record: CallRecord, handed: PendingResult, at_ns: int, book: CallBook) -> None:
        """Note that a program with prints among its results has been dispatched. They are read when it is over."""
        record.dispatched_ns = at_ns
        record.hand(handed, self._origin_ns)
        handed.then(lambda error: self._news.put(partial(self._read, record, error)))
        book.touch(record)

    def _read(self, record: CallRecord, error: Exception | None, book: CallBook) -> None:
        """Note that all prints among the results of a call have been read."""
        if error is not None:
            book.fail(record, error, self._now())
        at_ns = max(record.over_ns or self._now(), record.dispatched_ns or 0)
        book.ready(record, at_ns)
        book.drain(record, at_ns)

    def _wait_for(self, record: CallRecord, outputs: Sequence[Any], effects: Sequence[Any]) -> None:
        def ready(error: Exception | None) -> None:
            with self._news.up_to_date() as book:
                book.ready(record, self._now())
                if error is not None:
                    book.fail(record, error, self._now())

        def drained(error: Exception | None) -> None:
            with self._news.up_to_date() as book:
                if error is not None:
                    book.fail(record, error, self._now())
                book.drain(record, self._now())

        self._waiter.when_ready(tuple(outputs), ready)
        self._waiter.when_ready(tuple(effects), drained)

    def _now(self) -> int:
        return time.perf_counter_ns() - self._origin_ns
