"""Take the breakpoints of programs that no capture has compiled, and wait for such programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets._jax.running import dispatch
from jax_debug_widgets.breakpoints import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from jax_debug_widgets._jax.origins.equation import DebugCall
    from jax_debug_widgets.breakpoints import Debugger
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.run.waiter import Waiter
    from jax_debug_widgets.taps import Capture

_TIME_TO_END = 1.0
"""Seconds in which a program that is interrupted at a breakpoint has ended."""


class UncapturedPrograms:
    """Programs that were compiled outside any capture; `stoppable` gives the run that takes their breakpoints."""

    def __init__(
        self, capture: Capture, debugger: Debugger, waiter: Waiter, stoppable: Callable[[], Run | None]
    ) -> None:
        self._capture, self._debugger, self._waiter, self._stoppable = capture, debugger, waiter, stoppable

    def fire(self, equation: DebugCall, arrays: tuple[np.ndarray, ...]) -> None:
        """Record that such a program has come to `jax.debug.breakpoint()`, and stop there.

        Raises:
          Stopped: its user has ended it.
        """
        run = self._stoppable()
        if run is None:
            return  # Its cell has just ended.
        try:
            self._capture.fire(equation, arrays, run.settings)
        except Stopped:
            raise
        except KeyboardInterrupt:
            self._debugger.policy.halted = "interrupted"
            place = f"{self._capture.sites.name_file(equation.frame.file)}:{equation.frame.line}"
            raise self._debugger.ending.stopped(f"at {place}") from None

    def settle(self) -> None:
        """Wait until what this thread has dispatched is over, or until an interrupt has ended what it can."""
        dispatched = dispatch.pending_tokens()
        try:
            self._waiter.wait(dispatched, None)
        except KeyboardInterrupt:
            self._waiter.wait(dispatched, _TIME_TO_END)
