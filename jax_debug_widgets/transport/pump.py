"""A thread that ticks until there is nothing left to do: 30 times a second, less often where a tick takes long or wants it."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable

HZ = 30
"""Ticks a second: Jupyter counts messages (1000/s, the excess silently dropped), eyes do not see more."""

_SHARE = 1 / 16
"""The largest share of one processor's time for ticking, as far as `LONGEST_PAUSE_S` allows. With some hundred values watched a
tick takes 10 ms, in which the user's program waits for Python's lock whenever it has something to say."""

LONGEST_PAUSE_S = 0.06
"""Between two ticks, whatever they take, if they want no longer one: what is drawn still moves."""

_FAILURES_TOLD = 3
"""The most failed ticks in a row whose errors are written; 30 tracebacks a second would bury the user's own output."""

_log = logging.getLogger(__name__)


class Pump:
    """Calls `tick` until it answers None; else it answers how long it wants no other, in seconds.

    `tick` runs in a copy of the context in which the pump was made: a message sent from a bare thread has no parent
    cell, and ipykernel 7.0 raises `LookupError` for it.
    """

    def __init__(self, tick: Callable[[], float | None], hz: float = HZ) -> None:
        self._tick = tick
        self._period = 1 / hz
        self._context = contextvars.copy_context()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="jaxdebug-pump", daemon=True)

    def start(self) -> None:
        """Begin to tick."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Let the current tick end, and tick no more."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    @property
    def running(self) -> bool:
        """Whether it still ticks."""
        return self._thread.is_alive()

    def _loop(self) -> None:
        failures, pause = 0, self._period
        while not self._stop.wait(pause):
            began = time.thread_time()
            try:
                wanted = self._context.copy().run(self._tick)
                if wanted is None:
                    return
                failures = 0
            except Exception:  # noqa: BLE001 - whatever it is, the user's program goes on.
                # The user's program must not suffer, and the next tick may work: what was not sent is sent then.
                failures, wanted = failures + 1, 0.0
                if failures <= _FAILURES_TOLD:
                    _log.exception("jax_debug_widgets could not send what happened")
            took = time.thread_time() - began
            pause = max(self._period, wanted, min(took / _SHARE, LONGEST_PAUSE_S))
