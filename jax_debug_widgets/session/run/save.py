"""Write a run, over or not, to a folder or a zip file."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.compat.processes import own_number
from jax_debug_widgets.archive import RunFileError
from jax_debug_widgets.session.run import saved
from jax_debug_widgets.session.run.input_files import write_inputs

if TYPE_CHECKING:
    from jax_debug_widgets.archive.writer import RunWriter

ZIP = ".zip"


def save(run: saved.Written, path: str | PathLike[str], *, sources: bool) -> Path:
    """See `Run.save`."""
    require_pyarrow("run.save()")
    return _saved(path, lambda folder: _write(run, folder, sources=sources))


def save_copy(file: Path, path: str | PathLike[str], *, sources: bool, process: int | None) -> Path:
    """Copy the file of a run, or the part of one process, to a folder or a zip file. The source may be either too."""
    from jax_debug_widgets.archive.files import copy_files

    return _saved(path, lambda folder: copy_files(file, folder, sources=sources, process=process))


def file_name(path: Path) -> str:
    """Return the name of a file for a command in the working directory."""
    whole, here = path.absolute(), Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def _saved(path: str | PathLike[str], write: Callable[[Path], None]) -> Path:
    from jax_debug_widgets.archive.files import pack

    target = Path(path).expanduser()
    _refuse_overwriting(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        write(part)
        if target.suffix == ZIP:
            pack(part, target)
        else:
            part.replace(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _write(run: saved.Written, folder: Path, *, sources: bool) -> None:
    writer = begin(run, folder)
    run.collect()
    pieces = run.store.kept()
    if pieces:
        writer.begin_at(pieces[0].first)
    for piece in pieces:
        writer.take([piece])
    writer.take_calls(run.call_log.calls()[0])
    writer.take_spans(run.call_log.spans.since(0))
    if sources:
        writer.take_sources(saved.sources(run))
    write_inputs(run, writer)
    writer.write_state(saved.state(run))
    writer.seal()
    writer.close()


def begin(run: saved.Written, folder: Path, *, processes: int = 1) -> RunWriter:
    """Make the writer of a new folder, for the part of the run in this process. `processes` processes write to the folder."""
    from jax_debug_widgets.archive.writer import RunWriter

    package = import_module("jax_debug_widgets").__version__
    return RunWriter(folder, {**saved.about(run, package), "processes": processes}, process=own_number())


def _refuse_overwriting(target: Path) -> None:
    """Refuse to overwrite a run, because it may be the only copy.

    Raises:
      RunFileError: the path exists.
    """
    if target.exists():
        raise RunFileError(f"{target} is there already: choose another name, or remove it")


def require_pyarrow(wanted: str) -> None:
    """Refuse to go on without pyarrow; the error says what to install.

    Raises:
      ImportError: pyarrow is not installed.
    """
    try:
        import_module("pyarrow")
    except ImportError as error:
        msg = f'{wanted} needs pyarrow: pip install "jax-debug-widgets[record]"'
        raise ImportError(msg) from error
