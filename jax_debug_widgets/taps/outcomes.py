"""Note what the user's host functions return and raise, how long they take, and which of them are running now.

The user's function may take any time. This module adds two reads of the clock, two appends and a dictionary entry. It also
copies a result that the function could write to again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jax_debug_widgets._jax.compat.arrays import on_cpu
from jax_debug_widgets.events import CallContext, CallSite, Inbox, Nesting, Outcome, StaleRead, Tap, times_of
from jax_debug_widgets.taps.check_log import CheckLog
from jax_debug_widgets.taps.rejections import Returns, rejection
from jax_debug_widgets.taps.results import Results

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets._jax.origins.equation import DebugCall
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets.taps.gate import Gate
    from jax_debug_widgets.taps.refusals import RefusedCallback
    from jax_debug_widgets.taps.sites import Switch

CALLING = frozenset({"callback", "breakpoint", "pure", "io"})
"""The kinds of equations that call one of the user's functions with the values."""


class Running(NamedTuple):
    """A call of a user's function that has not ended: its tap, its begin in ns of `perf_counter_ns`, and its thread's ident."""

    tap: Tap
    began_ns: int
    thread: int


@dataclass(frozen=True)
class ResultCounts:
    """How often a callback with a result is in a program: as traced, and after JAX has removed unused calls."""

    site: CallSite
    traced: int
    kept: int


class OutcomeBook:
    """Holds the outcomes that were not taken yet, and the calls that are running. Safe from any thread.

    An outcome is what a call of a user's host function returned or raised, with its times.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.inbox: deque[Outcome] = deque()
        self.results = Results()
        self.staged: deque[ResultCounts] = deque()
        self.notes: deque[str] = deque()
        """The notes about errors that JAX has raised."""
        self.refused: deque[RefusedCallback] = deque()
        """The callbacks that JAX has refused."""
        self.stale: dict[Any, StaleRead | None] = {}
        """Cached program -> the changed value that it still uses; None if the value is again as the program was traced with."""
        self.checked = CheckLog()
        """The check log of the run's programs."""
        self._running: dict[int, Running] = {}
        self._asked: dict[Tap, CallContext] = {}

    def running(self) -> list[Running]:
        """Return the calls that are running now, the oldest first."""
        return sorted(self._running.copy().values(), key=lambda one: one.began_ns)

    def asked(self, tap: Tap) -> CallContext:
        """Return the context in the program that the calls of a tap are for, see `asked_by`."""
        return self._asked.get(tap, CallContext())

    def recorder(
        self,
        tap: Tap,
        asked: CallContext,
        switch: Switch,
        inbox: Inbox,
        run: Callable[..., Any],
        every: int,
        returns: Returns | None = None,
    ) -> Any:
        """Make the function that a compiled program calls when `tap` fires: it calls `run` for each lane and notes the outcome.

        One firing of `every` becomes an event; a muted site has no events. The user's function runs each time, and each of
        its outcomes is noted.

        Args:
          returns: shapes and dtypes of the results that the program declares. JAX rejects other results.
        """
        # A function that raises ends its program, so the lanes after it have no events.
        by_lanes = tap.lane_by_lane()
        self._asked[by_lanes] = asked
        call, fire, stamps, pass_by = (
            self._caller(by_lanes, run, returns),
            inbox.putter(by_lanes),
            inbox.stamps,
            self._passage(tap),
        )

        def record(*arrays: np.ndarray) -> Any:
            stamp = stamps.now()
            if switch.takes(every):
                fire((stamp, *arrays))
            pass_by(arrays)
            result: Any = ()
            for lane in tap.lane_order:
                result = call(tap.values_of(arrays, lane), lane, times_of(stamp))
            # Only callbacks without results have lanes: with several, or with none, there is nothing to return.
            return () if tap.lanes or result is None else tuple(result)

        def record_lanes(*arrays: np.ndarray) -> tuple[()]:
            pass_by(arrays)
            is_taken = switch.takes(every)
            for lane, firing in zip(tap.lane_order, tap.of_lanes(arrays), strict=True):
                stamp = stamps.now()
                if is_taken:
                    fire((stamp, *firing))
                call(by_lanes.values_of(firing, ()), lane, times_of(stamp))
            return ()

        chosen = record if by_lanes is tap else record_lanes
        chosen.tap = by_lanes  # pyright: ignore[reportFunctionMemberAccess]
        return chosen

    def _caller(
        self, tap: Tap, run: Callable[..., Any], returns: Returns | None
    ) -> Callable[[Sequence[np.ndarray], tuple[int, ...], int], Any]:
        end, clock, running, keep = self.inbox.append, time.perf_counter_ns, self._running, self.results.keep

        def call(values: Sequence[np.ndarray], lane: tuple[int, ...], fired: int) -> Any:
            thread, began = threading.get_ident(), clock()
            outer = running.get(thread)
            running[thread] = Running(tap, began, thread)
            result = error = None
            try:
                result = run(*map(on_cpu, values))
            except BaseException as raised:
                error = raised
                raise
            finally:
                ended = clock()
                kept = None if error is not None else keep(result or ())
                if error is None and returns is not None:
                    error = rejection(result or (), returns, values)  # JAX raises it, in a moment.
                end((tap, fired, began, ended, thread, lane, kept, error))
                if outer is None:
                    del running[thread]
                else:  # A callback may call JAX, and that program may call back in the same thread.
                    running[thread] = outer
                del error
            return result

        return call

    def _passage(self, tap: Tap) -> Callable[[tuple[np.ndarray, ...]], None]:
        gate, is_on_mesh, passed = self._gate, bool(tap.nesting.axes), self._gate.passage(tap)

        def pass_by(arrays: tuple[np.ndarray, ...]) -> None:
            if is_on_mesh:
                passed(arrays[tap.coordinates])
            if gate.closed:
                gate.may_pass(tap, arrays)

        return pass_by

    def sharding_recorder(
        self, tap: Tap, switch: Switch, inbox: Inbox, run: Callable[[Any], object]
    ) -> Callable[..., Any]:
        """Make the recorder of `inspect_array_sharding`: it adds an event with the sharding and calls the user's function."""
        # It fires when the program is compiled, so no call of the program is expected to fire it.
        tap = replace(tap, nesting=Nesting(conditional=True))
        taps: dict[Any, Tap] = {}
        """Sharding -> its tap. An inbox keeps a list for each tap for ever, so equal shardings share one tap."""

        def record(sharding: Any) -> object:
            if not switch.off:
                if sharding not in taps:
                    text = str(sharding)
                    taps[sharding] = replace(
                        tap, unflatten=lambda _values: ((sharding,), {}), render=lambda _values: text
                    )
                inbox.putter(taps[sharding])((inbox.stamps.now(),))
            return run(sharding)

        record.tap = tap  # pyright: ignore[reportFunctionMemberAccess]
        return record


def asked_by(equation: DebugCall, name: Callable[[Frame], str]) -> CallContext:
    """Return how many derivatives enclose an equation, and the calls that led to it.

    Args:
      name: makes the text of a frame.
    """
    return CallContext(equation.name_stack.count("jvp("), tuple(name(frame) for frame in equation.callers))
