"""The capture of the cell that is running: begun by its first line, ended when it is done or before its traceback."""

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
from jax_debug_widgets.magics.options import parse
from jax_debug_widgets.session import snapshot_of
from jax_debug_widgets.widgets import summary

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jax_debug_widgets.session import Options, Recording, Run, Session


class CellCapture:
    """The captures that `%%jaxdebug` and `%jaxdebug on` have begun and not ended."""

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self._shell = shell
        self._session = session
        self._depth = 0
        self._cells: list[tuple[int, Recording]] = []
        """The captured cells that are running, each in the one before, with how deep they are."""
        self._lasting: Recording | None = None
        self._uncaptured: Recording | None = None
        self._undo_watching: Callable[[], None] | None = None
        self._told: tuple[BaseException | None, str | None] = None, None
        """The error with which a capture has ended in this cell, and how its user has ended that, if so."""
        self._late: Stopped | None = None
        """The interrupt of a cell whose code is over; nothing has raised it there."""
        self.calls = CallWatch(lambda: session.active)

    @property
    def lasting(self) -> Recording | None:
        """The capture that `%jaxdebug on` began."""
        return self._lasting

    def has_panels(self) -> bool:
        """Whether outputs can be more than text: a kernel, as opposed to a terminal."""
        return getattr(self._shell, "kernel", None) is not None

    def enter(self, line: str, title: str) -> None:
        """The first line of a `%%jaxdebug` cell."""
        options, rest = parse(line, echo_by_default=not self.has_panels(), expand=self._shell.var_expand)
        if rest:
            from IPython.core.error import UsageError

            raise UsageError(f"jaxdebug: {rest!r} is no option; the code goes on the lines below %%jaxdebug")
        show_the_magic(sys._getframe(1).f_code.co_filename, line)
        recording = self.begin(title, options)
        recording.run.is_called_by_its_call = True
        self._cells.append((self._depth, recording))

    def begin(self, title: str, options: Options) -> Recording:
        """Begin a capture and show its panel, if there can be one."""
        recording = self._session.start(title, options)
        if not self.has_panels():  # A panel shows its notes from the start.
            unseen = unwatched(recording.run.policy.conditions)
            for line in (note for note in recording.run.notes if note in unseen):
                print(f"jaxdebug: {line}")
        return self._shown(recording)

    def begin_uncaptured(self, title: str) -> None:
        """A program that no capture has compiled stops: begin a run for it that ends with the cell. From any thread."""
        self._uncaptured = self._shown(self._session.start_uncaptured(title))

    def end_uncaptured(self, error: BaseException | None) -> None:
        """The cell is over; what it has dispatched may stand at a breakpoint yet."""
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
            ) as error:  # The front end is not built, say: the cell ends here, and so must the capture.
                recording.finish(error)
                raise
        return recording

    def end(self, recording: Recording, error: BaseException | None, tell: Callable[[Run], str] | None = None) -> None:
        """End a capture; print what `tell` says of it, or without a panel what it saw.

        Raises:
          Stopped: the program was interrupted, and nothing has raised that.
        """
        self._told = error, self._how_it_was_ended(error)
        try:
            recording.finish(error)
        except Stopped as stopped:
            self._told = stopped, str(stopped)
            raise
        except KeyboardInterrupt:
            pass  # The cell is over: what it ends is the wait, and the panel says so.
        finally:
            if tell is not None:
                print(tell(recording.run))
            elif not self.has_panels():
                print(summary(snapshot_of(recording.run, lines=False), lines=0))

    def switch_on(self, options: Options) -> None:
        """`%jaxdebug on`: capture from now on."""
        self._lasting = self.begin("%jaxdebug on", options)

    def switch_off(self) -> None:
        """`%jaxdebug off`."""
        if self._lasting is not None:
            recording, self._lasting = self._lasting, None
            self.end(recording, None)

    def show_errors_without_our_frames(self) -> None:
        """Until the cell is over: the barrier comes before the traceback, and the traceback is the user's alone."""
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
            finally:  # Whatever goes wrong here, the user's error is shown.
                if stopped is None:
                    show(*args, **kwargs)
                else:
                    self._show_the_end(stopped, error)

        def undo() -> None:
            self._undo_watching = None
            self._told = None, None
            if vars(self._shell).get("showtraceback") is show_error:
                del self._shell.showtraceback
                if own is not None:
                    self._shell.showtraceback = own

        self._shell.showtraceback = show_error
        self._undo_watching = undo

    def _show_the_end(self, how: str, error: BaseException | None) -> None:
        """XLA's traceback says nothing of what the user has asked for."""
        line = f"jaxdebug: {how}. The program has ended; the kernel is as it was."
        _render_as(line, error)
        self._shell._showtraceback(Stopped, Stopped(how), [line])

    def after_cell(self, result: Any) -> None:
        """IPython's `post_run_cell`: a cell that was interrupted has failed, so those behind it do not run."""
        stopped, self._late = self._late, None
        if stopped is not None and result.success:
            result.error_in_exec = stopped

    def end_all(self) -> None:
        """The extension goes: end every capture."""
        while self._cells:
            self.end(self._cells.pop()[1], None)
        self.switch_off()
        self.end_uncaptured(None)
        if self._undo_watching is not None:
            self._undo_watching()

    def before_execution(self) -> None:
        """IPython's `pre_execute`; a cell may run other cells."""
        self._depth += 1

    def after_execution(self) -> None:
        """IPython's `post_execute`."""
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
        """The automatic barrier at the end of a cell under `%jaxdebug on`."""
        try:
            if run.options.barrier and not run.barrier(run.options.timeout):
                run.gave_up_waiting()
        except KeyboardInterrupt:
            run.gave_up_waiting(interrupted=True)

    def _leave(self, error: BaseException | None) -> None:
        """The cell that is running ends, if it is a captured one."""
        if self._cells and self._depth <= self._cells[-1][0]:
            _, recording = self._cells.pop()
            self.end(recording, error)

    def _fail(self, error: BaseException | None) -> None:
        """The cell that is running ends with this error."""
        self._leave(error)
        if self._depth <= 1:
            self.end_uncaptured(error)

    def _how_it_was_ended(self, error: BaseException | None) -> str | None:
        """A sentence, if `error` is there because the user ended the program."""
        if error is not None and error is self._told[0]:  # That of `%jaxdebug f(x)` is over before its error is shown.
            return self._told[1]
        if error is None or self._session.stoppable is None:
            return None
        shown = self._session.observer.failed(error)
        return str(shown) if isinstance(shown, Stopped) else None


def _render_as(line: str, error: Any) -> None:
    """Set what IPython keeps of `error` in its history; to make a traceback for it takes the first time up to a second."""
    with contextlib.suppress(AttributeError):
        error._render_traceback_ = lambda: [line]


def show_the_magic(file: str, line: str) -> None:
    """Let tracebacks show the cell's first line as it was written (as a comment, so that it still parses)."""
    entry = linecache.cache.get(file)
    if entry is not None and len(entry) > 1 and entry[2]:
        lines = entry[2]
        lines[0] = f"# {MAGIC} {line}".rstrip() + "\n"


def without_our_frames(error: BaseException) -> None:
    """Take our frames out of the tracebacks of `error` and of what it came from."""
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
        frames.pop()  # JAX's, in which ours was called.
    after = None
    for one in reversed(frames):
        one.tb_next, after = after, one
    return after


def _file_of(traceback: TracebackType) -> str:
    return traceback.tb_frame.f_code.co_filename
