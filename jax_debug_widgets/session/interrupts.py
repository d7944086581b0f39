"""End the running programs of a session when the kernel is interrupted; `breakpoints/interrupts.py` notices the interrupt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets.breakpoints import InterruptWatch

if TYPE_CHECKING:
    from jax_debug_widgets.session.observer import SessionObserver
    from jax_debug_widgets.session.ports import Interrupted


def interrupts_of(session: Interrupted, observer: SessionObserver) -> InterruptWatch:
    """Make the watch that handles interrupts for the programs of a session."""

    def interrupted() -> None:
        run = session.stoppable
        # After the code of a cell has returned, an interrupt ends only the wait for its effects.
        if run is not None and not run.life.has_returned:
            session.debugger.halt("interrupted")

    def before_handler() -> None:
        run = session.stoppable
        if run is not None and not run.life.has_returned:
            run.policy.is_raised = run.policy.halted == "interrupted"

    def is_in_program() -> bool:
        # On several devices the program must end on all of them, not only where the main thread happens to be.
        run = session.active
        if run is None or run.life.has_returned:
            return False
        is_pending = run.is_on_many_devices and bool(run.call_log.pending())
        return observer.in_many_devices > 0 or is_pending or run.policy.ended is not None

    def dropped() -> bool:
        run = session.stoppable
        if run is None or run.life.has_returned or run.policy.halted != "interrupted":
            return False
        run.policy.is_raised = False  # The next event, the next call or the end of the capture raises it again.
        return True

    return InterruptWatch(interrupted, is_in_program, before_handler, dropped)
