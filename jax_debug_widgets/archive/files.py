"""Read the files of a run by name, from a folder or a zip file; nothing is written there."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from jax_debug_widgets.archive.layout import (
    FOLLOWED,
    INPUT,
    INPUTS,
    LIVE,
    OVERVIEW,
    PART,
    PROCESS,
    RUN,
    SITES,
    SOURCES,
    STATE,
    STOPPED,
    TABLES,
    WRITER,
    RunFileError,
)
from jax_debug_widgets.events.amounts import in_bytes

_MOST_TEXT = 256_000_000
"""The largest size of a JSON file that is read, in bytes."""


class VanishedError(RunFileError):
    """Raised when a file is gone that was there before: the process that writes the run has sealed or removed it."""


class Files(Protocol):
    """Reads the files of one run from where they are stored."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the entries of a folder; empty if there is no such folder."""
        ...

    def text(self, name: str) -> str | None:
        """Return the text of a file; None if there is no such file."""
        ...

    def stamp(self) -> object:
        """Return a value that differs after a file has changed."""
        ...

    def source(self, name: str) -> pa.NativeFile:
        """Open a file for reading with random access."""
        ...


def files_at(path: Path) -> Files:
    """Return the files of the run at this path.

    Raises:
      RunFileError: there is no run at this path.
    """
    if path.is_dir():
        files: Files = FolderFiles(path)
    elif path.is_file() and zipfile.is_zipfile(path):
        files = ZipFiles(path)
    else:
        why = "is neither a folder nor a zip file" if path.exists() else "does not exist"
        raise RunFileError(f"{path} {why}: `run.save(FILE)` and `--record FILE` write runs")
    if files.text(RUN) is None:
        raise RunFileError(f"{path} holds no run: it has no {RUN}")
    return files


class FolderFiles:
    """Reads the files of a run in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def stamp(self) -> object:
        """See `Files`."""
        stamps = []
        for path in sorted(path for path in self._folder.rglob("*") if path.name != FOLLOWED):
            with contextlib.suppress(OSError):
                status = path.stat()
                stamps.append((str(path), status.st_size, status.st_mtime_ns))
        return stamps

    def names(self, folder: str) -> list[str]:
        """See `Files`."""
        at = self._folder / folder
        return sorted(one.name for one in at.iterdir()) if at.is_dir() else []

    def text(self, name: str) -> str | None:
        """See `Files`."""
        path = self._folder / name
        if not _is_regular(path):
            return None
        if path.stat().st_size > _MOST_TEXT:
            raise RunFileError(f"{name} is larger than {in_bytes(_MOST_TEXT)}")
        return path.read_bytes().decode("utf-8", "replace")

    def source(self, name: str) -> pa.NativeFile:
        """See `Files`."""
        path = self._folder / name
        if not _is_regular(path):
            raise VanishedError(f"{name} is not a file")
        try:
            return pa.memory_map(str(path)) if path.stat().st_size else pa.BufferReader(b"")
        except FileNotFoundError:
            raise VanishedError(f"{name} no longer exists") from None


class ZipFiles:
    """Reads the files of a run in a zip file, as `run.save` writes it.

    Nothing is unpacked to disk, so a file name in the zip file cannot point outside.
    """

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path)
        own = [name for name in self._zip.namelist() if name == RUN or name.endswith(f"/{RUN}")]
        self._prefix = min(own, key=len, default=RUN).removesuffix(RUN)
        for entry in self._zip.infolist():
            if entry.compress_type != zipfile.ZIP_STORED:
                raise RunFileError(
                    f"{path} was packed by another program, which compressed it: unpack it, and load the folder"
                )

    def stamp(self) -> object:
        """See `Files`."""
        return len(self._zip.infolist())

    def names(self, folder: str) -> list[str]:
        """See `Files`."""
        before = f"{self._prefix}{folder}/" if folder else self._prefix
        own = (name.removeprefix(before) for name in self._zip.namelist() if name.startswith(before))
        return sorted({name.partition("/")[0] for name in own} - {""})

    def text(self, name: str) -> str | None:
        """See `Files`."""
        try:
            data = self._read(name, _MOST_TEXT)
        except KeyError:
            return None
        return data.decode("utf-8", "replace")

    def source(self, name: str) -> pa.NativeFile:
        """See `Files`."""
        return pa.BufferReader(self._read(name, None))

    def _read(self, name: str, most: int | None) -> bytes:
        entry = self._zip.getinfo(self._prefix + name)
        if entry.file_size != entry.compress_size or (most is not None and entry.file_size > most):
            raise RunFileError(f"{name} in the zip file is not as large as it says")
        try:
            return self._zip.read(entry)
        except (zipfile.BadZipFile, OSError, EOFError) as error:
            raise RunFileError(f"{name} in the zip file cannot be read: {error}") from None


def pack(folder: Path, target: Path) -> None:
    """Pack the folder of a run into one zip file, uncompressed, as the files in it are compressed already."""
    part = target.with_name(f".{target.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(folder).as_posix())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def copy_files(path: Path, target: Path, *, sources: bool, process: int | None = None) -> None:
    """Copy the files of a run, or those of one of its processes, to a new folder; other files are left out."""
    files = files_at(path)
    target.mkdir(mode=0o700, parents=True)
    processes = [name for name in files.names("") if PROCESS.fullmatch(name)]
    if process is not None:
        processes = [name for name in processes if name == f"p{process:05d}"]
    names = [
        RUN,
        *(f"{own}/{name}" for own in processes for name in (WRITER, SITES, STATE, STOPPED, *([SOURCES] * sources))),
    ]
    for own in processes:
        for table in (*TABLES, OVERVIEW, INPUTS):
            there = files.names(f"{own}/{table}")
            own_names = (PART, LIVE, INPUT)
            names += [f"{own}/{table}/{one}" for one in there if any(name.fullmatch(one) for name in own_names)]
    for name in names:
        with contextlib.suppress(VanishedError, KeyError), files.source(name) as source:
            copy = target / name
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(copy, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                while data := source.read(1 << 20):
                    file.write(data)
    if process is not None and processes:
        _as_one_process(target / processes[0] / WRITER)


def _as_one_process(about: Path) -> None:
    """Change the copied file to say that the run has one process, so that readers do not wait for others."""
    with contextlib.suppress(OSError, ValueError):
        content = json.loads(about.read_text())
        if isinstance(content, dict):
            about.write_text(json.dumps({**content, "processes": 1}))


def _is_regular(path: Path) -> bool:
    """Return whether the path is a regular file: no pipe or device, from which reading may never end."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
