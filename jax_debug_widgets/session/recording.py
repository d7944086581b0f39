"""Conduct a run while it goes on: capture, send the news to the browser, and undo the capture at the end."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.native import numba_compiles
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted
from jax_debug_widgets._jax.running import dispatch
from jax_debug_widgets.events import Stopped
from jax_debug_widgets.session.panel.saving import Saving
from jax_debug_widgets.session.recorder import recorder_of
from jax_debug_widgets.session.run.loaded_notes import NUMBA_COMPILES
from jax_debug_widgets.session.run.report import of_what_was_not_found
from jax_debug_widgets.session.run.save import file_name
from jax_debug_widgets.transport import Pump
from jax_debug_widgets.widgets import has_front_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from jax_debug_widgets.session.ports import Recorded
    from jax_debug_widgets.session.run.run import Run

_CANNOT_END = (
    "outside a capture a program that may run on several devices goes on, without any more stops; "
    "under %%jaxdebug it is ended on all of them."
)

_TWINS = (
    "With exact=True each program runs as it is, and once more, watched, beside it: a call takes as long as both together, and "
    "memory for both. every=N runs the watched one in each N-th call only. jdw.verify says whether watching changes a result."
)

_UNSEEN_S = 2.0
"""Seconds between two collections of firings in a run without a panel, see `_UNSEEN_PAUSE_S`."""

_IDLE_PAUSE_S, _UNSEEN_PAUSE_S = 0.1, 0.5
"""Seconds until the next tick: if a panel shows the run and nothing was new, and if no panel shows it. A program that keeps
the CPU caches full loses 2 ms to a tick that does nothing, and 8 ms to a tick that collects. At 30 ticks a second that is
several percent."""

_MUCH = 20_000
"""If this number of times and arrays waits in the box, the next tick collects them, or they would fill the memory."""


class Recording:
    """Conducts a run while it goes on, and undoes the capture at its end.

    Args:
      captures: False for a run that only shows the breakpoints of programs compiled outside any capture.
    """

    def __init__(self, session: Recorded, run: Run, *, captures: bool = True) -> None:
        self.run = run
        self._session = session
        self._captures = captures
        self._is_finished = False
        self._keeping = ExitStack()
        if captures and run.options.kept_inputs:
            self._keeping.enter_context(session.input_hooks.in_place())
        if captures and run.settings.twin is not None:
            self._keeping.enter_context(session.twin_hooks.in_place())
            run.note(_TWINS)
        self._is_in_context = captures and features.available(features.CAPTURE)
        if self._is_in_context:
            session.contexts.enter(self, partial(session.capture.on, run.settings))
        self._outer_policy = session.debugger.begin(run.policy)
        self._taken_in = 0.0
        self._saving = Saving(run)
        before = len(run.noted)
        self._recorder = recorder_of(run, session.collect, lambda line: _print_without_a_front_end([line]))
        _print_without_a_front_end(run.noted[before:])
        if self._recorder is not None:
            run.file = file_name(self._recorder.folder)
        self._pump = Pump(self._tick)
        self._pump.start()

    @property
    def folder(self) -> Path | None:
        """The folder that the run is recorded into; None if it is not recorded."""
        return self._recorder and self._recorder.folder

    @property
    def stopped(self) -> str:
        """Why the recording into the folder has stopped before the run was over; empty if it has not."""
        return self._recorder.stopped if self._recorder is not None else ""

    def discard(self) -> bool:
        """End the run without a trace if nothing has run yet. Return whether it was ended."""
        if self.run.call_log.newest >= 0 or len(self.run.store):
            return False
        if self._recorder is not None:
            self._recorder.discard()
        self.finish()
        return True

    def finish(self, error: BaseException | None = None) -> None:
        """End the capture, and wait until the calls have drained, if the options ask for it.

        Args:
          error: the exception that left the captured code; None without one.

        Raises:
          KeyboardInterrupt: an interrupt has ended the wait. Stopped: an interrupt came before, and nothing has raised it.
        """
        if self._is_finished:  # The exit handler in `Session` may call this, too.
            return
        self._is_finished = True
        owed = self.take_interrupt() if error is None else None
        error = error or owed
        with ExitStack() as ends:  # All of them run, also if a signal handler raises; the last one comes first.
            if self._captures:
                ends.callback(self._session.interrupts.stop)
            ends.callback(uninterrupted()(self._close), error)
            ends.callback(self._forget_failed_tokens)
            ends.callback(uninterrupted()(self._session.stop), self.run)
            self._leave_and_wait(error)
        if owed is not None:
            raise owed

    def take_interrupt(self) -> Stopped | None:
        """Return the `Stopped` of an interrupt that nothing has raised yet; None if there is none.

        Nothing raises an interrupt that comes after the last event, or where Python drops exceptions.
        """
        policy = self.run.policy
        if not self._captures or policy.halted != "interrupted" or policy.is_raised:
            return None
        policy.ended, policy.is_raised = policy.ended or "interrupted after the last event", True
        return Stopped(policy.ended)

    def _leave(self, error: BaseException | None) -> None:
        """End the capture; called with the exception that left the captured code, None without one."""
        run = self.run
        if run.policy.job is not None:
            run.policy.job.close()
        note = self._session.contexts.leave(self) if self._is_in_context else ""
        self._keeping.close()
        if note:
            run.note(note)
        run.call_log.abandon_all(error)
        run.returned(error)

    def _leave_and_wait(self, error: BaseException | None) -> None:
        """End the capture, then wait for the effects, if the options ask for it. An interrupt ends the wait."""
        run = self.run
        try:
            with uninterrupted():  # An interrupt that comes here is raised at its end.
                self._leave(error)
            if run.options.barrier and not run.barrier(run.options.timeout):
                run.gave_up_waiting()
        except KeyboardInterrupt:
            if run.options.barrier:
                run.gave_up_waiting(interrupted=True)
            raise

    def _forget_failed_tokens(self) -> None:
        """Drop the tokens of an ended program. On several devices they would fail each later barrier."""
        if self.run.policy.ended is not None or (self.run.policy.halted is not None and self._captures):
            dispatch.forget_failed_tokens()

    def _close(self, error: BaseException | None) -> None:
        """Print the last notes, and send the last news to the panel."""
        run = self.run
        run.policy.over = run.is_over()
        for line in self._notes_on_stops(error):
            print(f"jaxdebug: {line}")  # noqa: T201 - it stays in the output where nobody sees a panel.
        if error is None and self._captures:
            _print_without_a_front_end(of_what_was_not_found(run))
        if self._outer_policy.halted is None and run.is_over():
            self._session.debugger.begin(self._outer_policy)
        if run.is_over():
            self._pump.stop()
            self._tick()
        else:
            # nbclient, which executes a notebook without a browser, ignores updates after the end of a cell.
            self._session.panels.refresh(run)

    def _notes_on_stops(self, error: BaseException | None) -> Iterator[str]:
        """Yield notes about breakpoints that were skipped or ended the program, unless an exception says the same."""
        policy = self.run.policy
        yield from policy.skipped_lines()
        if policy.ended is not None and error is None:  # On several devices no exception was raised.
            yield f"{policy.ended}. The program has ended."
        if policy.ended is None and policy.halted is not None and not self._captures:
            yield f"{policy.halted}: {_CANNOT_END}"

    def _tick(self) -> float | None:
        # Asked before collecting, so that the last batch has all firings until the effects have drained.
        over = self.run.is_over()
        (self.run.note if numba_compiles() else self.run.forget_note)(NUMBA_COMPILES)
        if not over and self._can_wait():
            return _UNSEEN_PAUSE_S
        self._session.collect()
        self._taken_in = time.monotonic()
        has_news = self._session.panels.send_news(self.run)
        if over or self._saving.is_due():
            self._saving.begin()
            self._session.panels.refresh(self.run)
            self._saving.end()
        if over and self._recorder is not None:
            self._recorder.finish()
        # The listing comes after the output: a front end that missed the output sees there that there is a newer one.
        self._session.listing.report(self.run, over=over)
        if over:
            return None
        return 0.0 if has_news else _IDLE_PAUSE_S

    def _can_wait(self) -> bool:
        """Whether a tick may skip collecting: no panel shows the run, and few firings have come since the last one."""
        if self._session.panels.shows(self.run) or time.monotonic() - self._taken_in > _UNSEEN_S:
            return False
        return self._session.collector.waiting(self.run) < _MUCH


def _print_without_a_front_end(lines: Iterable[str]) -> None:
    """Write lines to stderr that a panel would show; do nothing if there is a front end."""
    if has_front_end():
        return
    for line in lines:
        with suppress(OSError, ValueError, AttributeError):  # The program may have closed it.
            print(f"jaxdebug: {line}", file=sys.stderr)  # noqa: T201 - in a script there is no other output.
