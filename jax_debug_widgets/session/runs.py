"""Keep the runs of a session: those that go on, by thread, and those that have ended and can still be asked."""

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
"""The most runs that stay available to their panels; then the oldest is forgotten."""


_MAX_SHELVED = 1000
"""The most runs in files that a table lists."""


class RunAdopter:
    """Makes the context in which a thread joins a run that another thread has begun."""

    def __init__(self, run: Run, join: Callable[[Run], AbstractContextManager[None]]) -> None:
        self.run, self._join = run, join

    def __call__(self) -> AbstractContextManager[None]:
        """Return the context; inside it, the thread's programs belong to the run."""
        return self._join(self.run)


class Runs:
    """Holds the runs of a session. Hold `lock` to begin or end a run, or to move events to one.

    Attributes:
      going_on: the runs that capture, innermost last.
      uncaptured: the run of breakpoints outside any capture; None if there is none.
    """

    def __init__(self, forget: Callable[[str], None]) -> None:
        """Start without runs; `forget` is called with the key of each run that is dropped from memory."""
        self.lock = threading.RLock()
        self.going_on: list[Run] = []
        self.uncaptured: Run | None = None
        self._forget = forget
        self._thread = threading.local()
        self._latest: Run | None = None
        self._latest_of: dict[int, Run] = {}
        """Box -> the run that read it and ended last. Late firings go to this run."""
        self._known: dict[str, Run] = {}
        self._loaded: dict[str, LoadedRun] = {}
        self._shelved: dict[str, tuple[RunRow, Callable[[Path], LoadedRun]]] = {}
        """Key -> the row of a run in a file, and the function that reads the whole run. Only the row was read."""
        self._joined: list[Run] = []
        """The run of each thread that has joined a run of another thread; once for each thread."""
        self._heirs: WeakSet[RunAdopter] = WeakSet()

    @property
    def current(self) -> Run | None:
        """The run that this thread's programs belong to: the innermost active run, else the run that ended last."""
        return self.stoppable or self._latest

    @property
    def stoppable(self) -> Run | None:
        """The run that an interrupt ends: the active run, or else the run of breakpoints outside any capture."""
        return self.active or self.uncaptured

    @property
    def active(self) -> Run | None:
        """The innermost run of this thread that goes on; in a thread without a run, the innermost of all threads."""
        own = self.own
        return own[-1] if own else self.going_on[-1] if self.going_on else None

    @property
    def own(self) -> list[Run]:
        """The runs of the current thread, innermost last."""
        return self._thread.__dict__.setdefault("runs", [])

    @property
    def _inherited(self) -> list[Run]:
        """The runs of the current thread that another thread has begun. This thread's programs fire for them too."""
        return self._thread.__dict__.setdefault("inherited", [])

    def recording(self) -> set[Run]:
        """Return the runs that firings may still come to: the runs that go on, and the run that ended last."""
        return {*self.going_on, *(run for run in (self.uncaptured, self._latest) if run)}

    def begin(self, run: Run) -> None:
        """Add a run that captures from now on; this thread's programs belong to it."""
        self.going_on.append(run)
        self.own.append(run)
        self._remember(run)

    def begin_uncaptured(self, run: Run) -> None:
        """Add the run that takes the breakpoints outside any capture from now on."""
        self.uncaptured = self._latest_of[run.box] = run
        self._remember(run)

    def end(self, run: Run) -> None:
        """Note that a run captures no more. Its late firings still go to it."""
        self.going_on.remove(run)
        self._leave(run)
        self._latest = self._latest_of[run.box] = run

    def heir(self, run: Run, join: Callable[[Run], AbstractContextManager[None]]) -> RunAdopter:
        """Make the context in which a thread or task joins a run, now or later. While it exists, the run keeps its box."""
        heir = RunAdopter(run, join)
        self._heirs.add(heir)
        return heir

    @property
    def are_dispatching(self) -> bool:
        """Whether a run goes on, or a thread that joined a run still works for it."""
        return bool(self.going_on or self._joined)

    @contextmanager
    def joined(self, run: Run) -> Iterator[None]:
        """Let this thread's programs in the body belong to a run that another thread has begun."""
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
        """Return the innermost active run that reads this box; None without one."""
        return next((run for run in reversed(self.going_on) if run.box == box), None)

    def latest_of(self, box: int) -> Run | None:
        """Return the run that read this box and ended last; None without one."""
        return self._latest_of.get(box)

    def box_of_this_thread(self) -> int:
        """Return the box of this thread's runs. In a thread without runs, return the lowest free number.

        A number is free if no run reads the box and no thread fills it for an ended run. The number is part of the keys of
        JAX's caches, so reusing a number avoids compiling again.
        """
        if self.own and self.own[-1] not in self._inherited:
            return self.own[-1].box
        taken = {run.box for run in (*self.going_on, *(heir.run for heir in list(self._heirs)))}
        return next(number for number in itertools.count() if number not in taken)

    def take_loaded(self, run: LoadedRun) -> None:
        """Add a run that was read from a file; it can be asked like an ended run."""
        with self.lock:
            self._shelved.pop(run.key, None)
            self._loaded[run.key] = run
            self._forget_oldest(self._loaded)

    def loaded(self) -> list[LoadedRun]:
        """Return the runs that were read from files, the newest last."""
        with self.lock:
            return [*self._loaded.values()]

    def find(self, key: str) -> RunView | None:
        """Return the run of a key, None if it is not known any more. If only the run's row was read, the whole run is read now.

        Raises:
          RunFileError, OSError: its file cannot be read.
        """
        found = self._known.get(key) or self._loaded.get(key)
        shelved = self._shelved.get(key) if found is None else None
        return found if shelved is None else shelved[1](shelved[0].path)

    def shelve(self, rows: Sequence[RunRow], load: Callable[[Path], LoadedRun]) -> None:
        """Add runs in files by their rows. `load` reads the whole run when somebody asks for it."""
        with self.lock:
            self._shelved |= {row.key: (row, load) for row in rows if row.key not in self._loaded}
            for key in list(self._shelved)[:-_MAX_SHELVED]:
                del self._shelved[key]

    def shelved(self) -> list[RunRow]:
        """Return the rows of the runs in files that were not read whole."""
        with self.lock:
            return [row for row, _ in self._shelved.values()]

    def known(self) -> list[RunView]:
        """Return all known runs: those from files, then those of this process, the newest last."""
        with self.lock:
            return [*self._loaded.values(), *self._known.values()]

    def captured(self) -> list[Run]:
        """Return the runs of this process, the newest last."""
        with self.lock:
            return list(self._known.values())

    def ended(self) -> list[Run]:
        """Return the runs of this process that capture no more, in the order in which they began."""
        with self.lock:
            return [run for run in self._known.values() if run not in self.going_on and run is not self.uncaptured]

    def _leave(self, run: Run) -> None:
        if run in self.own:  # Not in another thread that ends the run.
            self.own.remove(run)

    def _remember(self, run: Run) -> None:
        self._known[run.key] = run
        self._forget_oldest(self._known)

    def _forget_oldest(self, runs: dict[str, Any]) -> None:
        for key in list(runs)[:-_MAX_RUNS]:
            del runs[key]
            self._forget(key)
