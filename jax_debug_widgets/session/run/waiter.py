"""One thread that waits for outputs and effects, so that the program's own thread never does.

`jax.effects_barrier()` sees only the calling thread's effects, and cannot give up. The tokens behind it can be waited
for from anywhere, so this thread waits for them and tells when each is done; a barrier is then a wait for its word.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from jax_debug_widgets._jax.running import dispatch

Done = Callable[[Exception | None], None]


class Waiter:
    """Waits in the order asked: a device finishes its programs in the order in which they were dispatched."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[tuple[Any, ...], Done]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def when_ready(self, values: tuple[Any, ...], done: Done) -> None:
        """Call `done` with the program's error, or None, once `values` are ready; from the waiter's thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="jaxdebug-waiter", daemon=True)
            self._thread.start()
        self._queue.put((values, done))

    def wait(self, values: tuple[Any, ...], timeout: float | None) -> bool:
        """Block until `values` are ready or have failed, at most `timeout` seconds; whether they are. Can be interrupted."""
        ready = threading.Event()
        self.when_ready(values, lambda _error: ready.set())
        return ready.wait(timeout)

    def _loop(self) -> None:
        while True:
            values, done = self._queue.get()
            error = dispatch.wait(values)
            # The arrays must not outlive the wait: they may be gigabytes.
            del values
            done(error)
            del done
