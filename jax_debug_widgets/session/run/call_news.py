"""Queue what happens to calls, until somebody reads the book of calls: the program never waits for the book."""

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
    """A book of calls with the news that it has not taken in. Safe from any thread."""

    def __init__(self, policy: Policy) -> None:
        self._book = CallBook(policy)
        self._news: deque[Callable[[CallBook], None]] = deque()
        self._changed = threading.Condition()
        """Guards the book; notified when no call is pending any more."""
        self._waiting = 0
        """How many threads wait until all has drained."""

    @property
    def is_awaited(self) -> bool:
        """Whether a thread waits until all has drained."""
        return self._waiting > 0

    def tell(self, news: Callable[[CallBook], None]) -> None:
        """Queue `news`, which changes the book when somebody reads it. Never waits."""
        self._news.append(news)

    @contextmanager
    def up_to_date(self) -> Iterator[CallBook]:
        """Give the book to this thread alone, with all news taken in."""
        with self._changed:
            self._take_in()
            try:
                yield self._book
            finally:
                if self._waiting and not self._book.pending:
                    self._changed.notify_all()

    def catch_up(self) -> None:
        """Take in all news now."""
        with self.up_to_date():
            pass

    def wait_until_drained(self, timeout: float | None, before: Callable[[], None]) -> bool:
        """Block until no call is pending, at most `timeout` seconds; whether that came to be.

        `before` is called when this thread counts as one that waits.
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
