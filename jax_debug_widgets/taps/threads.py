"""Capture the threads and the tasks of thread pools that a captured thread starts.

Each thread has its own JAX user context. So a thread that a captured thread starts enters the same capture, and leaves it
at its end. A pool's threads may outlive the capture, so each task enters and leaves the capture instead. Daemon threads may
outlive the capture too; they are not captured.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing

Inherit = Callable[[], "Callable[[], AbstractContextManager[object]] | None"]
"""Called in the thread that starts another one; returns the context manager that the other enters, or None."""


class ThreadWatch(Replacing):
    """Replaces `threading.Thread.start` and the `submit` of `ThreadPoolExecutor` while a capture is open."""

    def __init__(self, inherit: Inherit) -> None:
        super().__init__()
        self.inherit = inherit

    def _put_in(self, replace: Replacements) -> None:
        replace.attribute(threading.Thread, "start", self._start)
        replace.attribute(ThreadPoolExecutor, "submit", self._submit)

    def _start(self, theirs: Callable[..., None], thread: threading.Thread) -> None:
        enter = None if thread.daemon or _is_worker(thread) else self.inherit()
        if enter is not None:
            run = thread.run

            def run_captured() -> None:
                del thread.run
                with enter():
                    run()

            thread.run = run_captured
        theirs(thread)

    def _submit(self, theirs: Any, pool: ThreadPoolExecutor, task: Any, /, *args: Any, **kwargs: Any) -> Any:
        enter = self.inherit()
        if enter is None:
            return theirs(pool, task, *args, **kwargs)

        @functools.wraps(task, updated=())
        def captured(*args: Any, **kwargs: Any) -> Any:
            with enter():
                return task(*args, **kwargs)

        return theirs(pool, captured, *args, **kwargs)


def _is_worker(thread: threading.Thread) -> bool:
    """Whether a thread belongs to a `ThreadPoolExecutor`. Its tasks are captured, not the thread."""
    return getattr(getattr(thread, "_target", None), "__module__", "") == "concurrent.futures.thread"
