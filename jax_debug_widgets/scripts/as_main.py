"""Run a program as `python` does: with the same `__main__`, `sys.argv` and `sys.path`.

The error messages for a missing program are Python's, too.
"""

from __future__ import annotations

import importlib.machinery
import io
import linecache
import os
import pkgutil
import runpy
import sys
from types import ModuleType

from jax_debug_widgets.scripts.command import Command

_NOT_FOUND = 2


class NoScriptError(SystemExit):
    """Raised when there is no file to run, after a message on stderr."""


def run_as_main(command: Command) -> None:
    """Run the program that the command names.

    Raises:
      SystemExit: there is no such program; message and exit status are those of Python.
    """
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __annotations__={})
    sys.argv = [command.target, *command.arguments]
    match command.kind:
        case "module":
            _put_first(os.getcwd())
            sys.argv[0] = "-m"
            sys.modules["__main__"] = main
            runpy._run_module_as_main(command.target)  # type: ignore[attr-defined] # noqa: SLF001 - what `python -m` does.
        case "code":
            _put_first("")
            sys.argv[0] = "-c"
            if sys.version_info >= (3, 13):  # Since Python 3.13 tracebacks show the lines of `-c`.
                lines = command.target.splitlines(keepends=True)
                linecache.cache["<string>"] = len(command.target), None, lines, "<string>"
            _execute(command.target, "<string>", main)
        case "stdin":
            _put_first("")
            main.__file__ = "<stdin>"
            _execute(sys.stdin.buffer.read(), "<stdin>", main)
        case "file":
            _run_file(command.target, main)


def _run_file(target: str, main: ModuleType) -> None:
    if pkgutil.get_importer(target) is not None:  # A folder or a zip file.
        _put_first(os.path.abspath(target))
        sys.modules["__main__"] = main
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined] # noqa: SLF001
        return
    path = os.path.abspath(target)
    try:
        with io.open_code(path) as file:
            text = file.read()
    except OSError as error:
        words = f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}"
        print(f"{sys.executable}: {words}", file=sys.stderr)
        raise NoScriptError(_NOT_FOUND) from None
    main.__file__, main.__loader__ = path, importlib.machinery.SourceFileLoader("__main__", path)
    main.__dict__["__cached__"] = None
    _put_first(os.path.dirname(os.path.realpath(path)))
    _execute(text, path, main)


def _execute(code: bytes | str, file: str, main: ModuleType) -> None:
    sys.modules["__main__"] = main
    exec(compile(code, file, "exec"), main.__dict__)


def _put_first(folder: str) -> None:
    """Make `folder` the first folder of modules, instead of the one for `python -m jax_debug_widgets`."""
    if not sys.flags.safe_path:
        sys.path[0] = folder
