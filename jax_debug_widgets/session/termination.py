"""Call functions when the process receives SIGTERM, before it ends or calls the program's own handler."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from jax_debug_widgets._jax.compat.processes import joined


class Termination:
    """Calls actions when SIGTERM arrives, before it takes effect.

    After the actions, the program's own handler is called, or the process ends as it would have. The signal is left alone if
    the program ignores it, or if JAX listens to it (`jax.distributed`). Only the main thread can install or remove the
    handler.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._wanted: dict[Callable[[], None], int] = {}
        """Action -> the id of the process that added it. A forked child must not call it."""

    def call_before(self, then: Callable[[], None]) -> None:
        """Add an action: call `then` when SIGTERM arrives."""
        self._wanted[then] = os.getpid()
        own = signal.getsignal(signal.SIGTERM)
        is_left = own in (None, signal.SIG_IGN, self._heard) or joined() > 1
        if not is_left and threading.current_thread() is threading.main_thread():
            self._before = own
            signal.signal(signal.SIGTERM, self._heard)

    def forget(self, then: Callable[[], None]) -> None:
        """Remove an action."""
        self._wanted.pop(then, None)
        is_main = threading.current_thread() is threading.main_thread()
        if not self._wanted and is_main and signal.getsignal(signal.SIGTERM) == self._heard:
            signal.signal(signal.SIGTERM, self._before)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        for then, process in list(self._wanted.items()):
            if process == os.getpid():
                then()
        if callable(self._before):
            self._before(number, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


TERMINATION = Termination()
