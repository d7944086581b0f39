"""Decide at each firing whether the program stops there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.compat.arrays import on_cpu
from jax_debug_widgets.breakpoints import collectives
from jax_debug_widgets.breakpoints.cost import cost_of
from jax_debug_widgets.breakpoints.ending import Ending
from jax_debug_widgets.breakpoints.nonfinite import finite_at
from jax_debug_widgets.breakpoints.points import Point, PointBook
from jax_debug_widgets.breakpoints.policy import Halt, Policy
from jax_debug_widgets.breakpoints.run_observers import RunObservers
from jax_debug_widgets.breakpoints.scenes import (
    breakpoint_scene,
    event_scene,
    replaceable_of,
    stopped_lanes,
    text_of,
)
from jax_debug_widgets.breakpoints.stop import Ended, Stop, StopLocation
from jax_debug_widgets.breakpoints.stop_queue import StopQueue

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall, Recorder
    from jax_debug_widgets.breakpoints.conditions import StopCondition
    from jax_debug_widgets.events import Bundle, Inbox, Tap
    from jax_debug_widgets.taps.gate import Firings, Gate
    from jax_debug_widgets.taps.sites import Switch

Arrays = tuple[np.ndarray, ...]


class Debugger:
    """Decides about each firing of a breakpoint, and of other taps while the gate is closed. A process has one debugger.

    Attributes:
      observers: finds whether a page or a prompt can answer a stop.
      stops: holds the open stop.
      ending: ends programs.
      points: the breakpoints of this process.
    """

    def __init__(self, gate: Gate, observers: RunObservers) -> None:
        self.observers = observers
        self.stops = StopQueue(gate, observers)
        self.ending = Ending(self.stops, gate)
        self.points = PointBook()
        self._gate = gate
        self._released: dict[Tap, int] = {}
        self._collective = collectives.CollectiveStop()
        gate.may_pass = self._may_pass

    @property
    def stop(self) -> Stop | None:
        """The stop that is open; None if there is none."""
        return self.stops.stop

    @property
    def policy(self) -> Policy:
        """The policy of the current run."""
        return self.stops.policy

    def begin(self, policy: Policy) -> Policy:
        """Use the policy of a run that begins. Return the policy before, to be passed to `begin` when the run ends."""
        with self.stops.lock:
            before, self.stops.policy = self.policy, policy
            for condition in policy.conditions:
                point = self.points.of_condition(condition)
                policy.points[point.number] = point
            self.ending.begin()
            self.stops.look()
            return before

    # ---- what the user asks for, from any thread

    def pause(self) -> None:
        """Stop at the next event of any site."""
        with self.stops.lock:
            self.policy.pausing, self.policy.ignoring = True, False
            self._collective = collectives.CollectiveStop()
            self.stops.look()

    def stop_where(self, condition: StopCondition, *, on: bool) -> None:
        """Stop the running program where the condition holds; with `on=False`, do so no longer."""
        with self.stops.lock:
            point = self.points.of_condition(condition)
            others = [one for one in self.policy.conditions if one.text != condition.text]
            self.policy.conditions = [*others, condition] if on else others
            if on:
                self.policy.points[point.number] = point
            else:
                self.policy.points.pop(point.number, None)
            self.stops.look()

    def halt(self, how: Halt) -> None:
        """End the program at its next event."""
        with self.stops.lock:
            if self.policy.halted is None:
                self.policy.halted = how
            self.stops.look()
            stop = self.stop
        if stop is not None:
            stop.resume("quit")

    # ---- the program's threads

    def recorder(self, tap: Tap, equation: DebugCall, switch: Switch, inbox: Inbox, plain: Recorder) -> Any:
        """Make the recorder that a compiled program calls at a breakpoint. `plain` opens JAX's own prompt, once a lane."""
        stop_point = equation.stop
        assert stop_point is not None
        text = text_of(tap.site)
        condition = text.keywords.get("when", "when") if stop_point.conditional else ""
        point = self.points.of_site(tap.site, stop_point.name or _name_in(text.first), condition)
        point.cost = cost_of(tap, equation)
        fire, stamps = inbox.putter(tap), inbox.stamps
        is_on_mesh, passed = bool(tap.nesting.axes), self._gate.passage(tap)
        self.policy.points[point.number] = point
        is_jax_own = stop_point.tree is None

        def record(*arrays: np.ndarray) -> Any:
            place = self.observers.place()
            if place == "prompt" and is_jax_own:
                return plain(*arrays)  # As in plain JAX.
            if not switch.off:
                fire((stamps.now(), *arrays))
            if is_on_mesh:
                passed(arrays[tap.coordinates])
            if self._gate.closed:
                self._may_pass(tap, arrays)
            given = arrays[stop_point.going_on] if not is_jax_own else arrays[: len(equation.results)]
            if not self._claim(tap, arrays, point):
                return given
            if place == "panel" and self.observers.patience > 0:
                replaceable = replaceable_of(tap, arrays, stop_point)
                scene = breakpoint_scene(tap, arrays, stop_point, condition, self.policy.hits[point.number])
                how, _ = self.stops.hold(scene, replaceable, tap)
                self.ending.at(tap, arrays)
                if how != "unanswered":
                    return given if replaceable is None else tuple(replaceable.given)
            self.stops.leave()
            if place != "job" and self.observers.may_ask() and (place == "prompt" or self.policy.prompt):
                run = self.policy.context.copy().run
                return run(plain, *arrays) if is_jax_own else run(self._prompt, tap, arrays, equation)
            self._skipped(point)
            return given

        record.tap = tap  # pyright: ignore[reportFunctionMemberAccess]
        return record

    def step(self, scene: StopLocation) -> tuple[Ended, int | None]:
        """Stand at an equation of a program that runs step by step. Return how to go on, and to which line.

        Raises:
          Stopped: the user has ended the program.
        """
        is_shown = self.observers.place() == "panel"
        is_awaited = is_shown and self.observers.patience > 0
        how, stop = self.stops.hold(scene) if is_awaited else ("all", None)
        if stop is None or how == "unanswered":
            self.policy.skipped["stepping" if is_shown else "stepping (the debugger is a notebook's panel)"] += 1
            return how, None
        if self.policy.halted is not None:
            raise self.ending.stopped(f"before {scene.reason}")
        return how, stop.line

    def _prompt(self, tap: Tap, arrays: Arrays, equation: DebugCall) -> Any:
        """Open JAX's prompt at a `jdw.breakpoint`, once for each lane that stops. Return the values that go on."""
        assert equation.stop is not None
        for lane in stopped_lanes(tap, arrays, equation.stop):
            equation.run(*(on_cpu(np.asarray(value)) for value in tap.values_of(arrays, lane)))
        return arrays[equation.stop.going_on]

    def _may_pass(self, fired: Tap | Bundle, arrays: Arrays, shown: Firings | None = None) -> None:
        """See `taps.gate.Pass`. Called at each firing while the gate is closed, on the program's thread."""
        if collectives.runs_on_several(fired):
            self.stops.stand_with_others(fired)
        self.ending.at(fired, arrays)
        if self.policy.pausing and self._take_pause(fired, arrays):
            firings = list(fired.firings(arrays)) if shown is None else shown
            tap, own = firings[0]
            scene = event_scene("pause", tap, own, f"paused at {tap.site.where}", firings, self.policy.known)
            self.stops.hold(scene, None, tap)
        stood_at = fired.site
        if self.policy.conditions:
            firings = list(fired.firings(arrays)) if shown is None else shown
            for tap, own in firings:
                if self._stood_for_condition(tap, own, firings):
                    stood_at = tap.site
                if self.policy.halted is not None:
                    break
        self.ending.at(fired, arrays, stood_at)

    def _stood_for_condition(self, tap: Tap, arrays: Arrays, firings: Firings) -> bool:
        stood, again = False, tap.site.watch.again if tap.site.watch else ""
        for condition in self.policy.conditions:
            if (again == "name" and not condition.is_place) or (condition.kinds and again == "value"):
                continue
            point = self.points.of_condition(condition)
            printed = (
                self.policy.printing_watched.get(tap.site.id, frozenset()) if condition.kinds else frozenset[int]()
            )
            own = finite_at(arrays, printed)
            lanes = condition.holds(tap, own, firings)
            if lanes and self.policy.reaches(point) and self.observers.place() == "panel" and not self.policy.ignoring:
                scene = event_scene(
                    "breakpoint",
                    tap,
                    arrays,
                    condition.reason(tap, own),
                    firings,
                    self.policy.known,
                    self.policy.hits[point.number],
                    lanes,
                )
                stood |= self._stood(tap, scene, point)
            elif lanes and self.observers.place() != "panel":
                self._skipped(point)
        return stood

    def _stood(self, tap: Tap, scene: StopLocation, point: Point) -> bool:
        """Stop here. Return whether the program stood."""
        if self.observers.patience > 0:
            how, stop = self.stops.hold(scene, None, tap)
            if how != "unanswered":
                return stop is not None
        self._skipped(point)
        return False

    def _take_pause(self, tap: Tap | Bundle, arrays: Arrays) -> bool:
        """Take the pause that the user asked for. Return whether this firing takes it."""
        with self.stops.lock:
            on_mesh = collectives.runs_on_several(tap) and tap.nesting.on_each_device
            if on_mesh and not self._collective.is_here(tap, tap.coordinates_of(arrays), self._gate.reached(tap)):
                return False
            taken, self.policy.pausing = self.policy.pausing, False
            self.stops.opening = taken or self.stops.opening
            return taken

    def _claim(self, tap: Tap, arrays: Arrays, point: Point) -> bool:
        """Decide whether this firing of a breakpoint stops the program.

        Each device that runs the program comes to the breakpoint. The first device stands for all.
        """
        with self.stops.lock:
            if tap.nesting.on_each_device and not tap.nesting.conditional:
                count = self._gate.reached(tap)[tap.coordinates_of(arrays)]
                if self._released.get(tap, 0) >= count:
                    stands = False
                else:
                    self._released[tap] = count
                    stands = self._wants(point)
                    self.stops.opening = stands
                    self.stops.look()
            else:
                return self._wants(point)
        if not stands:
            self.stops.stand_with_others(tap)
            self.ending.at(tap, arrays)
        return stands

    def _wants(self, point: Point) -> bool:
        policy = self.policy
        policy.points[point.number] = point
        if not policy.reaches(point) or policy.ignoring:
            return False
        if policy.passing is not None:
            if policy.passing == point.number:
                return False
            policy.passing = None
        return True

    def _skipped(self, point: Point) -> None:
        with self.stops.lock:
            name = f" {point.name!r}" if point.name else ""
            what = f"{point.condition} (--break-on)" if point.number < 0 else f"breakpoint{name} at {point.where}"
            self.policy.is_in_job = self.observers.place() == "job"
            self.policy.skipped[what] += 1


def _name_in(expression: str) -> str:
    return expression if expression.isidentifier() else ""
