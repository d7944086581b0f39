"""Which runs there are: those that go on, thread by thread, and those that have ended and can still be asked."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from pathlib import Path

    from jax_debug_widgets.session.run.loaded import LoadedRun
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.run.run_row import RunRow
    from jax_debug_widgets.session.run.view import RunView

_MAX_RUNS = 100
"""Ended runs that stay available to their panels; the oldest is let go of."""


_MAX_SHELVED = 1000
"""Runs in files that a table lists."""


class RunAdopter:
    """Enters a run that another thread has begun."""

    def __init__(self, run: Run, join: Callable[[Run], AbstractContextManager[None]]) -> None:
        self.run, self._join = run, join

    def __call__(self) -> AbstractContextManager[None]:
        """The context of what is the run's."""
        return self._join(self.run)


class Runs:
    """The runs of a session. Whoever begins or ends one, or moves events to one, holds `lock`.

    Attributes:
      going_on: those that capture, innermost last.
      uncaptured: that of breakpoints outside any capture, while there is one.
    """

    def __init__(self, forget: Callable[[str], None]) -> None:
        """`forget` takes the key of each run that is let go of."""
        self.lock = threading.RLock()
        self.going_on: list[Run] = []
        self.uncaptured: Run | None = None
        self._forget = forget
        self._thread = threading.local()
        self._latest: Run | None = None
        self._latest_of: dict[int, Run] = {}
        """Inbox -> the run that ended last of those that read it: what is late goes to it."""
        self._known: dict[str, Run] = {}
        self._loaded: dict[str, LoadedRun] = {}
        self._shelved: dict[str, tuple[RunRow, Callable[[Path], LoadedRun]]] = {}
        """Runs in files, with what reads them whole: only their rows were read."""
        self._joined: list[Run] = []
        """Once for each thread that is in a run which another thread has begun."""
        self._heirs: WeakSet[RunAdopter] = WeakSet()

    @property
    def current(self) -> Run | None:
        """The run that what this thread dispatches belongs to: the innermost that is active, else the last one."""
        return self.stoppable or self._latest

    @property
    def stoppable(self) -> Run | None:
        """The run that an interrupt ends: the active one, or that of breakpoints outside any capture."""
        return self.active or self.uncaptured

    @property
    def active(self) -> Run | None:
        """The innermost run of this thread that is going on; of a thread without one, the innermost of all."""
        own = self.own
        return own[-1] if own else self.going_on[-1] if self.going_on else None

    @property
    def own(self) -> list[Run]:
        """The runs of the current thread, innermost last."""
        return self._thread.__dict__.setdefault("runs", [])

    @property
    def _inherited(self) -> list[Run]:
        """The runs of the current thread that another thread has begun: its programs fire for them, too."""
        return self._thread.__dict__.setdefault("inherited", [])

    def recording(self) -> set[Run]:
        """The runs that go on, and the one that ended last: what is late goes to it."""
        return {*self.going_on, *(run for run in (self.uncaptured, self._latest) if run)}

    def begin(self, run: Run) -> None:
        """Let the run capture from now on; what this thread does belongs to it."""
        self.going_on.append(run)
        self.own.append(run)
        self._remember(run)

    def begin_uncaptured(self, run: Run) -> None:
        """Give the run the breakpoints outside any capture from now on."""
        self.uncaptured = self._latest_of[run.box] = run
        self._remember(run)

    def end(self, run: Run) -> None:
        """Let the run capture no more; what is late still goes to it."""
        self.going_on.remove(run)
        self._leave(run)
        self._latest = self._latest_of[run.box] = run

    def heir(self, run: Run, join: Callable[[Run], AbstractContextManager[None]]) -> RunAdopter:
        """The context that a thread or task enters, now or later, to join a run; while it exists the run keeps its box."""
        heir = RunAdopter(run, join)
        self._heirs.add(heir)
        return heir

    @property
    def are_dispatching(self) -> bool:
        """Whether there is a run that goes on, or a thread that has outlived the one that it is in."""
        return bool(self.going_on or self._joined)

    @contextmanager
    def joined(self, run: Run) -> Iterator[None]:
        """Give what this thread does in the body to that run, which another thread has begun."""
        self.own.append(run)
        self._inherited.append(run)
        with self.lock:
            self._joined.append(run)
        try:
            yield
        finally:
            with self.lock:
                self._joined.remove(run)
            self._inherited.remove(run)
            self._leave(run)

    def reads(self, box: int) -> Run | None:
        """The innermost active run that reads this box."""
        return next((run for run in reversed(self.going_on) if run.box == box), None)

    def latest_of(self, box: int) -> Run | None:
        """The run that ended last of those that read this box."""
        return self._latest_of.get(box)

    def box_of_this_thread(self) -> int:
        """The box of this thread's runs. Without runs, one that no run reads and that no thread fills for an ended run.

        The number is part of the keys of JAX's caches: one that is free is given again, so that nothing is compiled anew.
        """
        if self.own and self.own[-1] not in self._inherited:
            return self.own[-1].box
        taken = {run.box for run in (*self.going_on, *(heir.run for heir in list(self._heirs)))}
        return next(number for number in itertools.count() if number not in taken)

    def take_loaded(self, run: LoadedRun) -> None:
        """Add a run that was read from a file; it can be asked like those that have ended."""
        with self.lock:
            self._shelved.pop(run.key, None)
            self._loaded[run.key] = run
            self._forget_oldest(self._loaded)

    def loaded(self) -> list[LoadedRun]:
        """The runs from files, the newest last."""
        with self.lock:
            return [*self._loaded.values()]

    def find(self, key: str) -> RunView | None:
        """The run of that key, if it is still known; one in a file is read for it.

        Raises:
          RunFileError, OSError: its file cannot be read.
        """
        found = self._known.get(key) or self._loaded.get(key)
        shelved = self._shelved.get(key) if found is None else None
        return found if shelved is None else shelved[1](shelved[0].path)

    def shelve(self, rows: Sequence[RunRow], load: Callable[[Path], LoadedRun]) -> None:
        """Add runs that can be asked like those that are loaded: `load` reads one when it is asked."""
        with self.lock:
            self._shelved |= {row.key: (row, load) for row in rows if row.key not in self._loaded}
            for key in list(self._shelved)[:-_MAX_SHELVED]:
                del self._shelved[key]

    def shelved(self) -> list[RunRow]:
        """The rows of runs that were not read whole."""
        with self.lock:
            return [row for row, _ in self._shelved.values()]

    def known(self) -> list[RunView]:
        """All runs that are still known: those from files, then those of this process, the newest last."""
        with self.lock:
            return [*self._loaded.values(), *self._known.values()]

    def captured(self) -> list[Run]:
        """The runs of this process, the newest last."""
        with self.lock:
            return list(self._known.values())

    def ended(self) -> list[Run]:
        """The runs of this process that capture no more, in the order in which they began."""
        with self.lock:
            return [run for run in self._known.values() if run not in self.going_on and run is not self.uncaptured]

    def _leave(self, run: Run) -> None:
        if run in self.own:  # Another thread may end a run, and one that has joined it as well.
            self.own.remove(run)

    def _remember(self, run: Run) -> None:
        self._known[run.key] = run
        self._forget_oldest(self._known)

    def _forget_oldest(self, runs: dict[str, Any]) -> None:
        for key in list(runs)[:-_MAX_RUNS]:
            del runs[key]
            self._forget(key)
