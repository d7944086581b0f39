"""The recordings that are open, also those in generators that nobody asks any more.

Python's garbage collector closes such a generator wherever it happens to run: in a function of ours that holds a lock, or in
another thread. To end a capture takes the same locks, so it would wait for itself. It ends with the next capture of its
thread then, or with the interpreter.
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
    """The recordings in the order in which they began."""

    def __init__(self) -> None:
        self._all: list[tuple[int, Recording]] = []
        self._dropped: list[Recording] = []

    def add(self, recording: Recording) -> None:
        """This thread has begun one."""
        self._all.append((threading.get_ident(), recording))

    def remove(self, run: Run) -> None:
        """One has ended."""
        self._all = [(thread, one) for thread, one in self._all if one.run is not run]

    def end(self, recording: Recording, error: BaseException | None) -> None:
        """What has left its capture has left it: end it, if that can be done here, and others that could not."""
        if all(one is not recording for _, one in self._all):  # The interpreter's end has ended it.
            return
        is_own = (threading.get_ident(), recording) in self._all
        if isinstance(error, GeneratorExit) and (not is_own or is_inside_ours()):
            self._dropped.append(recording)
            return
        recording.finish(error)
        self.end_dropped()

    def end_dropped(self) -> None:
        """End those of this thread whose generators were closed where it could not be done."""
        own = threading.get_ident()
        for thread, one in self._all.copy():
            if thread == own and one in self._dropped:
                self._dropped.remove(one)
                one.finish()

    def finish(self, runs: Container[Run]) -> None:
        """The interpreter ends. What is left open would be left when modules are gone."""
        for _, recording in reversed(self._all.copy()):
            if recording.run in runs:
                recording.finish()
