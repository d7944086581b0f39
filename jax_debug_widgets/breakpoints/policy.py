"""The policy of one run at its breakpoints."""

from __future__ import annotations

import contextvars
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from jax_debug_widgets._jax.running.dispatch import is_of_effects
from jax_debug_widgets.breakpoints.conditions import StopCondition
from jax_debug_widgets.breakpoints.points import Point

if TYPE_CHECKING:
    from jax_debug_widgets.taps.gate import Firings

_MOST_TYPED = 500

Halt = Literal["stopped", "interrupted"]
"""How a user ends a program: in the panel, or by an interrupt."""


class StopsOfJob(Protocol):
    """Stops all processes of a job at the same call, see `job_stops.JobStops`."""

    def ask(self, wish: Literal["pause", "halt"], answer: Callable[[str], None]) -> None:
        """Want all processes to stand, or to end."""
        ...

    def before_call(self, name: str) -> None:
        """A program over all processes is about to be dispatched."""
        ...

    def close(self) -> None:
        """The capture is over."""
        ...


@dataclass
class Typed:
    """A command of the console; `output` is None until it is there."""

    text: str
    output: str | None = None
    failed: bool = False


@dataclass
class Policy:
    """Set by the options of a run, changed by its user. Guarded by the debugger's lock.

    Attributes:
      conditions: what of `--break-on` is to be looked at, with the number that the panel calls it by.
      timeout: seconds after which a stop goes on by itself; None for never.
      prompt: ask on stdin where no panel answers.
      context: of the cell that began the run: XLA's threads have none, and ipykernel 7.0 asks nothing without it.
      printing_watched: the number of a site -> which of its values are watched beside it. XLA may call the print first; the
        watched value says where a NaN is born.
      pausing: stop at the next event.
      passing: a site whose stops are passed until there is one at another site.
      ignoring: stop no more.
      halted: how the program is ended; None if it is not to be.
      told: whether an interrupt has been raised where Python runs. What handles it there goes on as it wants.
      ended: where a device was ended, a sentence; None while none was.
      over: nothing of the run is left to stop.
      resumed_ns: when a stop last ended, as `perf_counter_ns` tells it; 0 where there was none.
      skipped: breakpoint -> how often nobody was there.
      is_in_job: whether they were skipped because other processes would wait.
      notes: what else became of stops, in sentences -> how often.
      points: the breakpoints of this run's programs, which other runs may share; `hits`: by number, how often this one has
        reached each.
      known: the number of a site that has just fired -> what else is known of that step.
      job: how it stops where several processes run it, and have agreed to; else None.
      typed: what was typed at its stops, the newest last; a page that is loaded anew shows it again.
    """

    conditions: Sequence[StopCondition] = ()
    timeout: float | None = None
    prompt: bool = False
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    printing_watched: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    pausing: bool = False
    passing: int | None = None
    ignoring: bool = False
    halted: Halt | None = None
    told: bool = False
    ended: str | None = None
    over: bool = False
    resumed_ns: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    is_in_job: bool = False
    notes: Counter[str] = field(default_factory=Counter)
    points: dict[int, Point] = field(default_factory=dict)
    hits: Counter[int] = field(default_factory=Counter)
    known: Callable[[int], Firings] = lambda _site: []
    job: StopsOfJob | None = None
    typed: deque[Typed] = field(default_factory=lambda: deque(maxlen=_MOST_TYPED))

    def reaches(self, point: Point) -> bool:
        """Count a firing; whether it is to stop."""
        self.hits[point.number] += 1
        return point.takes()

    def ends(self, error: BaseException) -> bool:
        """Whether `error` is there because the user has ended the program, as opposed to a failure."""
        if isinstance(error, KeyboardInterrupt):
            return True
        # Python's own handler may have come before us, in a callback on the main thread.
        was_interrupted = self.halted == "interrupted" and "KeyboardInterrupt" in str(error)
        return is_of_effects(error) and (self.ended is not None or was_interrupted)

    def noted_lines(self) -> list[str]:
        """The notes about what else became of stops; equal ones are one sentence."""
        return [note if count == 1 else f"{note} ({count} times)" for note, count in self.notes.items()]

    def skipped_lines(self) -> list[str]:
        """A sentence for each breakpoint that nobody was there for."""
        why = (
            "a stop would leave the other processes of this job waiting, so it is recorded like a print"
            if self.is_in_job
            else "nobody is there to continue the program"
        )
        return [
            f"{what} skipped {'once' if count == 1 else f'{count} times'}: {why}"
            for what, count in self.skipped.items()
        ]
