"""Queue the news about calls until somebody reads the book of calls, so that the program never waits for the book."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jax_debug_widgets.session.run.call_book import CallBook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jax_debug_widgets.breakpoints import Policy


class CallNews:
    """Holds a book of calls, and the news that are not in the book yet. Safe from any thread."""

    def __init__(self, policy: Policy) -> None:
        self._book = CallBook(policy)
        self._news: deque[Callable[[CallBook], None]] = deque()
        self._changed = threading.Condition()
        """Guards the book; notified when no call is pending any more."""
        self._waiting = 0
        """The number of threads that wait until all calls have drained."""

    @property
    def is_awaited(self) -> bool:
        """Whether a thread waits until all calls have drained."""
        return self._waiting > 0

    def put(self, news: Callable[[CallBook], None]) -> None:
        """Queue `news`, a function that changes the book when somebody reads it. It never waits."""
        self._news.append(news)

    @contextmanager
    def up_to_date(self) -> Iterator[CallBook]:
        """Give the book, with all news, to this thread alone for the body."""
        with self._changed:
            self._take_in()
            try:
                yield self._book
            finally:
                if self._waiting and not self._book.pending:
                    self._changed.notify_all()

    def catch_up(self) -> None:
        """Enter all news into the book now."""
        with self.up_to_date():
            pass

    def wait_until_drained(self, timeout: float | None, before: Callable[[], None]) -> bool:
        """Block until no call is pending, at most `timeout` seconds. Return whether none is.

        Args:
          before: called after this thread counts as one that waits.
        """
        with self._changed:
            self._waiting += 1
        before()
        with self.up_to_date():
            try:
                return self._changed.wait_for(self._has_drained, timeout)
            finally:
                self._waiting -= 1

    def _take_in(self) -> None:
        while self._news:
            self._news.popleft()(self._book)

    def _has_drained(self) -> bool:
        self._take_in()
        return not self._book.pending
