"""Show a progress bar for long work, on stderr or in the notebook. The bar disappears when the work ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

_DELAY_S, _PAUSE_S = 2.0, 0.5
"""The seconds of work before the bar is shown, and between two updates of it."""


@contextmanager
def progress(what: str, unit: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar while the body goes on. The body calls the yielded function after each of `total` parts.

    Work of less than two seconds shows nothing, and does not load tqdm.
    """
    work = _Work(what, unit, total)
    try:
        yield work.advance
    finally:
        work.end()


class _Work:
    def __init__(self, what: str, unit: str, total: int | None) -> None:
        self._bar_of = partial(_bar, what, unit, total)
        self._bar: Any = None
        self._done, self._began = 0, time.monotonic()

    def advance(self) -> None:
        self._done += 1
        if self._bar is not None:
            self._bar.update()
        elif time.monotonic() - self._began >= _DELAY_S:
            self._bar = self._bar_of(self._done)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar(what: str, unit: str, total: int | None, done: int) -> Any:
    from tqdm.auto import tqdm

    unwatched = type("Bar", (tqdm,), {"monitor_interval": 0})  # Without a thread that watches the bar.
    return unwatched(desc=what, unit=f" {unit}", total=total, initial=done, mininterval=_PAUSE_S, leave=False)
