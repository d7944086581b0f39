"""Run notebooks, export each function that they jit, and compare the bits.

Usage: `python -m tests.notebooks.exported [FILE …]`. This is not run for a change: it takes two minutes. Functions that
call the host are exported with stubs, and not run.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import nbformat
from IPython.core.interactiveshell import InteractiveShell

import jax_debug_widgets as jdw

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

MANY = ("09_many_processes.ipynb",)
"""The notebooks with programs that run in other processes."""


class Jitted:
    """The functions that a notebook has jitted and called, each with the arguments of its first call."""

    def __init__(self) -> None:
        self.called: dict[str, tuple[Any, Any, Any]] = {}
        """(cell, line, name) -> the jitted function and its arguments."""
        self._jit = jax.jit

    def jit(self, function: Any = None, **options: Any) -> Any:
        """Replace `jax.jit` while a notebook runs."""
        if function is None:
            return functools.partial(self.jit, **options)
        made = self._jit(function, **options)
        if getattr(function, "__module__", "") != "__main__" or not hasattr(function, "__code__"):
            return made

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            code = function.__code__
            key = f"{code.co_filename}:{code.co_firstlineno} {function.__name__}"
            self.called.setdefault(key, (made, *jax.tree.map(_kept, (args, kwargs))))
            return made(*args, **kwargs)

        for name in ("lower", "trace", "eval_shape", "clear_cache"):
            setattr(call, name, getattr(made, name))
        return call


def _kept(leaf: Any) -> Any:
    """Copy an array, as the call may donate it."""
    return leaf.copy() if isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer) else leaf


def run(path: Path) -> int:
    """Export the functions of a notebook and print the results; return how many failed or differ in a bit."""
    shell = InteractiveShell.instance()
    shell.reset(new_session=False)
    os.chdir(path.parent)
    jitted = Jitted()
    with mock.patch.object(jax, "jit", jitted.jit):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and cell.source.strip():
                shell.run_cell(cell.source, store_history=True, silent=False)
    jax.clear_caches()  # A global may have changed since the call: trace the original again, as the export does.
    return sum(not _is_exported(path.name, *one) for one in jitted.called.items())


def _is_exported(notebook: str, name: str, called: tuple[Any, Any, Any]) -> bool:
    function, args, kwargs = called
    with tempfile.TemporaryDirectory() as folder:
        try:
            exported = jdw.to_folder(function, *args, path=Path(folder) / "written", name="written", **kwargs)
            if not exported.hosts:
                exported.check()
        except Exception as error:  # noqa: BLE001 - printed below, for each function.
            print(f"FAILED {notebook} {name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            return False
        told = f"calls the host: {', '.join(exported.hosts)}" if exported.hosts else "equal to the bit"
        print(f"EXPORTED {notebook} {name.rpartition(' ')[2]}: {told}", file=sys.stderr, flush=True)
        return True


def main() -> int:
    """Export the notebooks on the command line; all notebooks by default."""
    paths = [Path(one).resolve() for one in sys.argv[1:]] or [one for one in NOTEBOOKS if one.name not in MANY]
    return min(sum(map(run, paths)), 1)


if __name__ == "__main__":
    sys.exit(main())
