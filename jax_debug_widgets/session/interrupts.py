"""End what an interrupt of the kernel is to end: see `breakpoints/interrupts.py`, which hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets.breakpoints import InterruptWatch

if TYPE_CHECKING:
    from jax_debug_widgets.session.observer import SessionObserver
    from jax_debug_widgets.session.ports import Interrupted


def interrupts_of(session: Interrupted, observer: SessionObserver) -> InterruptWatch:
    """Hear of interrupts for the programs of a session."""

    def interrupted() -> None:
        run = session.stoppable
        # When the code of a cell is over, an interrupt ends the wait for its effects, and nothing else.
        if run is not None and not run.life.has_returned:
            session.debugger.halt("interrupted")

    def told() -> None:
        run = session.stoppable
        if run is not None and not run.life.has_returned:
            run.policy.told = run.policy.halted == "interrupted"

    def is_in_program() -> bool:
        # On several devices it must end on all of them, and not where the main thread happens to be.
        run = session.active
        if run is None or run.life.has_returned:
            return False
        is_pending = run.is_on_many_devices and bool(run.call_log.pending())
        return observer.in_many_devices > 0 or is_pending or run.policy.ended is not None

    def dropped() -> bool:
        run = session.stoppable
        if run is None or run.life.has_returned or run.policy.halted != "interrupted":
            return False
        run.policy.told = False  # The next event raises it, the next call, or the end of the capture.
        return True

    return InterruptWatch(interrupted, is_in_program, told, dropped)
