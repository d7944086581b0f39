"""Write a traced function as a package of Python files, see `jax_debug_widgets.to_folder`."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from html import escape
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.collecting import without_full_collecting
from jax_debug_widgets._jax.origins.context import uncached
from jax_debug_widgets._jax.studies.export.package import FunctionText, runtime_text, stored, write_package
from jax_debug_widgets._jax.studies.programs import program_of
from jax_debug_widgets._jax.studies.trace import trace
from jax_debug_widgets.graphs import Diff, Program, computes_the_same, diff
from jax_debug_widgets.session.studies.asked import require_function
from jax_debug_widgets.session.studies.export_check import ExportCheck, first_that_differs, ran
from jax_debug_widgets.session.studies.export_files import host_text, readme_text, test_text
from jax_debug_widgets.session.studies.programs import lines_of, reading_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.session import Session

_MARK = ".jaxdebug-export.json"
"""The file that marks an exported folder, with the digests of its files."""

MOST_EXAMPLE_BYTES = 256 * 2**20
"""The most bytes of arguments that are written beside the program."""


class ExportError(NotImplementedError):
    """Raised for a program that cannot be written; `reasons` has one for each equation."""

    def __init__(self, name: str, reasons: Sequence[str]) -> None:
        self.reasons = list(reasons)
        listed = "\n".join(f"  {one}" for one in self.reasons)
        super().__init__(f"{name} cannot be exported; nothing is written. What stands in the way:\n{listed}")


class FolderError(ValueError):
    """Raised for a folder that must not be written."""


class Exported:
    """A function that was written as a package.

    Attributes:
      path: the folder of the package.
      name: the name of the function in the package.
      notes: the parts that are written in another way than JAX traced them.
      hosts: the names of functions in `host.py` that the user has to fill in.
    """

    def __init__(
        self, path: Path, written: FunctionText, retraced: Callable[[ModuleType], tuple[Program, bool]]
    ) -> None:
        self.path, self.name, self.notes = path, written.name, list(written.notes)
        self.hosts = [one.name for one in written.hosts]
        self._written, self._retraced = written, retraced
        self._again, self._is_same = retraced(self.load())

    @cached_property
    def difference(self) -> Diff:
        """The difference between the written program and the function's; unused equations do not count."""
        return diff(self._written.program, self._again, dead=False)

    @property
    def is_same(self) -> bool:
        """Whether the module computes the same as the function, by the same operations, as it was written."""
        return self._is_same

    def load(self) -> ModuleType:
        """Load the package as it is in the folder now, as a module that is not in `sys.modules`."""
        name = f"_jaxdebug_exported_{next(_COUNT)}"
        spec = importlib.util.spec_from_file_location(
            name, self.path / "__init__.py", submodule_search_locations=[str(self.path)]
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"there is no package in {self.path}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        # After an edit within a second that keeps the file's size, Python would use the old compiled file.
        keeps_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            spec.loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = keeps_none
            for one in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
                del sys.modules[one]
        return module

    @property
    def function(self) -> Callable[..., Any]:
        """The function, as it is in the folder now."""
        return getattr(self.load(), self.name)

    def check(self) -> ExportCheck:
        """Run the function and the package, both jitted, on the arguments of the export; compare the results bit by bit.

        The results of the function are written to `expected.npz`, for the folder's own test.

        Raises:
          AssertionError: a result is not equal bit by bit. NotImplementedError: host functions that run are not filled in yet.
        """
        call, function = self._written.call, self.function

        def results_of(called: Callable[..., Any]) -> Sequence[Any]:
            return jax.jit(partial(call.on_leaves, called))(*map(_copied, call.arrays()))

        is_filled = not self.hosts or (self.path / "host.py").read_text(encoding="utf-8") != host_text(self._written)
        expected = results_of(call.function)
        found = ran(partial(results_of, function), () if is_filled else self.hosts)
        if (place := first_that_differs(expected, found)) is not None:
            with uncached():
                is_stale = first_that_differs(results_of(call.function), found) is None
            sentence = f"result {place} of {self.name} is not equal to the bit"
            raise AssertionError(f"{sentence}; {_STALE}" if is_stale else sentence)
        _save(self.path / "expected.npz", [f"r{place}" for place in range(len(expected))], expected)
        again, is_same = self._retraced(self.load())
        return ExportCheck(self.name, len(found), is_same, diff(self._written.program, again, dead=False))

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return f'<pre class="jaxdebug-program">{escape(repr(self))}</pre>'

    def _otherwise(self) -> str:
        """Describe how the written program differs. The notes explain the parts that differ on purpose."""
        if self.notes:
            return f"traced again it has other equations, as said below ({self.difference.headline})"
        return f"not the same program: {self.difference.headline}"

    def _lines(self) -> list[str]:
        verdict = "the same program" if self.is_same else self._otherwise()
        lines = [f"{self.name} is in {self.path}: {verdict}"]
        lines += [f"fill in {one} in host.py: it runs on the host, where JAX cannot see it" for one in self.hosts]
        return [*lines, *self.notes, *self._path_lines(), f"from {self.path.name} import {self.name}", _CHECKED]

    def _path_lines(self) -> list[str]:
        """Return the line that makes the folder known to `import`; empty if it is known."""
        parent = self.path.parent.resolve()
        is_known = parent in {Path(one or ".").resolve() for one in sys.path}
        return [] if is_known else [f"import sys; sys.path.insert(0, {str(parent)!r})"]


_STALE = "of the original, traced anew, it is: JAX runs it as it was traced before something that it reads has changed"


_CHECKED = "# check() of what this command has returned (in IPython: _.check()) runs both and compares the bits"


_COUNT = itertools.count(1)


def _copied(leaf: Any) -> Any:
    """Copy a leaf to a new array, because the function may donate its arguments."""
    return jax.numpy.array(leaf, copy=True) if isinstance(leaf, jax.Array | np.ndarray) else jax.numpy.asarray(leaf)


@without_full_collecting()
def export(
    session: Session,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    path: str | PathLike[str],
    *,
    name: str | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write `function`, as it is traced for these arguments, into a folder; see `jax_debug_widgets.to_folder`.

    Raises:
      ExportError: the program cannot be written. FolderError: the folder's name cannot be the name of a package, or the folder
        exists and is not an export, or was edited.
      Exception: the error that tracing the function raises.
    """
    if why := features.why_off(features.STEPPING):
        raise NotImplementedError(why)
    require_function(function)
    folder = Path(path).expanduser().absolute()
    if not folder.name.isidentifier():
        raise FolderError(f"a package is called like a variable, which {folder.name!r} is not")
    _may_write(folder, overwrite=overwrite)
    capture = session.capture
    reading = reading_of(capture)
    with capture.explaining():
        written = write_package(function, args, kwargs, partial(lines_of, capture), reading, name)
    if written.refused:
        raise ExportError(written.name, written.refused)
    if not overwrite:
        _refuse_another(folder, written.name)
    _write(folder, written)

    def retraced(module: ModuleType) -> tuple[Program, bool]:
        """Trace the written function. Return its program, and whether it computes the same as the original."""
        own = getattr(module, written.name)

        def arrays_of(*arrays: Any) -> list[Any]:
            return written.call.on_leaves(own, *arrays)

        arrays_of.__name__ = written.name
        with capture.explaining():
            found = trace(arrays_of, written.call.operands(), {}, None, whole_numbers=True)
            again = program_of(found, replace(reading, names_of=lambda *_: {}))
            if computes_the_same(written.program, again):
                return again, True
            # With names, equations of the two programs can be matched where the programs differ.
            found = trace(arrays_of, written.call.operands(), {}, lambda *_: None, whole_numbers=True)
            again = program_of(found, reading)
            return again, computes_the_same(written.program, again)

    return Exported(folder, written, retraced)


def _may_write(folder: Path, *, overwrite: bool) -> None:
    """Raise if a folder has files that an export did not write, or that were edited since."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        files = json.loads((folder / _MARK).read_text())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        raise FolderError(f"{folder} is there, and this did not write it: choose another folder") from None
    edited = [one for one, written in files.items() if (folder / one).exists() and _digest(folder / one) != written]
    if edited and not overwrite:
        raise FolderError(f"{', '.join(edited)} in {folder} was edited: choose another folder, or overwrite=True")


def _refuse_another(folder: Path, name: str) -> None:
    """Raise if a folder has the export of a function with another name."""
    init = folder / "__init__.py"
    there = init.read_text(encoding="utf-8") if init.exists() else ""
    if there and there != _init_text(name):
        raise FolderError(
            f"{folder} has another function ({there.strip()}): choose another folder, or --overwrite (overwrite=True)"
        )


def _init_text(name: str) -> str:
    return f"from .module import {name} as {name}\n"


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def _write(folder: Path, written: FunctionText) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "__init__.py": _init_text(written.name),
        "module.py": written.module,
        "_runtime.py": runtime_text(),
        "README.md": readme_text(folder.name, written),
        "test_program.py": test_text(folder.name, written),
    }
    if written.hosts:
        texts["host.py"] = host_text(written)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for stale in {"host.py", "constants.npz", "example.npz", "expected.npz"} - set(texts):
        (folder / stale).unlink(missing_ok=True)
    if written.constants:
        _savez(folder / "constants.npz", written.constants)
    arrays = written.call.arrays()
    if all(not isinstance(one, jax.ShapeDtypeStruct) for one in arrays) and _size(arrays) <= MOST_EXAMPLE_BYTES:
        _save(folder / "example.npz", [f"x{place}" for place in range(len(arrays))], arrays)
    ours = sorted(one.name for one in folder.iterdir() if one.name in {*texts, "constants.npz", "example.npz"})
    mark = {"made_by": "jax_debug_widgets", "files": {one: _digest(folder / one) for one in ours}}
    (folder / _MARK).write_text(json.dumps(mark, indent=1), encoding="utf-8")


def _size(arrays: Sequence[Any]) -> int:
    return sum(getattr(one, "nbytes", 8) for one in arrays)


def _save(path: Path, names: Sequence[str], arrays: Sequence[Any]) -> None:
    _savez(path, dict(stored(name, one) for name, one in zip(names, arrays, strict=True)))


def _savez(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    write: Any = np.savez
    write(path, **arrays)
