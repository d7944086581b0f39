"""End a program that the user stops or interrupts: at an event, at the same event on all its devices."""

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
    """Raises `Stopped` into the programs of a run that must end, and recognizes it in the error that XLA makes of it."""

    def __init__(self, stops: StopQueue, gate: Gate) -> None:
        self._stops, self._gate = stops, gate
        self._meeting = collectives.CollectiveStop()

    def begin(self) -> None:
        """Reset for a run that begins."""
        self._meeting = collectives.CollectiveStop()

    def at(self, tap: Tap | Bundle, arrays: tuple[np.ndarray, ...], stood_at: CallSite | None = None) -> None:
        """Raise into the program at this firing if the run must end and may end here.

        Args:
          stood_at: the site where the user saw the program stand, if it is not the first site that fires here.

        Raises:
          Stopped: the program ends here.
        """
        policy = self._stops.policy
        if policy.halted is None or policy.is_raised:
            return
        if collectives.runs_on_several(tap):
            if not tap.nesting.on_each_device:
                return  # The tap fires on one device for several; the program is ended before its next call.
            with self._stops.lock:
                if not self._meeting.is_here(tap, tap.coordinates_of(arrays), self._gate.reached(tap)):
                    return
        raise self.stopped(f"at {(stood_at or tap.site).where}")

    def before_call(self) -> None:
        """Raise if the run must end; called before a program is dispatched.

        If an interrupt was raised before, the user's code has handled it. Then the run goes on.

        Raises:
          Stopped: the run must end.
        """
        policy = self._stops.policy
        if policy.is_raised:
            with self._stops.lock:
                policy.halted, policy.ended, policy.is_raised = None, None, False
                self._stops.look()
        elif policy.halted is not None:
            raise self._raised_stop("before the next call")

    def stopped(self, where: str) -> Stopped:
        """Make the error to raise at this place, and note the place."""
        policy = self._stops.policy
        policy.ended = f"{policy.halted} {where}"
        return Stopped(policy.ended)

    def consequence(self, error: BaseException) -> BaseException:
        """Return the error that the caller of a program sees: `Stopped` if the run was ended, else the error itself."""
        policy = self._stops.policy
        if isinstance(error, Stopped) or policy.halted is None:
            policy.is_raised = policy.halted == "interrupted"
            return error
        if policy.ended is None and "KeyboardInterrupt" in str(error):
            # Python's own handler raised first, in a callback on the main thread.
            return self._raised_stop("in the program")
        if policy.ended is None or not policy.ends(error):
            return error
        policy.is_raised = policy.halted == "interrupted"
        return Stopped(policy.ended)

    def _raised_stop(self, where: str) -> Stopped:
        self._stops.policy.is_raised = self._stops.policy.halted == "interrupted"
        return self.stopped(where)
