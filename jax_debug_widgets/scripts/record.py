"""Record a script, or a module, that knows nothing of it."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING

from jax_debug_widgets.scripts.after_import import after_import

if TYPE_CHECKING:
    from jax_debug_widgets.session import Recording

USAGE = """python -m jax_debug_widgets record FILE [options] train.py [arguments]
python -m jax_debug_widgets record FILE [options] -m package.train [arguments]

Runs the script as Python does, and writes what its compiled programs print, call back and compute into the folder FILE
(run.jdw), from where it imports JAX on. `jdw.load(FILE)` reads it, also while the script runs, and after it was killed.
The options are those of %%jaxdebug: --watch NAMES, --every N, --name NAME, …; `%jaxdebug help` lists them.
"""

FLAGS = frozenset(
    {
        "--echo", "--no-echo", "--no-debug", "--barrier", "--no-barrier", "--prompt", "--watch-all", "--watch-ops", "--values",
        "--histogram", "--lanes",
    }
)  # fmt: skip
"""The options without a value. JAX is imported by those who parse them, and the script is found before."""

WRONG_USAGE = 2


class UsageOfScriptError(Exception):
    """The command line says nothing that can be done."""


@dataclass(frozen=True)
class Command:
    """What a command line asks for.

    Attributes:
      file: the folder to record into.
      options: the words of the options.
      is_module: whether `target` is the name of a module; else it is the path of a script.
      arguments: what the script finds after its own name.
    """

    file: str
    options: tuple[str, ...]
    target: str
    is_module: bool
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Command:
        """The command that these words are.

        Raises:
          UsageOfScriptError: there is no script among them.
        """
        file, *rest = words or [""]
        if not file or file.startswith("-"):
            raise UsageOfScriptError("say where to record, and which script")
        count = 0
        while count < len(rest) and rest[count].startswith("--"):
            count += 1 if rest[count] in FLAGS or "=" in rest[count] else 2
        options, target = tuple(rest[:count]), rest[count:]
        is_module = target[:1] == ["-m"]
        target = target[is_module:]
        if not target:
            raise UsageOfScriptError("say which script to run")
        return cls(file, options, target[0], is_module, tuple(target[1:]))


class _Recorded:
    """The recording of a script: it begins when that has imported JAX."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._recording: Recording | None = None

    def begin(self) -> None:
        """JAX is there."""
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
            sys.exit(WRONG_USAGE)
        self._recording = current_session().start(os.path.basename(command.target), options)

    def end(self, error: BaseException | None) -> str:
        """The script is over: what to tell of its run."""
        if self._recording is None:
            return "nothing was recorded: the script has not imported jax in its main thread"
        self._recording.finish(error)
        run = self._recording.run
        lines = [note for note in run.notes if "record" in note]
        folder = self._recording.folder
        return "; ".join(lines) if folder is None else f"recorded into {folder}; jdw.load({str(folder)!r}) reads it"


def record(words: Sequence[str]) -> int:
    """Run a script in a capture; its exit status.

    Raises:
      SystemExit: the script has raised it.
    """
    try:
        command = Command.of(words)
    except UsageOfScriptError as error:
        print(f"jaxdebug: {error}\n\n{USAGE}", file=sys.stderr)
        return WRONG_USAGE
    recorded, error = _Recorded(command), None
    try:
        after_import("jax", recorded.begin)
        (_run_module if command.is_module else _run_script)(command)
    except BaseException as raised:
        error = raised
        if isinstance(raised, SystemExit | KeyboardInterrupt):
            raise
        _show(raised)
        return 1
    finally:
        told = recorded.end(None if isinstance(error, SystemExit) else error)
        with contextlib.suppress(OSError, ValueError, AttributeError):  # The script may have closed it.
            print(f"jaxdebug: {told}", file=sys.stderr)
    return 0


def _show(error: BaseException) -> None:
    """The traceback, as the script alone would have shown it."""
    if "jax" in sys.modules:
        from jax_debug_widgets.magics.capture_cell import without_our_frames

        without_our_frames(error)
    else:
        while error.__traceback__ is not None and __package__ in error.__traceback__.tb_frame.f_globals.get(
            "__name__", ""
        ):
            error.__traceback__ = error.__traceback__.tb_next
    sys.excepthook(type(error), error, error.__traceback__)


def _run_module(command: Command) -> None:
    sys.argv = [command.target, *command.arguments]
    sys.path[0] = os.getcwd()
    runpy.run_module(command.target, run_name="__main__", alter_sys=True)


def _run_script(command: Command) -> None:
    """As `python train.py` does: the script is `__main__`, also for what it leaves behind."""
    path = os.path.abspath(command.target)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec")
    module = ModuleType("__main__")
    module.__file__, module.__loader__ = path, SourceFileLoader("__main__", path)
    module.__dict__.update(__builtins__=__builtins__, __cached__=None, __annotations__={})
    sys.modules["__main__"] = module
    sys.argv = [command.target, *command.arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    exec(code, module.__dict__)
