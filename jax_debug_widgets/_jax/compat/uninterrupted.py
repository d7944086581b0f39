"""What a signal must not come between."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGPROF", "SIGBREAK")
    if hasattr(signal, name)
]
"""Those that programs have handlers for: an interrupt, time limits, what a scheduler sends before it ends a job."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that come in the body are handled at its end, by what handles them now.

    What is taken out of one place gets into the other, and what a handler raises is not taken for an error of the body's.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: handler for number in _SIGNALS if callable(handler := signal.getsignal(number))}
    came: list[tuple[int, FrameType | None]] = []
    for number in handlers:
        signal.signal(number, lambda *told: came.append(told))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        _handle([(handlers[number], number, frame) for number, frame in came])


def _handle(came: list[tuple[Callable[[int, FrameType | None], object], int, FrameType | None]]) -> None:
    """Call each handler; where one raises, those of the others still run."""
    if came:
        (handler, number, frame), *rest = came
        try:
            handler(number, frame)
        finally:
            _handle(rest)
