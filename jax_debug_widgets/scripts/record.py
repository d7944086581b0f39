"""Record a script or a module that contains no code of this package."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events import Stopped
from jax_debug_widgets.scripts.after_import import after_import
from jax_debug_widgets.scripts.as_main import NoScriptError, run_as_main
from jax_debug_widgets.scripts.command import Command, UsageOfScriptError
from jax_debug_widgets.scripts.tracebacks import show_errors_of_the_script, show_errors_of_threads

if TYPE_CHECKING:
    from jax_debug_widgets.session import Recording

USAGE = """python -m jax_debug_widgets record FILE [options] train.py [arguments]
python -m jax_debug_widgets record FILE [options] -m package.train [arguments]

Runs the script as Python does, and writes what its compiled programs print, call back and compute into the folder FILE
(run.jdw), from where it imports JAX on. `jdw.load(FILE)` reads it, also while the script runs, and after it was killed.
Instead of a script: -m MODULE, -c CODE, - (stdin), a folder or a zip file (.pyz) with a __main__.py.
The options are those of %%jaxdebug: --watch NAMES, --every N, --name NAME, …; `record --help` lists them.
"""

WRONG_USAGE = 2


class _Recorded:
    """The recording of a script.

    It begins when the script has imported JAX, and ends after the script's threads and exit handlers.
    """

    def __init__(self, command: Command) -> None:
        self._command = command
        self._process = os.getpid()
        self._recording: Recording | None = None
        self._start: Callable[[], Recording]
        self.error: BaseException | None = None
        """The exception that the script has not caught."""
        self.is_interrupted = False
        self.has_run = True
        """False if there was nothing to run. A message on stderr tells the user."""

    def begin(self) -> None:
        """Begin the recording; called when the script has imported JAX."""
        from IPython.core.error import UsageError

        from jax_debug_widgets.magics.options import options_of_words
        from jax_debug_widgets.session import current_session

        if threading.current_thread() is not threading.main_thread():
            return
        command = self._command
        try:
            options = options_of_words([*command.options, "--record", command.file], echo_by_default=True)
        except UsageError as error:
            print(error, file=sys.stderr)
            self.has_run = False
            sys.exit(WRONG_USAGE)
        self._start = partial(current_session().start, command.title, options)
        self._begin()
        self._begin_anew_in_a_job()
        show_errors_of_threads()

    def _begin(self) -> None:
        self._recording = self._start()
        atexit.unregister(self._end)
        atexit.register(self._end)  # Handlers that are registered later run earlier, so they are recorded.

    def _begin_anew_in_a_job(self) -> None:
        """Begin again when the script joins a job of several processes: the processes record into one folder."""
        import jax

        join = jax.distributed.initialize

        @wraps(join)
        def initialize(*args: Any, **options: Any) -> None:
            if self._recording is None or not self._recording.discard():
                return join(*args, **options)
            try:
                return join(
                    *args, **options
                )  # Returns when all processes have called it: all have discarded their folders.
            finally:
                self._begin()

        jax.distributed.initialize = initialize

    def _end(self) -> None:
        if self._recording is not None and os.getpid() == self._process:
            error, self.error = self.error, None
            try:
                self._recording.finish(None if isinstance(error, SystemExit) else error)
            except Stopped:  # An interrupt that was not raised in the script.
                self.is_interrupted = True

    def print_summary(self) -> None:
        """Print the place of the recording after the end of the script."""
        if os.getpid() != self._process:
            return
        if self._recording is None:
            if not self.has_run:
                return
            sentence = "nothing was recorded: the script has not imported jax in its main thread"
        elif (folder := self._recording.folder) is not None:
            sentence = f"{self._recording.stopped or f'recorded into {folder};'} jdw.load({str(folder)!r}) reads it"
        else:
            sentence = "; ".join(line for line in self._recording.run.notes if "record" in line)
        with contextlib.suppress(OSError, ValueError, AttributeError):  # The script may have closed stderr.
            print(f"jaxdebug: {sentence}", file=sys.stderr)
        # Python exits by SIGINT only if the code executed last was interrupted; our exit handler was not.
        if self.is_interrupted:
            with contextlib.suppress(KeyboardInterrupt):
                exec("raise KeyboardInterrupt")


def record(words: Sequence[str]) -> int:
    """Run a script in a capture; return its exit status.

    Raises:
      BaseException: the script has raised it.
    """
    try:
        command = Command.of(words)
    except UsageOfScriptError as error:
        print(f"jaxdebug: {error}\n\n{USAGE}", file=sys.stderr)
        return WRONG_USAGE
    recorded = _Recorded(command)
    atexit.register(recorded.print_summary)
    after_import("jax", recorded.begin)
    try:
        run_as_main(command)
    except BaseException as error:
        recorded.error, recorded.is_interrupted = error, isinstance(error, KeyboardInterrupt)
        recorded.has_run = recorded.has_run and not isinstance(error, NoScriptError)
        show_errors_of_the_script()
        raise
    return 0
