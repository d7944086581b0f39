"""Hold the calls and the thread spans of a loaded run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jax_debug_widgets.events import Call, ThreadSpans


@dataclass(frozen=True)
class LoadedSpans:
    """Holds the spans of threads, as `SpanLog` does."""

    spans: ThreadSpans

    @property
    def count(self) -> int:
        """The number of spans."""
        return len(self.spans.site)

    def since(self, first: int) -> ThreadSpans:
        """Return the spans from number `first` on."""
        rest = slice(first, None)
        spans = self.spans
        return ThreadSpans(
            first, spans.threads, spans.site[rest], spans.thread[rest], spans.from_ns[rest], spans.to_ns[rest]
        )


class LoadedCalls:
    """Holds the calls of a run, as `CallLog` does."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[Call, int]] = {}
        """Id -> the call, and the version in which it last changed."""
        self._version = 0
        self.spans = LoadedSpans(ThreadSpans(0, (), *np.zeros((4, 0), np.int64)))
        self.dropped = 0

    def take(self, calls: list[Call], spans: LoadedSpans, dropped: int) -> None:
        """Take in all calls as they are now."""
        self._version += 1
        for call in calls:
            if self._calls.get(call.id, (None, 0))[0] != call:
                self._calls[call.id] = call, self._version
        self.spans, self.dropped = spans, dropped

    @property
    def newest(self) -> int:
        """The id of the call that began last; -1 without calls."""
        return max(self._calls, default=-1)

    def calls(self, since: int = 0) -> tuple[list[Call], int]:
        """Return the calls that have changed since this version, and the present version."""
        return [call for call, version in list(self._calls.values()) if version > since], self._version
