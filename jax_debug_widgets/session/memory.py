"""Keep what ended runs hold within a budget: the oldest arrays go first, and are counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from jax_debug_widgets.events.amounts import in_bytes, plural

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.run import Run


class RetainedRun(Protocol):
    """A run that holds something."""

    @property
    def nbytes(self) -> int:
        """Bytes of what it keeps."""
        ...

    def release(self, nbytes: int, *, arrays: bool) -> None:
        """See `Run.release`."""
        ...


def keep_within(ended: Sequence[RetainedRun], nbytes: int) -> None:
    """Let go of what the oldest of these runs hold, until all together hold so many bytes at most.

    First of their arrays, with what came before these in their run, then of all else. The newest run stays as it is: its own
    budget bounds it.
    """
    for arrays in (True, False):
        for run in ended[:-1]:
            too_much = sum(run.nbytes for run in ended) - nbytes
            if too_much <= 0:
                return
            run.release(too_much, arrays=arrays)


def told_of(ended: Sequence[Run]) -> str:
    """A sentence about what these runs hold, and what they have let go of; empty where there are none."""
    if not ended:
        return ""
    held, limit = (in_bytes(one) for one in (sum(run.nbytes for run in ended), ended[-1].options.ended_budget))
    gone = [run.store.released for run in ended if run.store.released]
    lost = f"; {plural(len(gone), 'run')} dropped {plural(sum(gone), 'event')}" if gone else ""
    return f"values of {plural(len(ended), 'ended run')}: {held} of {limit} at most (--max-ended-mb){lost}"
