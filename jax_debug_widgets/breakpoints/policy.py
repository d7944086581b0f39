"""Define the policy of one run at its breakpoints."""

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
"""How the user ends a program: in the panel, or by an interrupt."""


class StopsOfJob(Protocol):
    """Stops all processes of a job at the same call, see `job_stops.JobStops`."""

    def ask(self, wish: Literal["pause", "halt"], answer: Callable[[str], None]) -> None:
        """Ask all processes to stand or to end."""
        ...

    def before_call(self, name: str) -> None:
        """Called before a program over all processes is dispatched."""
        ...

    def close(self) -> None:
        """Called when the capture is over."""
        ...


@dataclass
class Typed:
    """A command that the user typed in the console; `output` is None until the command has ended."""

    text: str
    output: str | None = None
    failed: bool = False


@dataclass
class Policy:
    """Defines what a run does at its breakpoints. The options set it, and the user changes it. The debugger's lock guards it.

    Attributes:
      conditions: the conditions of `--break-on`.
      timeout: seconds after which a stop goes on by itself; None for never.
      prompt: whether to ask on stdin if no panel answers.
      context: the context of the cell that began the run. XLA's threads have none, and ipykernel 7.0 cannot ask without
        it.
      printing_watched: the id of a site -> the positions of its values that are watched too. XLA may call the print
        first, but the watched value shows where a NaN is born.
      pausing: whether to stop at the next event.
      passing: the id of a site that does not stop until another site does; None for none.
      ignoring: whether to ignore all further stops.
      lane: the `vmap` lane that the user chose last; the next stop shows the same.
      halted: how the user ends the program; None if the user does not.
      is_raised: whether an interrupt was raised in Python code. The user's code that handles it decides whether to go on.
      ended: a sentence about where a device was ended; None if none was.
      over: whether nothing of the run is left to stop.
      resumed_ns: the end of the last stop in ns of `perf_counter_ns`; 0 before the first.
      skipped: breakpoint -> how often it was skipped because no page or prompt could answer.
      is_in_job: whether breakpoints were skipped because other processes would wait.
      notes: a sentence about a stop that ended by itself -> how often that happened.
      points: the points of this run's programs, by number; other runs may share them.
      hits: the number of a point -> how often this run has reached it.
      known: the id of a site that has just fired -> the other firings that are known of that step.
      job: stops all processes of a job, if they run this capture together and have agreed to; else None.
      typed: the commands that were typed at the stops, the newest last. A page that is loaded again shows them.
    """

    conditions: Sequence[StopCondition] = ()
    timeout: float | None = None
    prompt: bool = False
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    printing_watched: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    pausing: bool = False
    passing: int | None = None
    ignoring: bool = False
    lane: tuple[int, ...] = ()
    halted: Halt | None = None
    is_raised: bool = False
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
        """Count a firing of a point. Return whether it stops the program."""
        self.hits[point.number] += 1
        return point.takes()

    def ends(self, error: BaseException) -> bool:
        """Whether `error` comes from the user's ending of the program, and not from a failure."""
        if isinstance(error, KeyboardInterrupt):
            return True
        # Python's own handler may have raised first, in a callback on the main thread.
        was_interrupted = self.halted == "interrupted" and "KeyboardInterrupt" in str(error)
        return is_of_effects(error) and (self.ended is not None or was_interrupted)

    def noted_lines(self) -> list[str]:
        """Return the notes about stops that ended by themselves; equal notes become one sentence."""
        return [note if count == 1 else f"{note} ({count} times)" for note, count in self.notes.items()]

    def skipped_lines(self) -> list[str]:
        """Return a sentence for each breakpoint that was skipped."""
        why = (
            "a stop would leave the other processes of this job waiting, so it is recorded like a print"
            if self.is_in_job
            else "nobody is there to continue the program"
        )
        return [
            f"{what} skipped {'once' if count == 1 else f'{count} times'}: {why}"
            for what, count in self.skipped.items()
        ]
