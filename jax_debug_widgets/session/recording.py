"""A run while it is going on: captured, told to the browser as it happens, and undone at its end."""

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

_NUMBA_COMPILES = (
    "Numba is compiling the functions that read values from compiled programs. This takes some 10 seconds, once for this "
    "environment; the program starts after that."
)

_TWINS = (
    "With exact=True each program runs as it is, and once more, watched, beside it: a call takes as long as both together, and "
    "memory for both. every=N runs the watched one in each N-th call only. jdw.verify says whether watching changes a result."
)

_UNSEEN_S = 2.0
"""Between two looks at what has fired in a run without a panel, see `_UNSEEN_PAUSE_S`."""

_IDLE_PAUSE_S, _UNSEEN_PAUSE_S = 0.1, 0.5
"""Until the next tick where a panel shows the run and nothing was new, and where none does. A program that keeps caches full
loses two milliseconds to a tick that does nothing, eight to one that looks: 30 times a second that is percents."""

_MUCH = 20_000
"""Times and arrays that wait to be taken in; what comes faster does not wait for the next look, or it would fill the memory."""


class Recording:
    """A run while it is going on: what has to be undone at its end.

    Args:
      captures: False for one that only shows where programs compiled without us stop.
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
        self._recorder = recorder_of(run, session.collect)
        _say_without_a_front_end(run.noted[before:])
        if self._recorder is not None:
            run.file = file_name(self._recorder.folder)
        self._pump = Pump(self._tick)
        self._pump.start()

    @property
    def folder(self) -> Path | None:
        """The folder that the run is recorded into; None if it is not, or could not be."""
        return self._recorder and self._recorder.folder

    def discard(self) -> bool:
        """End it without a trace, if nothing has run yet; whether that is so."""
        if self.run.call_log.newest >= 0 or len(self.run.store):
            return False
        if self._recorder is not None:
            self._recorder.discard()
        self.finish()
        return True

    def finish(self, error: BaseException | None = None) -> None:
        """Capture no more, and wait until what was dispatched has drained, if the options say so.

        Raises:
          KeyboardInterrupt: an interrupt has ended the wait. Stopped: one came before, and nothing has raised it.
        """
        if self._is_finished:  # When the interpreter ends, see `Session`.
            return
        self._is_finished = True
        owed = self.take_interrupt() if error is None else None
        error = error or owed
        with ExitStack() as ends:  # Each runs, whatever a signal's handler has raised before; the last first.
            if self._captures:
                ends.callback(self._session.interrupts.stop)
            ends.callback(uninterrupted()(self._close), error)
            ends.callback(self._forget_failed_tokens)
            ends.callback(uninterrupted()(self._session.stop), self.run)
            self._leave_and_wait(error)
        if owed is not None:
            raise owed

    def take_interrupt(self) -> Stopped | None:
        """The `Stopped` of an interrupt that was raised nowhere: after the last event, or where Python drops exceptions."""
        policy = self.run.policy
        if not self._captures or policy.halted != "interrupted" or policy.told:
            return None
        policy.ended, policy.told = policy.ended or "interrupted after the last event", True
        return Stopped(policy.ended)

    def _leave(self, error: BaseException | None) -> None:
        """Capture no more."""
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
        """Capture no more, then wait for the effects, if the options say so; an interrupt ends the wait."""
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
        """On several devices the program ends while we go on; what it leaves would fail each later barrier."""
        if self.run.policy.ended is not None or (self.run.policy.halted is not None and self._captures):
            dispatch.forget_failed_tokens()

    def _close(self, error: BaseException | None) -> None:
        """Say what is to be said, and tell the panel the last of it."""
        run = self.run
        run.policy.over = run.is_over()
        for line in self._last_words(error):
            print(f"jaxdebug: {line}")  # noqa: T201 - what stays where no panel is seen.
        if error is None and self._captures:
            _say_without_a_front_end(of_what_was_not_found(run))
        if self._outer_policy.halted is None and run.is_over():
            self._session.debugger.begin(self._outer_policy)
        if run.is_over():
            self._pump.stop()
            self._tick()
        else:
            # Who executes a notebook without a browser (nbclient) takes no later update: the cell is over for it.
            self._session.panels.refresh(run)

    def _last_words(self, error: BaseException | None) -> Iterator[str]:
        """Yield notes about what became of breakpoints, as far as nothing else says so."""
        policy = self.run.policy
        yield from policy.skipped_lines()
        if policy.ended is not None and error is None:  # On several devices it raised nowhere.
            yield f"{policy.ended}. The program has ended."
        if policy.ended is None and policy.halted is not None and not self._captures:
            yield f"{policy.halted}: {_CANNOT_END}"

    def _tick(self) -> float | None:
        # Asked before collecting: what fires until the effects have drained must be in the last batch.
        over = self.run.is_over()
        (self.run.note if numba_compiles() else self.run.forget_note)(_NUMBA_COMPILES)
        if not over and self._can_wait():
            return _UNSEEN_PAUSE_S
        self._session.collect()
        self._taken_in = time.monotonic()
        has_told = self._session.panels.send_news(self.run)
        if over or self._saving.is_due():
            self._saving.begin()
            self._session.panels.refresh(self.run)
            self._saving.end()
        if over and self._recorder is not None:
            self._recorder.finish()
        # After the output: a front end that has not got that sees here that there is a newer one.
        self._session.listing.tell(self.run, over=over)
        if over:
            return None
        return 0.0 if has_told else _IDLE_PAUSE_S

    def _can_wait(self) -> bool:
        """Whether no panel shows what a tick would tell, and little has come since the last one."""
        if self._session.panels.shows(self.run) or time.monotonic() - self._taken_in > _UNSEEN_S:
            return False
        return self._session.collector.waiting(self.run) < _MUCH


def _say_without_a_front_end(lines: Iterable[str]) -> None:
    """Write to stderr what a panel would show, where there is none: in a script."""
    if has_front_end():
        return
    for line in lines:
        with suppress(OSError, ValueError, AttributeError):  # The program may have closed it.
            print(f"jaxdebug: {line}", file=sys.stderr)  # noqa: T201 - who runs a script sees nothing else.
