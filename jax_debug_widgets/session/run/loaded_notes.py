"""Write the notes about a run that was read from a file: the notes that it had, and what the file lacks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session.run.liveness import SILENT_S, at_time, still_open

if TYPE_CHECKING:
    from jax_debug_widgets.archive.reader import SavedRun


NUMBA_COMPILES = (
    "Numba is compiling the functions that read values from compiled programs. This takes some 10 seconds, once for this "
    "environment; the program starts after that."
)
"""A note about what goes on at the moment. In the file of a process that was killed meanwhile it says nothing."""


def notes_of(
    saved: SavedRun, saved_notes: Iterable[str], *, goes_on: bool, lost: str, followed: float | None
) -> Iterator[str]:
    """Yield the notes.

    Args:
      saved_notes: the notes that the run had when its state was written.
      goes_on: whether more events may come.
      lost: why it is no longer followed; empty if nothing has gone wrong.
      followed: when its file was last seen to change, in seconds since the epoch; None for a run that is not followed.
    """
    about, state = saved.about, saved.state
    yield from (note for note in saved_notes if goes_on or note != NUMBA_COMPILES)
    yield from saved.problems
    if left_out := saved.left_out:
        yield (
            f"{plural(left_out, 'event')} (the oldest) are in the file but were not loaded: `run.plot` draws them as mean "
            "and range. `jdw.load(path, max_events=…, max_mb=…)` with larger numbers loads more."
        )
    if not state.get("is_over") and not goes_on:
        yield lost or (stopped_note(saved.stopped) if saved.stopped else still_open(about, state))
    elif goes_on and followed is None:
        yield (
            f"Still being written, by process {about.get('pid')} on {about.get('host')}: the panel shows the run up "
            "to the moment of loading. `jdw.load(path, follow=True)` follows it."
        )
    elif goes_on and followed is not None and time.time() - followed > SILENT_S:
        yield (
            f"Nothing has been written since {at_time(followed)}, but the process is there: it may be suspended, or its "
            "recording may have failed."
        )


def stopped_note(state: Mapping[str, Any]) -> str:
    """Write the note about a recording that has stopped while its program went on."""
    return f"Recording stopped at {at_time(state['at'])}: {state['why']}. What came later is not in the file."
