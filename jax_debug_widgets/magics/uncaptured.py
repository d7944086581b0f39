"""Open breakpoints in the panel also for programs that no capture has compiled, while the extension is loaded in a kernel."""

from __future__ import annotations

import contextvars
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.running.uncaptured import UncapturedBreakpoints

if TYPE_CHECKING:
    import numpy as np
    from IPython.core.interactiveshell import InteractiveShell

    from jax_debug_widgets._jax.origins.equation import DebugCall
    from jax_debug_widgets.magics.capture_cell import CellCapture
    from jax_debug_widgets.session import Run, Session


class UncapturedCells:
    """Shows such breakpoints in a run of the running cell, between `put_in` and `take_out`. A terminal keeps JAX's prompt."""

    def __init__(self, shell: InteractiveShell, session: Session, cells: CellCapture) -> None:
        self._shell, self._session, self._cells = shell, session, cells
        self._in_place = ExitStack()
        self._opening = threading.Lock()
        self._context = contextvars.copy_context()
        """The context of the running cell. XLA's threads have none, so that their outputs would belong to no cell."""
        self._depth = 0
        self._run_before: Run | None = None
        self._has_any = False
        """Whether a program that still runs at the end of a cell may reach a breakpoint."""

    def put_in(self) -> None:
        """Take JAX's breakpoints."""
        if not (self._cells.has_panels() and features.available(features.UNCAPTURED)):
            return
        events = self._shell.events
        for event, ours in (("pre_execute", self._cell_begins), ("post_execute", self._cell_ends)):
            events.register(event, ours)
            self._in_place.callback(events.unregister, event, ours)
        self._in_place.enter_context(UncapturedBreakpoints(self._fired, self._made).in_place())
        if self._shell.display_trap.is_active:  # The cell that loads the extension is still running.
            self._cell_begins()

    def take_out(self) -> None:
        """Give JAX's breakpoints back."""
        self._in_place.close()
        self._depth = min(self._depth, 1)
        self._cell_ends()

    def _made(self) -> None:
        self._has_any = True

    def _fired(self, equation: DebugCall, arrays: tuple[np.ndarray, ...]) -> None:
        self._made()
        with self._opening:
            if self._session.stoppable is None:
                title = f"breakpoint at {self._session.capture.sites.line_of(equation.frame)}"
                self._context.copy().run(self._cells.begin_uncaptured, title)
        self._session.uncaptured.fire(equation, arrays)

    def _cell_begins(self) -> None:
        self._depth += 1  # A cell may run other cells.
        if self._depth == 1:
            self._context = contextvars.copy_context()
            self._run_before = self._session.current
            # Begin before any program runs: when one stops, the main thread may be inside XLA and could not begin.
            self._session.interrupts.start(handles=False)

    def _cell_ends(self) -> None:
        if self._depth == 1:
            # If the cell had a capture, the capture has waited already.
            captured = self._session.active is not None or self._session.current is not self._run_before
            if self._has_any and not captured:
                self._session.uncaptured.settle()
            self._cells.end_uncaptured(None)
            self._session.interrupts.stop(handles=False)
        self._depth = max(self._depth - 1, 0)
