"""Wait for outputs and effects in one thread, so that the program's own thread need not wait.

`jax.effects_barrier()` sees only the calling thread's effects, and has no time-out. But any thread can wait for the tokens
behind it. So this thread waits for them, and calls a function when each is done. A barrier then waits for these calls.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from jax_debug_widgets._jax.running import dispatch

Done = Callable[[Exception | None], None]


class Waiter:
    """Waits for values in the order of the requests. A device also finishes programs in the order of their dispatch."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[tuple[Any, ...], Done]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def when_ready(self, values: tuple[Any, ...], done: Done) -> None:
        """Call `done` with the program's error, or None, when `values` are ready. The waiter's thread calls it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="jaxdebug-waiter", daemon=True)
            self._thread.start()
        self._queue.put((values, done))

    def wait(self, values: tuple[Any, ...], timeout: float | None) -> bool:
        """Block until `values` are ready or have failed, at most `timeout` seconds. Return whether they are. Interruptible."""
        ready = threading.Event()
        self.when_ready(values, lambda _error: ready.set())
        return ready.wait(timeout)

    def _loop(self) -> None:
        while True:
            values, done = self._queue.get()
            error = dispatch.wait(values)
            # The arrays must not outlive the wait, because they may have gigabytes.
            del values
            done(error)
            del done
