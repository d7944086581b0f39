"""Call a function 30 times a second in a thread until it has nothing left to do; less often if it takes long or asks for it."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable

HZ = 30
"""Ticks a second. Jupyter drops messages beyond 1000 a second, and eyes do not see more."""

_SHARE = 1 / 16
"""The largest share of one processor's time for ticks, as far as `LONGEST_PAUSE_S` allows. With some hundred watched values a
tick takes 10 ms, and a firing of the user's program has to wait for Python's lock meanwhile."""

LONGEST_PAUSE_S = 0.06
"""The longest pause between two ticks because of their cost, so that the charts still move. A tick may ask for a longer one."""

_FAILURES_TOLD = 3
"""The most failed ticks in a row that log an error; 30 tracebacks a second would bury the user's own output."""

_log = logging.getLogger(__name__)


class Pump:
    """Calls `tick` in a thread until it returns None. Otherwise `tick` returns the least seconds until its next call.

    `tick` runs in a copy of the context in which the pump was made. A message from a thread without it has no parent cell, and
    ipykernel 7.0 raises `LookupError` for it.
    """

    def __init__(self, tick: Callable[[], float | None], hz: float = HZ) -> None:
        self._tick = tick
        self._period = 1 / hz
        self._context = contextvars.copy_context()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="jaxdebug-pump", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Stop ticking. Waits until the current tick has ended, at most `timeout` seconds."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    @property
    def running(self) -> bool:
        """Whether the pump still ticks."""
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
                # The next tick may work; it then sends what this one did not send.
                failures, wanted = failures + 1, 0.0
                if failures <= _FAILURES_TOLD:
                    _log.exception("jax_debug_widgets could not send what happened")
            took = time.thread_time() - began
            pause = max(self._period, wanted, min(took / _SHARE, LONGEST_PAUSE_S))
