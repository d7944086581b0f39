"""Keep the time spans of the threads of one run: the host functions that they ran, and the waits of the program."""

from __future__ import annotations

import threading
import time

import numpy as np

from jax_debug_widgets._jax.running.waits import Wait
from jax_debug_widgets.events import ThreadSpans
from jax_debug_widgets.taps.stuck import thread_name

MAX_SPANS = 100_000
"""The most spans that are kept, the newest ones."""

WAIT_SITES: dict[Wait, int] = {"effects_barrier": -1, "block_until_ready": -2}
"""Wait -> the number that replaces the id of a site."""


class SpanLog:
    """Holds time spans of threads, in the order in which they ended. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: list[tuple[int, int, int, int]] = []
        self._dropped = 0
        self._names: dict[int, list[tuple[int, str]]] = {}
        """Ident -> the names of its threads, each with its begin. The ident of an ended thread may be reused."""
        self._threads: dict[str, int] = {}

    @property
    def count(self) -> int:
        """The number of spans so far, dropped ones included."""
        return self._dropped + len(self._spans)

    def name_of(self, thread: int, at_ns: int) -> str:
        """Return a thread's name at a time (`perf_counter_ns`): `main`, a Python thread's name, or `XLA` and its ident."""
        return next(
            (name for since, name in reversed(self._names.get(thread, ())) if since <= at_ns), thread_name(thread)
        )

    def calling(self) -> str:
        """Note that the current thread calls JAX, and return its name."""
        thread = threading.current_thread()
        name = "main" if thread is threading.main_thread() else thread.name
        names = self._names.setdefault(thread.ident or 0, [])
        if not names or names[-1][1] != name:
            names.append((time.perf_counter_ns(), name))
        return name

    def add(self, site: int, from_ns: int, to_ns: int, thread: str) -> None:
        """Add a span: the host function of `site` ran, or `site` is one of `WAIT_SITES`. Times are since the run started."""
        with self._lock:
            number = self._threads.setdefault(thread, len(self._threads))
            self._spans.append((site, number, from_ns, to_ns))
            if len(self._spans) > 2 * MAX_SPANS:
                del self._spans[:MAX_SPANS]
                self._dropped += MAX_SPANS

    def since(self, first: int) -> ThreadSpans:
        """Return the kept spans from number `first` on."""
        with self._lock:
            spans, kept = self._spans[max(0, first - self._dropped) :], max(first, self._dropped)
            threads = tuple(self._threads)
        columns = np.array(spans, np.int64).reshape(-1, 4)
        return ThreadSpans(kept, threads, *columns.T)
