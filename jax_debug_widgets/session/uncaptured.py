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
"""Seconds to wait for the end of a program that was interrupted at a breakpoint."""


class UncapturedPrograms:
    """Handles programs compiled outside any capture. `stoppable` returns the run that takes their breakpoints."""

    def __init__(
        self, capture: Capture, debugger: Debugger, waiter: Waiter, stoppable: Callable[[], Run | None]
    ) -> None:
        self._capture, self._debugger, self._waiter, self._stoppable = capture, debugger, waiter, stoppable

    def fire(self, equation: DebugCall, arrays: tuple[np.ndarray, ...]) -> None:
        """Record that a program compiled outside any capture has reached `jax.debug.breakpoint()`, and stop there.

        Raises:
          Stopped: the user has ended the program.
        """
        run = self._stoppable()
        if run is None:
            return  # The cell of the program has just ended.
        try:
            self._capture.fire(equation, arrays, run.settings)
        except Stopped:
            raise
        except KeyboardInterrupt:
            self._debugger.policy.halted = "interrupted"
            place = f"{self._capture.sites.name_file(equation.frame.file)}:{equation.frame.line}"
            raise self._debugger.ending.stopped(f"at {place}") from None

    def settle(self) -> None:
        """Wait until the calls of this thread are over; after an interrupt, wait at most `_TIME_TO_END` more."""
        dispatched = dispatch.pending_tokens()
        try:
            self._waiter.wait(dispatched, None)
        except KeyboardInterrupt:
            self._waiter.wait(dispatched, _TIME_TO_END)
