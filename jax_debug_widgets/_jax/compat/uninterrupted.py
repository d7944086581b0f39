"""Hold back signals while code runs that must not be interrupted."""

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
"""Signals for which programs install handlers: interrupts, time limits, a scheduler's warning before it ends a job."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back the signals that arrive in the body; their handlers, as installed now, run at its end.

    So the body is not left half done, and an exception of a handler is not taken for one of the body's.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: handler for number in _SIGNALS if callable(handler := signal.getsignal(number))}
    came: list[tuple[int, FrameType | None]] = []
    for number in handlers:
        signal.signal(number, lambda *received: came.append(received))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        _handle([(handlers[number], number, frame) for number, frame in came])


def _handle(came: list[tuple[Callable[[int, FrameType | None], object], int, FrameType | None]]) -> None:
    """Call each handler; if one raises, the others still run."""
    if came:
        (handler, number, frame), *rest = came
        try:
            handler(number, frame)
        finally:
            _handle(rest)
