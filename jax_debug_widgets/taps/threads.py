"""Capture what a captured thread starts: threads, and tasks of thread pools.

JAX's user context is a thread's own. So a thread that a captured one starts enters the same capture, and leaves it at its
end; a task of a pool does so around itself, because the pool's threads may outlive the capture. So may daemon threads:
they are left alone.
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
"""Asked in the thread that starts another: what the other is to enter; None for nothing."""


class ThreadWatch(Replacing):
    """Puts functions of ours into `threading.Thread` and `ThreadPoolExecutor` while somebody captures."""

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
    """Whether it belongs to a `ThreadPoolExecutor`, whose tasks are what is captured."""
    return getattr(getattr(thread, "_target", None), "__module__", "") == "concurrent.futures.thread"
