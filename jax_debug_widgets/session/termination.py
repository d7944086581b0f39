"""Do something when the process is asked to end by SIGTERM, before it does what it would do anyway."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from jax_debug_widgets._jax.compat.processes import joined


class Termination:
    """The actions before this process ends by SIGTERM.

    The program's own handler is called then, or the process ends as it would have. The signal is left alone where it is
    ignored, and where JAX listens to it (`jax.distributed`). Only the main thread can begin to listen, or end it.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._wanted: dict[Callable[[], None], int] = {}
        """Action -> the process that wants it."""

    def call_before(self, then: Callable[[], None]) -> None:
        """Call `then` before."""
        self._wanted[then] = os.getpid()
        own = signal.getsignal(signal.SIGTERM)
        is_left = own in (None, signal.SIG_IGN, self._heard) or joined() > 1
        if not is_left and threading.current_thread() is threading.main_thread():
            self._before = own
            signal.signal(signal.SIGTERM, self._heard)

    def forget(self, then: Callable[[], None]) -> None:
        """Do not call it any more."""
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
