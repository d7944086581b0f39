"""Load runs from files into the session, so that its panels show them."""

from __future__ import annotations

import glob
import re
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from jax_debug_widgets.archive import RunFileError
from jax_debug_widgets.archive.layout import RUN
from jax_debug_widgets.session.following import RunFollower
from jax_debug_widgets.session.run.compare import LoadedRuns
from jax_debug_widgets.session.run.loaded import LoadedRun
from jax_debug_widgets.session.run.merged import MergedRun
from jax_debug_widgets.session.run.progress import progress
from jax_debug_widgets.session.run.run_row import RunRow, row_of
from jax_debug_widgets.session.run.save import require_pyarrow
from jax_debug_widgets.session.run.view import new_key
from jax_debug_widgets.store import Budget
from jax_debug_widgets.transport import Pump

if TYPE_CHECKING:
    from jax_debug_widgets.session.ports import Loading

LOADED_MB, LOADED_EVENTS = 2048.0, 5_000_000
"""The default limits of a loaded run, in MB and in events. The rest is drawn from the run's overview."""

_MEGABYTE = 1_000_000

_NUMBERS = re.compile(r"(\D*)(\d+(?:\.\d+)?)?")

_PAUSE_S, _LONGEST_PAUSE_S = 0.03, 1.0
"""The shortest and the longest time in seconds between two looks at a run that another process writes."""

_PATIENCE_S = 5.0
"""How long a followed run may be unreadable: a shared file system may be away for a moment."""

_LOOK_AGAIN_S = 2.0
"""The time in seconds between two looks whether another run has taken the place of one that is over."""

_SHARE = 1 / 5
"""The largest share of time spent on looking."""


def load(
    session: Loading,
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    max_events: int = LOADED_EVENTS,
    max_mb: float = LOADED_MB,
    follow: bool = False,
) -> LoadedRun | LoadedRuns:
    """See `jax_debug_widgets.load`."""
    require_pyarrow("load()")
    budget = Budget(events=max_events, nbytes=max(int(max_mb * _MEGABYTE), 1))
    if isinstance(path, list | tuple) and path and all(isinstance(one, str | PathLike) for one in path):
        _refuse_to_follow(follow)
        paths = [Path(one).expanduser() for one in path]
        if missing := [str(one) for one in paths if not one.exists()]:
            raise RunFileError(f"there is no run at {', '.join(missing)}")
        return _load_all(session, paths, budget)
    if not isinstance(path, str | PathLike):
        raise TypeError(f"load(path) takes the path of a run, a pattern or a list of paths, not {path!r:.40}")
    at = Path(path).expanduser()
    if not at.exists() and glob.has_magic(str(at)):
        paths = [Path(one) for one in glob.glob(str(at), recursive=True)]
        if not paths:
            raise RunFileError(f"there is nothing like {path}")
        _refuse_to_follow(follow)
        return _load_all(session, sorted(paths, key=_in_order), budget)
    inner = [one for one in at.glob("*") if (one / RUN).exists() or one.suffix == ".zip"] if at.is_dir() else []
    if inner and not (at / RUN).exists():
        _refuse_to_follow(follow)
        return _load_all(session, sorted(inner, key=_in_order), budget)
    run = _load_one(session, budget, at)
    return _follow(session, run) if follow else run


def _refuse_to_follow(follow: bool) -> None:
    if follow:
        raise ValueError("load(paths, follow=True) follows one run only: load each by itself")


def load_to_show(session: Loading, path: str) -> LoadedRun | LoadedRuns:
    """Load the run or runs at a path; follow a run that is still being written."""
    loaded = load(session, path)
    return _follow(session, loaded) if isinstance(loaded, LoadedRun) and loaded.goes_on else loaded


def _load_one(session: Loading, budget: Budget, at: Path, *, key: str | None = None) -> LoadedRun:
    from jax_debug_widgets.archive.reader import RunReader, processes_at

    def parts(known: Sequence[int]) -> list[LoadedRun]:
        """Load the parts that further processes have written. Each part is also a run of its own."""
        found = [number for number in processes_at(at) if number not in known]
        runs = [LoadedRun(at, RunReader(at, budget, number), session.panels.of) for number in found]
        for run in runs:
            run.name = f"{run.name} · process {run.process}".removeprefix(" · ")
            session.take_loaded(run)
        return runs

    if _is_of_one(at):
        run = LoadedRun(at, RunReader(at, budget), session.panels.of, key)
    else:
        run = MergedRun(at, parts, budget, session.panels.of, key)
    session.take_loaded(run)
    return run


def _follow(session: Loading, run: LoadedRun) -> LoadedRun:
    """Read a run again and again until it is over, and send the news to its panel. A thread does it."""
    follower, seen = RunFollower(run.path), time.monotonic()

    def tick() -> float | None:
        nonlocal seen
        began = time.thread_time()
        follower.touch()
        try:
            run.follow()
            seen = time.monotonic()
        except (OSError, RunFileError) as error:
            if time.monotonic() - seen < _PATIENCE_S:
                return _LONGEST_PAUSE_S
            run.lose(str(error) if run.path.exists() else f"{run.path} was moved or removed")
        for one in dict.fromkeys((*run.processes, run)):
            session.panels.send_news(one)
            if not one.goes_on:
                session.panels.refresh(one)
            session.listing.report(one, over=not one.goes_on)
        if run.goes_on:
            return min(_PAUSE_S + (time.thread_time() - began) / _SHARE, _LONGEST_PAUSE_S)
        follower.end()
        run.followed_to_end.set()
        _notice_another(session, run)
        return None

    if run.follow():
        follower.touch()
        Pump(tick).start()
    else:
        run.followed_to_end.set()
        _notice_another(session, run)
    return run


def _notice_another(session: Loading, run: LoadedRun) -> None:
    """Look from time to time whether another run is recorded at the path of a run that is over; a note says so."""
    from jax_debug_widgets.archive.reader import is_another_run

    known = weakref.ref(run)

    def tick() -> float | None:
        run = known()
        if run is None:  # Nobody has the run any more.
            return None
        if not is_another_run(run.path, run.process, run.saved.about):
            return _LOOK_AGAIN_S
        run.note(f"{run.path} holds another run now: `jdw.load(path, follow=True)` reads it. This is the run before.")
        session.panels.send_news(run)
        session.panels.refresh(run)
        return None

    if run.path.is_dir():
        Pump(tick).start()


def _load_all(session: Loading, paths: list[Path], budget: Budget) -> LoadedRuns:
    keys: dict[Path, str] = {path: new_key() for path in paths}
    loaded: dict[Path, LoadedRun] = {}

    def load_one(path: Path) -> LoadedRun:
        if path not in loaded:
            loaded[path] = _load_one(session, budget, path, key=keys[path])
        return loaded[path]

    rows: list[RunRow] = []
    problems: dict[str, str] = {}
    with progress("Reading", "runs", len(paths)) as done:
        for path in paths:
            try:
                rows.append(_row(path, keys[path], load_one))
            except (OSError, RunFileError) as error:
                problems[str(path)] = str(error)
            done()
    session.shelve([row for row in rows if row.path not in loaded], load_one)
    return LoadedRuns(rows, problems, load_one)


def _in_order(path: Path) -> tuple[tuple[str, float], ...]:
    """Return the key that sorts paths by the numbers in them: `run2` before `run10`, and `lr0.05` before `lr0.2`."""
    return tuple((word, float(number or 0)) for word, number in _NUMBERS.findall(str(path)))


def _row(path: Path, key: str, load_one: Callable[[Path], LoadedRun]) -> RunRow:
    from jax_debug_widgets.archive.reader import about_run, read_state

    row = row_of(path, about_run(path), read_state(path), partial(load_one, path), of_one=_is_of_one(path))
    return replace(row, key=key)


def _is_of_one(path: Path) -> bool:
    """Whether the run at this path is from a job with one process."""
    from jax_debug_widgets.archive.reader import processes_at, processes_of

    return len(processes_at(path)) == 1 and processes_of(path) == 1
