"""The files of a run, in a folder or in a zip file: by their names, and never written."""

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
    TABLES,
    WRITER,
    RunFileError,
)
from jax_debug_widgets.events.amounts import in_bytes

_MOST_TEXT = 256_000_000
"""Bytes of one file of JSON."""


class VanishedError(RunFileError):
    """A file that was there is not: whoever writes the run has sealed or removed it."""


class Files(Protocol):
    """Where the files of a run are."""

    def names(self, folder: str) -> list[str]:
        """The names of what is in this folder, empty where there is none."""
        ...

    def text(self, name: str) -> str | None:
        """The text of a file; None where there is none."""
        ...

    def stamp(self) -> object:
        """A stamp of the files, which changes when one of them does."""
        ...

    def source(self, name: str) -> pa.NativeFile:
        """A file to be read from anywhere."""
        ...


def files_at(path: Path) -> Files:
    """The files of the run at this path.

    Raises:
      RunFileError: there is no run.
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
    """In a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def stamp(self) -> object:
        """See `Files`."""
        stamps = []
        for path in sorted(path for path in self._folder.rglob("*") if path.name != FOLLOWED):
            with contextlib.suppress(OSError):
                told = path.stat()
                stamps.append((str(path), told.st_size, told.st_mtime_ns))
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
    """In a zip file, as `run.save` writes it: nothing is unpacked, so no name leads anywhere."""

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
    """The folder of a run as one zip file, uncompressed: what is in it is compressed already."""
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
    """Copy the run at a path, or what one process has of it, to a new folder: the files that a run has, and no others."""
    files = files_at(path)
    target.mkdir(mode=0o700, parents=True)
    processes = [name for name in files.names("") if PROCESS.fullmatch(name)]
    if process is not None:
        processes = [name for name in processes if name == f"p{process:05d}"]
    names = [RUN, *(f"{own}/{name}" for own in processes for name in (WRITER, SITES, STATE, *([SOURCES] * sources)))]
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
    """Say that the run at which this process has written is one of its own: for others nobody waits."""
    with contextlib.suppress(OSError, ValueError):
        told = json.loads(about.read_text())
        if isinstance(told, dict):
            about.write_text(json.dumps({**told, "processes": 1}))


def _is_regular(path: Path) -> bool:
    """Whether it is a file whose reading ends: no pipe, no device."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
