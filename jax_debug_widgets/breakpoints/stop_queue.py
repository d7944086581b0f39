"""Open one stop at a time: its thread waits here, and the threads of the program's other devices wait with it."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING

from jax_debug_widgets.breakpoints import collectives
from jax_debug_widgets.breakpoints.console import Console
from jax_debug_widgets.breakpoints.policy import Policy
from jax_debug_widgets.breakpoints.run_observers import LEASE, RunObservers
from jax_debug_widgets.breakpoints.stop import Ended, Replaceable, Stop, StopLocation

if TYPE_CHECKING:
    from jax_debug_widgets.events import Bundle, Tap
    from jax_debug_widgets.taps.gate import Gate


class StopQueue:
    """Holds the open stop. At most one stop is open; a thread that reaches another stop waits for its turn.

    Attributes:
      stop: the open stop; None without one.
      console: the console of the open stop; None without one.
      version: a number that grows when the stop changes.
      policy: the policy of the current run.
      opening: whether a thread is about to stop. Other devices then wait as if the stop were open.
      lock: guards all of these.
    """

    def __init__(self, gate: Gate, observers: RunObservers) -> None:
        self.stop: Stop | None = None
        self.console: Console | None = None
        self.version = 0
        self.policy = Policy()
        self.opening = False
        self.lock = threading.Condition()
        self._gate, self._observers = gate, observers
        self._numbers = itertools.count(1)
        self._held = 0

    def look(self) -> None:
        """Close the gate if the debugger must look at each firing, else open it. Call it with the lock."""
        policy = self.policy
        busy = self.stop is not None or self.opening
        self._gate.close(bool(policy.conditions) or policy.pausing or policy.halted is not None or busy)

    def touch(self) -> None:
        """Note that the stop has changed, so that it is sent to the browser again."""
        self.version += 1

    def hold(
        self, scene: StopLocation, replaceable: Replaceable | None = None, tap: Tap | None = None
    ) -> tuple[Ended, Stop | None]:
        """Stop here until the program may go on. Return why it goes on, and the stop; None if the run does not stop."""
        stop = self._opened(scene, replaceable, tap)
        return ("all", None) if stop is None else (self._wait(stop), stop)

    def leave(self) -> None:
        """Give up a stop that was about to open."""
        with self.lock:
            self.opening = False
            self.look()
            self.lock.notify_all()

    def stand_with_others(self, tap: Tap | Bundle) -> None:
        """Wait while a stop of another device is open, so that none is alone in a collective."""
        with self.lock:
            if self.stop is None and not self.opening:
                return
            self._held += 1
            self._limit(tap)
            try:
                while self.stop is not None or self.opening:
                    self.lock.wait()
            finally:
                self._held -= 1

    def _limit(self, tap: Tap | Bundle) -> None:
        """Let the stop end in time for devices that may be waiting in a collective."""
        if self.stop is not None:
            self.stop.warning = collectives.warning(tap, self._held + 1)
            self.stop.hold_for(collectives.standing_time() if self.stop.warning else None)
            self.version += 1

    def _opened(self, scene: StopLocation, replaceable: Replaceable | None, tap: Tap | None) -> Stop | None:
        with self.lock:
            while self.stop is not None:
                self.lock.wait()
            policy = self.policy
            if policy.halted is not None or (policy.ignoring and scene.kind != "pause"):
                self.leave()
                return None
            patience = self._observers.patience
            stop = Stop(next(self._numbers), scene, replaceable, policy.timeout, patience, LEASE)
            stop.keep_lane(policy.lane)
            self.stop, self.console, self.opening = stop, Console(stop), False
            if tap is not None and collectives.runs_on_several(tap):
                self._limit(tap)
            self.look()
        self.touch()
        return stop

    def _wait(self, stop: Stop) -> Ended:
        try:
            how = stop.wait()
        except BaseException:
            # An interrupt in the main thread ends the stop for all threads.
            stop.resume("quit")
            raise
        finally:
            with self.lock:
                if self.console is not None:
                    self.console.close()
                self.stop = self.console = None
                self._after(stop)
                self.look()
                self.lock.notify_all()
            self.touch()
        return how

    def _after(self, stop: Stop) -> None:
        """Apply what the end of a stop means for the run."""
        policy, scene = self.policy, stop.scene
        policy.resumed_ns = time.perf_counter_ns()
        policy.lane = stop.chosen_lane or policy.lane
        match stop.ended:
            case "next":
                policy.passing = scene.site
            case "all":
                policy.ignoring = True
            case "quit":
                policy.halted = policy.halted or "stopped"
            case "unanswered":
                self._observers.unanswered()
            case "closed":
                policy.notes[f"{scene.reason}: the page was closed, and the program went on."] += 1
            case "timeout":
                policy.notes[
                    f"{scene.reason}: nobody continued it for {stop.timeout:g} s, so the program went on."
                ] += 1
            case "collectives":
                why = f"the program went on because its other devices were waiting; {collectives.ADVICE}"
                policy.notes[f"{scene.reason}: {why}."] += 1
