"""Test files of runs that are torn at any byte, or made to exhaust memory or to read other files."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.archive import live as live_module
from jax_debug_widgets.archive.files import FolderFiles
from jax_debug_widgets.archive.layout import VERSION, RunFileError
from jax_debug_widgets.archive.row_ranges import OPEN, RowRange, TableReader
from jax_debug_widgets.archive.writer import RunWriter

GOLDEN = Path(__file__).parents[1] / f"run_cases/v{VERSION}.jdw"

BATCHES, BATCH = 3, 8
"""So many of so many events."""


@pytest.fixture
def live(tmp_path):
    """Return the folder of a live run of several batches."""
    with jdw.capture() as run:
        for i in range(BATCHES):
            jax.jit(lambda x: [jax.debug.print("{x} {i}", x=x, i=i) for i in range(BATCH)])(i)
    run.collect()
    writer = RunWriter(tmp_path / "live.jdw", {})
    for first in range(0, len(run.store), BATCH):
        for piece in run.store.kept():
            if piece.first < first + BATCH and first < piece.stop:
                writer.take([piece._replace(first=max(first, piece.first), stop=min(first + BATCH, piece.stop))])
    writer.close()
    return writer.folder


@pytest.mark.behaviour("W5")
@pytest.mark.parametrize("is_sealed", [False, True], ids=["live", "sealed"])
def test_two_thousand_torn_files_give_complete_batches_or_nothing(live, tmp_path, is_sealed):
    folder = jdw.load(live).save(tmp_path / "saved.jdw") if not is_sealed else sealed(tmp_path)
    files, (file,) = FolderFiles(folder), (folder / "p00000/events").iterdir()
    whole = RowRange(0, BATCHES * BATCH if is_sealed else OPEN)
    before = hashlib.sha256(file.read_bytes()).digest()
    assert len(TableReader().stretch(files, "p00000", "events", whole, [])) == BATCHES * BATCH
    assert hashlib.sha256(file.read_bytes()).digest() == before, "who reads writes nothing"
    found = []
    for size in range(file.stat().st_size - 1, 0, -max(file.stat().st_size // 2000, 1)):
        os.truncate(file, size)
        rows = TableReader().stretch(files, "p00000", "events", whole, problems := [])["seq"].to_pylist()
        assert rows == [*range(len(rows))] and len(rows) % BATCH == 0 and (problems or not is_sealed)
        found.append(len(rows))
    assert found == sorted(found, reverse=True) and len(found) > 1900
    assert {*found} == ({0} if is_sealed else {0, BATCH, 2 * BATCH})


@pytest.mark.behaviour("R3")
def test_a_growing_file_is_read_once_however_it_grows(live, monkeypatch):
    files, (file,) = FolderFiles(live), (live / "p00000/events").iterdir()
    data, whole, checked = file.read_bytes(), RowRange(0, OPEN), []
    seen = live_module.is_as_written
    monkeypatch.setattr(live_module, "is_as_written", lambda batch, told: checked.append(batch) or seen(batch, told))
    reader, found = TableReader(), []
    for size in [*range(0, len(data), 7), len(data)]:
        file.write_bytes(data[:size])
        rows = reader.stretch(files, "p00000", "events", whole, problems := [])
        assert rows["seq"].to_pylist() == [*range(len(rows))] and not problems
        found.append(len(rows))
    assert found == sorted(found) and {*found} == {0, BATCH, 2 * BATCH, 3 * BATCH}
    assert len(checked) == BATCHES
    reader.forget(2 * BATCH + 1)
    rows = reader.stretch(files, "p00000", "events", whole, problems)
    assert rows["seq"].to_pylist() == [*range(2 * BATCH + 1, 3 * BATCH)] and len(checked) == BATCHES


@pytest.mark.behaviour("R3")
def test_a_file_that_is_damaged_while_it_is_followed_gives_what_came_before(live):
    files, (file,) = FolderFiles(live), (live / "p00000/events").iterdir()
    data, whole, reader = file.read_bytes(), RowRange(0, OPEN), TableReader()
    file.write_bytes(data[: len(data) - 10])
    assert len(reader.stretch(files, "p00000", "events", whole, [])) == 2 * BATCH
    (*_, last) = (found.start() for found in re.finditer(rb"\x04\x22\x4d\x18", data))
    damaged = bytearray(data)
    damaged[last + 12] ^= 1
    file.write_bytes(damaged)
    anew = TableReader().stretch(files, "p00000", "events", whole, said := [])
    for _ in range(2):
        rows = reader.stretch(files, "p00000", "events", whole, problems := [])
        assert rows.equals(anew) and problems == said and len(rows) == 2 * BATCH
    file.write_bytes(data.replace(b"ordinal", b"ordinax"))
    other = TableReader()
    for _ in range(2):
        with pytest.raises(RunFileError, match="does not have the columns of its table"):
            other.stretch(files, "p00000", "events", whole, [])
    file.write_bytes(data[: len(data) // 2])
    shorter = TableReader().stretch(files, "p00000", "events", whole, [])
    assert reader.stretch(files, "p00000", "events", whole, []).equals(shorter) and len(shorter) < 2 * BATCH


def test_a_live_batch_that_cannot_be_unpacked_is_named(live):
    files, (file,) = FolderFiles(live), (live / "p00000/events").iterdir()
    data, whole = file.read_bytes(), RowRange(0, OPEN)
    (*_, last) = (found.start() for found in re.finditer(rb"\x04\x22\x4d\x18", data))
    second = [found.start() for found in re.finditer(rb"\x04\x22\x4d\x18", data[:last])][-3]
    for place in range(second, last, 7):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        problems: list[str] = []
        rows = TableReader().stretch(files, "p00000", "events", whole, problems)
        assert len(rows) == BATCHES * BATCH or "has changed since it was written" in "".join(problems)


@pytest.mark.parametrize(
    ("gone", "events", "calls", "said"),
    [
        ("events", 3, 3, "3 events of 0 to 5 cannot be read: files of p00000 are missing."),
        ("watched", 3, 3, "3 events of 0 to 5 cannot be read: files of p00000 are missing."),
        ("calls", 6, 0, "3 calls of 3 with events are not in the file."),
    ],
)
def test_other_files_are_read_if_some_are_missing(tmp_path, gone, events, calls, said):
    @jax.jit
    def doubled(x):
        y = x * 2
        jax.debug.print("y {}", y)
        return y

    with jdw.capture(watch="y") as run:
        for i in range(3):
            doubled(float(i))
    folder = run.save(tmp_path / "run.jdw")
    shutil.rmtree(folder / f"p00000/{gone}")
    loaded = jdw.load(folder)
    assert (len(loaded.events), len(loaded.calls), loaded.notes) == (events, calls, [said])
    assert loaded.series("y")[1].tolist() == [0.0, 2.0, 4.0] and not loaded.is_complete


def sealed(tmp_path):
    """Return the folder of a saved run with the same number of events."""
    with jdw.capture() as run:
        for i in range(BATCHES):
            jax.jit(lambda x: [jax.debug.print("{x} {i}", x=x, i=i) for i in range(BATCH)])(i)
    return run.save(tmp_path / "saved.jdw")


STRANGER = """
import resource, sys, jax_debug_widgets as jdw
def largest(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
jdw.load(sys.argv[1])
before = largest()
for folder in sys.argv[2:]:
    try:
        run = jdw.load(folder)
        print(len(run.events), *run.notes)
    except ValueError as error:
        print(type(error).__name__, error)
assert largest() - before < 100_000, largest() - before
"""


@pytest.mark.behaviour("W5")
def test_a_stranger_cannot_have_memory_or_files_by_saying_large_numbers(live, tmp_path):
    """A batch states the unpacked size of each buffer, and a file of inputs the number of elements of each array."""
    folders = []
    for number, length in enumerate((10 << 30, (1 << 63) - 1, -5)):
        shutil.copytree(live, folder := tmp_path / f"batch{number}")
        for file in folder.rglob("live-*"):
            data = bytearray(file.read_bytes())
            # The position of each LZ4 frame.
            for at in [found.start() - 8 for found in re.finditer(rb"\x04\x22\x4d\x18", data)]:
                data[at : at + 8] = length.to_bytes(8, "little", signed=True)
            file.write_bytes(data)
        folders.append(folder)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("a secret")
    shutil.copytree(GOLDEN, linked := tmp_path / "linked")
    (linked / "p00000/sources.jsonl").unlink()
    (linked / "p00000/sources.jsonl").symlink_to(elsewhere)
    (linked / "p00000/inputs").mkdir()
    (linked / "p00000/inputs/call-000000000000.parquet").symlink_to("/dev/zero")
    command = [sys.executable, "-c", STRANGER, str(GOLDEN), *map(str, [*folders, linked])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    *batches, of_linked = done.stdout.splitlines()
    assert all(line.startswith("0 ") for line in batches) and "secret" not in of_linked
