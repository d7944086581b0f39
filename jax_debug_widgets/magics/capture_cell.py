"""Capture the running cell: its first line begins the capture, which ends with the cell or before its traceback."""

from __future__ import annotations

import contextlib
import linecache
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.origins.frames import is_ours, is_users
from jax_debug_widgets.breakpoints import unwatched
from jax_debug_widgets.events import Stopped
from jax_debug_widgets.magics.calls import CallWatch
from jax_debug_widgets.magics.cell import MAGIC
from jax_debug_widgets.magics.options import help_of_options, parse
from jax_debug_widgets.session import snapshot_of
from jax_debug_widgets.widgets import summary

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jax_debug_widgets.session import Options, Recording, Run, Session


class CellCapture:
    """Begins and ends the captures of `%%jaxdebug` and `%jaxdebug on`."""

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self._shell = shell
        self._session = session
        self._depth = 0
        self._cells: list[tuple[int, Recording]] = []
        """The captured cells that are running, each inside the one before, with the depth of nesting."""
        self._lasting: Recording | None = None
        self._uncaptured: Recording | None = None
        self._undo_watching: Callable[[], None] | None = None
        self._ending: tuple[BaseException | None, str | None] = None, None
        """The error of a capture that ended in this cell, and a sentence about how the user ended it; None otherwise."""
        self._late: Stopped | None = None
        """The interrupt of a cell that came after the cell's code; nothing has raised it there."""
        self.calls = CallWatch(lambda: session.active)

    @property
    def lasting(self) -> Recording | None:
        """The capture that `%jaxdebug on` began; None if it is not on."""
        return self._lasting

    def has_panels(self) -> bool:
        """Whether outputs can be more than text: in a kernel, not in a terminal."""
        return getattr(self._shell, "kernel", None) is not None

    def enter(self, line: str, title: str) -> None:
        """Begin the capture of a cell. The first line of a `%%jaxdebug` cell calls it."""
        options, rest = parse(line, echo_by_default=not self.has_panels(), expand=self._shell.var_expand)
        if rest:
            from IPython.core.error import UsageError

            flag = f"--{rest.split()[0].lstrip('-')}"
            is_flag = flag in help_of_options().replace(",", " ").split()
            meant = f"did you mean {flag}? The" if is_flag else "the"
            raise UsageError(f"jaxdebug: {rest!r} is no option; {meant} code goes on the lines below %%jaxdebug")
        show_the_magic(sys._getframe(1).f_code.co_filename, line)
        recording = self.begin(title, options)
        recording.run.is_called_by_its_call = True
        self._cells.append((self._depth, recording))

    def begin(self, title: str, options: Options) -> Recording:
        """Begin a capture, and show its panel in a kernel."""
        recording = self._session.start(title, options)
        if not self.has_panels():  # A panel would show these notes at once.
            unseen = unwatched(recording.run.policy.conditions)
            for line in (note for note in recording.run.notes if note in unseen):
                print(f"jaxdebug: {line}")
        return self._shown(recording)

    def begin_uncaptured(self, title: str) -> None:
        """Begin a run for a breakpoint in a program that no capture has compiled; it ends with the cell. From any thread."""
        self._uncaptured = self._shown(self._session.start_uncaptured(title))

    def end_uncaptured(self, error: BaseException | None) -> None:
        """End the run of breakpoints outside captures, after the cell. Its programs may still stand at a breakpoint."""
        if self._uncaptured is not None:
            self._session.uncaptured.settle()
            recording, self._uncaptured = self._uncaptured, None
            self.end(recording, error)

    def _shown(self, recording: Recording) -> Recording:
        self.show_errors_without_our_frames()
        if self.has_panels():
            try:
                recording.run.panel.show()
            except (
                BaseException
            ) as error:  # For example, the front end is not built: the cell ends here, and so must the capture.
                recording.finish(error)
                raise
        return recording

    def end(
        self, recording: Recording, error: BaseException | None, text_of: Callable[[Run], str] | None = None
    ) -> None:
        """End a capture. Print what `text_of` makes of its run; without `text_of` and without a panel, print a summary.

        Raises:
          Stopped: the program was interrupted, and nothing has raised it.
        """
        self._ending = error, self._how_it_was_ended(error)
        try:
            recording.finish(error)
        except Stopped as stopped:
            self._ending = stopped, str(stopped)
            raise
        except KeyboardInterrupt:
            pass  # The cell's code is over. The interrupt ends only the wait, and the panel says so.
        finally:
            if text_of is not None:
                print(text_of(recording.run))
            elif not self.has_panels():
                print(summary(snapshot_of(recording.run, lines=False), lines=0))

    def switch_on(self, options: Options) -> None:
        """Capture from now on, for `%jaxdebug on`."""
        self._lasting = self.begin("%jaxdebug on", options)

    def switch_off(self) -> None:
        """End the capture of `%jaxdebug on`, if it is on."""
        if self._lasting is not None:
            recording, self._lasting = self._lasting, None
            self.end(recording, None)

    def show_errors_without_our_frames(self) -> None:
        """Until the cell is over, wait at the barrier before a traceback, and show only the user's frames in it."""
        if self._undo_watching is not None:
            return
        show, own = self._shell.showtraceback, vars(self._shell).get("showtraceback")

        def show_error(*args: Any, **kwargs: Any) -> None:
            error = sys.exc_info()[1]
            stopped = None
            try:
                if error is not None:
                    without_our_frames(error)
                stopped = self._how_it_was_ended(error)
                self._fail(error)
            finally:  # The user's error must be shown, also if something fails here.
                if stopped is None:
                    show(*args, **kwargs)
                else:
                    self._show_the_end(stopped, error)

        def undo() -> None:
            self._undo_watching = None
            self._ending = None, None
            if vars(self._shell).get("showtraceback") is show_error:
                del self._shell.showtraceback
                if own is not None:
                    self._shell.showtraceback = own

        self._shell.showtraceback = show_error
        self._undo_watching = undo

    def _show_the_end(self, how: str, error: BaseException | None) -> None:
        """Show one line instead of the traceback, which would be XLA's and not about the user's wish to end."""
        line = f"jaxdebug: {how}. The program has ended; the kernel is as it was."
        _render_as(line, error)
        self._shell._showtraceback(Stopped, Stopped(how), [line])

    def after_cell(self, result: Any) -> None:
        """Mark an interrupted cell as failed, so that the cells after it do not run. For IPython's `post_run_cell`."""
        stopped, self._late = self._late, None
        if stopped is not None and result.success:
            result.error_in_exec = stopped

    def end_all(self) -> None:
        """End every capture, because the extension is unloaded."""
        while self._cells:
            self.end(self._cells.pop()[1], None)
        self.switch_off()
        self.end_uncaptured(None)
        if self._undo_watching is not None:
            self._undo_watching()

    def before_execution(self) -> None:
        """Note that a cell begins, which may run inside another cell. For IPython's `pre_execute`."""
        self._depth += 1

    def after_execution(self) -> None:
        """End the capture of the cell, or wait at its barrier. For IPython's `post_execute`."""
        try:
            if self._cells:
                self._leave(None)
            elif self._lasting is not None:
                self._wait_for(self._lasting.run)
                if (stopped := self._lasting.take_interrupt()) is not None:
                    raise stopped
        except Stopped as stopped:
            self._show_the_end(str(stopped), stopped)
            self._late = stopped
        finally:
            self._depth = max(self._depth - 1, 0)
            if self._depth == 0:
                self.calls.clear()
                if self._lasting is None and self._undo_watching is not None:
                    self._undo_watching()

    def _wait_for(self, run: Run) -> None:
        """Wait at the automatic barrier at the end of a cell under `%jaxdebug on`."""
        try:
            if run.options.barrier and not run.barrier(run.options.timeout):
                run.gave_up_waiting()
        except KeyboardInterrupt:
            run.gave_up_waiting(interrupted=True)

    def _leave(self, error: BaseException | None) -> None:
        """End the capture of the cell that ends, if it is captured."""
        if self._cells and self._depth <= self._cells[-1][0]:
            _, recording = self._cells.pop()
            self.end(recording, error)

    def _fail(self, error: BaseException | None) -> None:
        """End the captures of the cell that ends with this error."""
        self._leave(error)
        if self._depth <= 1:
            self.end_uncaptured(error)

    def _how_it_was_ended(self, error: BaseException | None) -> str | None:
        """Return a sentence if `error` comes from the user's ending of the program; None otherwise."""
        if (
            error is not None and error is self._ending[0]
        ):  # `%jaxdebug f(x)` ends its capture before its error is shown.
            return self._ending[1]
        if error is None or self._session.stoppable is None:
            return None
        shown = self._session.observer.failed(error)
        return str(shown) if isinstance(shown, Stopped) else None


def _render_as(line: str, error: Any) -> None:
    """Set the traceback that IPython keeps of `error` in its history. Making a real one may take up to a second."""
    with contextlib.suppress(AttributeError):
        error._render_traceback_ = lambda: [line]


def show_the_magic(file: str, line: str) -> None:
    """Let tracebacks show the cell's first line as it was written, as a comment, so that the source still parses."""
    entry = linecache.cache.get(file)
    if entry is not None and len(entry) > 1 and entry[2]:
        lines = entry[2]
        lines[0] = f"# {MAGIC} {line}".rstrip() + "\n"


def without_our_frames(error: BaseException) -> None:
    """Remove this package's frames from the tracebacks of `error`, its causes and its contexts."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        one = queue.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = _stripped(one.__traceback__)
            queue += [one.__cause__, one.__context__]


def _stripped(traceback: TracebackType | None) -> TracebackType | None:
    frames, ends_with_us = [], False
    while traceback is not None:
        ends_with_us = is_ours(_file_of(traceback))
        if not ends_with_us:
            frames.append(traceback)
        traceback = traceback.tb_next
    while ends_with_us and frames and not is_users(_file_of(frames[-1])):
        frames.pop()  # Frames of JAX that called this package.
    after = None
    for one in reversed(frames):
        one.tb_next, after = after, one
    return after


def _file_of(traceback: TracebackType) -> str:
    return traceback.tb_frame.f_code.co_filename
