"""Read the facts about a run from its file. Damaged parts are left out, and listed as problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from jax_debug_widgets.archive import RunFileError
from jax_debug_widgets.archive.plain import from_plain
from jax_debug_widgets.events import Barrier, RunState, Status
from jax_debug_widgets.session.options import Options
from jax_debug_widgets.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jax_debug_widgets.archive.reader import SavedRun

T = TypeVar("T")
_DONE: RunState = "done"
_ENDS: tuple[RunState, ...] = ("interrupted", "stopped", "failed")


def name_of(about: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """Return the last name that the user gave the run; empty without one."""
    return str(state.get("name") or about.get("name") or "")


def config_of(about: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the last config that the user gave the run."""
    return next((one for one in (state.get("config"), about.get("config")) if isinstance(one, dict)), {})


def cell_of(about: Mapping[str, Any]) -> int | None:
    """Return the number of the run's cell; None without one."""
    cell = about.get("cell")
    return cell if type(cell) is int else None


def options_of(about: Mapping[str, Any]) -> Options:
    """Return the watch options of the run. Other options have no meaning for a loaded run."""
    data = about.get("options")
    watch = data.get("watch") if isinstance(data, dict) else None
    try:
        return Options(watch=None if watch is None else from_plain(Watch, watch))
    except ValueError as error:
        raise RunFileError(f"what the run was asked to watch cannot be read: {error}") from None


def whole_number(state: Mapping[str, Any], name: str) -> int:
    """Return a whole number of a state; 0 without one."""
    found = state.get(name, 0)
    return found if type(found) is int else 0


def all_of(saved: SavedRun, kind: type[T], name: str) -> list[T]:
    """Return the entries of state.json under a name. A damaged entry adds a problem, and the result is empty."""
    found, why = saved.state.get(name, []), ""
    try:
        if isinstance(found, list):
            return [from_plain(kind, one) for one in found]
        why = f"{found!r:.80} is no list"
    except RunFileError as error:
        why = str(error)
    saved.problems.append(f"The part {name} of state.json is damaged and left out: {why}.")
    return []


def status_of(saved: SavedRun) -> Status:
    """Return the last status of the run; if it cannot be read, a status made from the other parts of the file."""
    is_over = bool(saved.state.get("is_over"))
    if "status" not in saved.state:
        if is_over and not any("state.json" in one for one in saved.problems):
            saved.problems.append("state.json does not say how the run was doing.")
        return _status_from_parts(saved, is_over=is_over)
    try:
        return from_plain(Status, saved.state["status"])
    except RunFileError as error:
        saved.problems.append(f"The part status of state.json is damaged and left out: {error}.")
        return _status_from_parts(saved, is_over=is_over)


def _status_from_parts(saved: SavedRun, *, is_over: bool) -> Status:
    """Make a status for a run without one. Its calls show how it ended."""
    about, last = saved.about, saved.store.last(1)
    states, ended = [call.state for call in saved.calls], _DONE
    for one in _ENDS:
        ended = one if one in states else ended
    started = about.get("started")
    return Status(
        state=ended if is_over else "running",
        title=str(about.get("title", "")),
        started=float(started) if isinstance(started, int | float) else 0.0,
        elapsed=last[0].time_ns * 1e-9 if last else 0.0,
        events=len(saved.store),
        rate=0.0,
        dropped=0,
        dropped_by_site={},
        muted=(),
        barrier=Barrier("off", (), 0.0, None),
        notes=(),
    )
