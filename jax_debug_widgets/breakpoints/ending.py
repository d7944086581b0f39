"""End a program that its user has had enough of: at an event, on all its devices at the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets.breakpoints import collectives
from jax_debug_widgets.events import Stopped

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets.breakpoints.stop_queue import StopQueue
    from jax_debug_widgets.events import Bundle, CallSite, Tap
    from jax_debug_widgets.taps.gate import Gate


class Ending:
    """Raises `Stopped` into programs of a run that is to end, and finds it again in what XLA makes of it."""

    def __init__(self, stops: StopQueue, gate: Gate) -> None:
        self._stops, self._gate = stops, gate
        self._meeting = collectives.CollectiveStop()

    def begin(self) -> None:
        """Another run begins."""
        self._meeting = collectives.CollectiveStop()

    def at(self, tap: Tap | Bundle, arrays: tuple[np.ndarray, ...], stood_at: CallSite | None = None) -> None:
        """Raise into the program at this firing, if it is to end and may end here.

        Args:
          stood_at: where its user has seen it stand, if not at the first of what fires here.

        Raises:
          Stopped: it ends.
        """
        policy = self._stops.policy
        if policy.halted is None or policy.told:
            return
        if collectives.runs_on_several(tap):
            if not tap.nesting.on_each_device:
                return  # It fires on one device for several; the program is ended before its next call.
            with self._stops.lock:
                if not self._meeting.is_here(tap, tap.coordinates_of(arrays), self._gate.reached(tap)):
                    return
        raise self.stopped(f"at {(stood_at or tap.site).where}")

    def before_call(self) -> None:
        """A program is about to be dispatched. If an interrupt was raised before, it was handled: the run goes on.

        Raises:
          Stopped: the run is to end.
        """
        policy = self._stops.policy
        if policy.told:
            with self._stops.lock:
                policy.halted, policy.ended, policy.told = None, None, False
                self._stops.look()
        elif policy.halted is not None:
            raise self._told("before the next call")

    def stopped(self, where: str) -> Stopped:
        """The error to raise at this place."""
        policy = self._stops.policy
        policy.ended = f"{policy.halted} {where}"
        return Stopped(policy.ended)

    def consequence(self, error: BaseException) -> BaseException:
        """The error that the caller of a program is to see: `Stopped`, if it was raised because the run was ended."""
        policy = self._stops.policy
        if isinstance(error, Stopped) or policy.halted is None:
            policy.told = policy.halted == "interrupted"
            return error
        if policy.ended is None and "KeyboardInterrupt" in str(error):
            # Python's own handler came before us, in a callback on the main thread.
            return self._told("in the program")
        if policy.ended is None or not policy.ends(error):
            return error
        policy.told = policy.halted == "interrupted"
        return Stopped(policy.ended)

    def _told(self, where: str) -> Stopped:
        self._stops.policy.told = self._stops.policy.halted == "interrupted"
        return self.stopped(where)
