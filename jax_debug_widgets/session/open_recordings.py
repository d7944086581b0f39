"""Keep the open recordings, and end those in generators that were dropped before their end.

Python's garbage collector closes a dropped generator wherever it happens to run: inside a function of this package that holds
a lock, or in another thread. Ending a capture takes the same locks, so it would wait for itself. Such a recording ends with
the next capture of its thread, or with the interpreter.
"""

from __future__ import annotations

import threading
from collections.abc import Container
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.origins.frames import is_inside_ours

if TYPE_CHECKING:
    from jax_debug_widgets.session.recording import Recording
    from jax_debug_widgets.session.run.run import Run


class OpenRecordings:
    """Holds the open recordings in the order in which they began."""

    def __init__(self) -> None:
        self._all: list[tuple[int, Recording]] = []
        self._dropped: list[Recording] = []

    def add(self, recording: Recording) -> None:
        """Add a recording that this thread has begun."""
        self._all.append((threading.get_ident(), recording))

    def remove(self, run: Run) -> None:
        """Remove the recording of a run that has ended."""
        self._all = [(thread, one) for thread, one in self._all if one.run is not run]

    def end(self, recording: Recording, error: BaseException | None) -> None:
        """End a recording when its `with` block is left, if that is possible here; also end others that waited for this.

        Args:
          error: the exception that left the block; None without one.
        """
        if all(one is not recording for _, one in self._all):  # `finish` has ended it.
            return
        is_own = (threading.get_ident(), recording) in self._all
        if isinstance(error, GeneratorExit) and (not is_own or is_inside_ours()):
            self._dropped.append(recording)
            return
        recording.finish(error)
        self.end_dropped()

    def end_dropped(self) -> None:
        """End the recordings of this thread that could not be ended when their generators were closed."""
        own = threading.get_ident()
        for thread, one in self._all.copy():
            if thread == own and one in self._dropped:
                self._dropped.remove(one)
                one.finish()

    def finish(self, runs: Container[Run]) -> None:
        """End all recordings of these runs when the interpreter ends, while the modules still exist."""
        for _, recording in reversed(self._all.copy()):
            if recording.run in runs:
                recording.finish()
