"""Keep the memory of ended runs within a budget: the oldest arrays are dropped first, and dropped events are counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from jax_debug_widgets.events.amounts import in_bytes, plural

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.run import Run


class RetainedRun(Protocol):
    """The members of a run that `keep_within` uses."""

    @property
    def nbytes(self) -> int:
        """The bytes that the run holds."""
        ...

    def release(self, nbytes: int, *, arrays: bool) -> None:
        """See `Run.release`."""
        ...


def keep_within(ended: Sequence[RetainedRun], nbytes: int) -> None:
    """Drop events of the oldest runs until all runs together hold at most `nbytes`.

    First the runs drop arrays, with the events that came before them in the run; then they drop all other events. The newest
    run stays as it is, because its own budget bounds it.
    """
    for arrays in (True, False):
        for run in ended[:-1]:
            too_much = sum(run.nbytes for run in ended) - nbytes
            if too_much <= 0:
                return
            run.release(too_much, arrays=arrays)


def memory_text(ended: Sequence[Run]) -> str:
    """Return a sentence about what these runs hold and what they have dropped; empty without runs."""
    if not ended:
        return ""
    held, limit = (in_bytes(one) for one in (sum(run.nbytes for run in ended), ended[-1].options.ended_budget))
    gone = [run.store.released for run in ended if run.store.released]
    lost = f"; {plural(len(gone), 'run')} dropped {plural(sum(gone), 'event')}" if gone else ""
    return f"values of {plural(len(ended), 'ended run')}: {held} of {limit} at most (--max-ended-mb){lost}"
