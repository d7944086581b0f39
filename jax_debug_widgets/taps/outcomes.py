"""Note what the user's host functions return and raise, how long they take, and which of them are running now.

The function is the user's and may take as long as it likes; what is added to it is two clocks, two appends, a
dictionary entry, and a copy of what it returns where it may write to that again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
    from jax_debug_widgets.taps.sites import Switch

CALLING = frozenset({"callback", "breakpoint", "pure", "io"})
"""The kinds that call a function of the user's with the values."""


@dataclass(frozen=True)
class Running:
    """A user's function that has begun and not ended: its tap, since when (`perf_counter_ns`), and its thread's ident."""

    tap: Tap
    began_ns: int
    thread: int


@dataclass(frozen=True)
class ResultCounts:
    """How often a call with a result is in a program as traced, and after JAX removed what is not used."""

    site: CallSite
    traced: int
    kept: int


class OutcomeBook:
    """The outcomes of this process that nobody has taken yet, and what is running. Safe from any thread."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.inbox: deque[Outcome] = deque()
        self.results = Results()
        self.staged: deque[ResultCounts] = deque()
        self.notes: deque[str] = deque()
        """The notes about errors that JAX has raised."""
        self.stale: dict[Any, StaleRead | None] = {}
        """What the run's programs keep of what has changed, by what tells of it; None for what is as it was by now."""
        self.checked = CheckLog()
        """The check log of the run's programs."""
        self._running: dict[int, Running] = {}
        self._asked: dict[Tap, CallContext] = {}

    def running(self) -> list[Running]:
        """The functions that are running now, the oldest first."""
        return sorted(self._running.copy().values(), key=lambda one: one.began_ns)

    def asked(self, tap: Tap) -> CallContext:
        """The context that asked for the calls of a tap."""
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
        """The function that a compiled program calls when `tap` fires: `run`, once a lane, and what becomes of it.

        JAX rejects a result that is not as `returns` says. One firing of `every` is an event, and none of a muted site;
        the user's function runs, and is reported, each time.
        """
        # One that raises ends its program: of lanes that it has not come to there are no events.
        told = tap.lane_by_lane()
        self._asked[told] = asked
        call, fire, stamps, pass_by = (
            self._caller(told, run, returns),
            inbox.putter(told),
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
                call(told.values_of(firing, ()), lane, times_of(stamp))
            return ()

        chosen = record if told is tap else record_lanes
        chosen.tap = told  # pyright: ignore[reportFunctionMemberAccess]
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
                else:  # A callback that calls JAX may be called back in the same thread.
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
        """A recorder for the sharding that the compiler has chosen: it makes an event, then calls the user's function."""
        # It fires when the program is compiled: no call of it can be expected to fire it again.
        tap = replace(tap, nesting=Nesting(conditional=True))
        told: dict[Any, Tap] = {}
        """A tap a sharding: an inbox keeps a tray for each for good."""

        def record(sharding: Any) -> object:
            if not switch.off:
                if sharding not in told:
                    text = str(sharding)
                    told[sharding] = replace(
                        tap, unflatten=lambda _values: ((sharding,), {}), render=lambda _values: text
                    )
                inbox.putter(told[sharding])((inbox.stamps.now(),))
            return run(sharding)

        record.tap = tap  # pyright: ignore[reportFunctionMemberAccess]
        return record


def asked_by(equation: DebugCall, name: Callable[[Frame], str]) -> CallContext:
    """Which derivative an equation is for, and the calls that led to it as `name` calls their frames."""
    return CallContext(equation.name_stack.count("jvp("), tuple(name(frame) for frame in equation.callers))
