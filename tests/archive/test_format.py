"""Test that files of each version of the format are read, and that torn, newer or hostile files have a clear error."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pickle
import re
import shutil
import zipfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import jax_debug_widgets as jdw
from jax_debug_widgets.archive import RunFileError, reader, tables
from jax_debug_widgets.archive.checksums import is_as_written, with_checksum
from jax_debug_widgets.archive.layout import VERSION, part_name
from jax_debug_widgets.archive.reader import RunReader
from jax_debug_widgets.archive.tables import write_part
from jax_debug_widgets.archive.writer import RunWriter
from jax_debug_widgets.events import Call
from jax_debug_widgets.store import Budget
from tests.archive.programs import bits
from tests.run_cases.make_case import described

CASES = Path(__file__).parents[1] / "run_cases"


@pytest.fixture
def golden(tmp_path):
    """Return a copy of the golden folder that the test may damage."""
    return Path(shutil.copytree(CASES / f"v{VERSION}.jdw", tmp_path / "run.jdw"))


def changed(path, change):
    """Apply `change` to a JSON file, or to each line of a JSONL file."""
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    path.write_text("\n".join(json.dumps(change(json.loads(line))) for line in lines) + "\n")


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_a_run_of_each_version_of_the_format_is_read(version):
    run = jdw.load(CASES / f"v{version}.jdw")
    assert described(run) == json.loads((CASES / f"v{version}.expected.json").read_text())
    assert (run.name, run.config) == ("golden", {"lr": 0.1})


def test_a_newer_version_is_refused_with_what_to_do(golden):
    changed(golden / "run.json", lambda about: {**about, "version": 99, "writer": "7.1"})
    with pytest.raises(ValueError, match=r"written by jax-debug-widgets 7\.1, in a newer format .* upgrade"):
        jdw.load(golden)


def test_unknown_columns_files_and_fields_are_ignored(golden):
    (path,) = (golden / "p00000/events").iterdir()
    table = parquet.read_table(path)
    parquet.write_table(table.append_column("colour", pa.array(["red"] * len(table))), path)
    (golden / "p00000/events/notes.txt").write_text("?")
    (golden / "p00000/inputs").mkdir()
    for name in ("run.json", "p00000/sites.jsonl", "p00000/state.json"):
        changed(golden / name, lambda data: {**data, "unknown": [1]})
    assert len(jdw.load(golden).events) == 15


def without(folder, missing):
    """Rewrite the table of calls without these columns."""
    for path in (folder / "p00000/calls").iterdir():
        table = parquet.read_table(path)
        parquet.write_table(table.drop_columns([name for name in missing if name in table.column_names]), path)


def test_optional_columns_of_calls_may_be_missing_in_older_files(golden):
    without(golden, later := {field.name for field in dataclasses.fields(Call) if field.default is None})
    assert {"run", "numba", "function"} <= later
    calls = jdw.load(golden).calls
    assert len(calls) > 0
    assert all(getattr(call, name) is None for call in calls for name in later)
    without(golden, {"thread"})
    assert "does not have the columns of its table" in " ".join(jdw.load(golden).status().notes)


@pytest.mark.parametrize("what", ["missing", "empty", "text", "other"])
def test_a_path_without_a_run_is_refused_with_a_reason(tmp_path, what):
    path = tmp_path / "run.jdw"
    if what == "text":
        path.write_text("hello")
    elif what != "missing":
        path.mkdir()
    if what == "other":
        (path / "run.json").write_text("{}")
    with pytest.raises(ValueError, match=r"holds no run|does not exist|is neither a folder"):
        jdw.load(path)


@pytest.fixture(scope="module")
def open_run(tmp_path_factory):
    """Return a live run of five batches, and the number of events after each."""
    with jdw.capture(watch="y", values=True) as run:
        for i in range(5):
            jax.jit(lambda x, i: (y := x * 2, jax.debug.print("{i} {y}", i=i, y=y))[0])(jnp.ones(20), i)
    folder, ends = tmp_path_factory.mktemp("open") / "run.jdw", [0]
    writer = RunWriter(folder, {})
    run.collect()
    half = len(run.store) // 2
    for start, stop in ((0, half), (half, len(run.store))):
        for piece in run.store.kept():
            first, last = max(start, piece.first), min(stop, piece.stop)
            if first < last:
                writer.take([piece._replace(first=first, stop=last)])
                ends.append(last)
    writer.close()
    return folder, set(ends)


def test_all_complete_batches_of_a_torn_file_are_read(open_run, tmp_path):
    folder, ends = open_run
    found, whole = set(), [event.text for event in RunReader(folder, Budget()).read().store.range(0, 99)]
    for name in ("events", "watched", "arrays"):
        (live,) = (folder / "p00000" / name).iterdir()
        data = live.read_bytes()
        for size in [*range(0, len(data), 149), len(data)]:
            torn = tmp_path / f"{name}-{size}"
            shutil.copytree(folder, torn)
            (torn / "p00000" / name / live.name).write_bytes(data[:size])
            texts = [event.text for event in RunReader(torn, Budget()).read().store.range(0, 99)]
            assert texts == whole[: len(texts)], "none without its values, and none twice"
            found.add(len(texts))
            assert (torn / "p00000" / name / live.name).read_bytes() == data[:size], "who reads changes nothing"
    assert ends <= found, "some were cut to nothing, and some not at all"


def test_a_process_that_ends_while_it_seals_loses_nothing(open_run, tmp_path):
    """Each table is sealed separately: first its sealed file is written, then its live file is removed."""
    folder, _ = open_run
    whole = [event.text for event in RunReader(folder, Budget()).read().store.range(0, 99)]
    for done in range(7):
        torn = tmp_path / f"{done}"
        shutil.copytree(folder, torn)
        for number, name in enumerate(("arrays", "watched", "events")):
            (live,) = (torn / "p00000" / name).iterdir()
            if done > 2 * number:
                with pa.memory_map(str(live)) as source:
                    write_part(live.with_name(part_name(0, len(whole))), name, pa.ipc.open_stream(source).read_all())
            else:
                live.with_name("part-000000000000-000000000010.tmp").write_bytes(b"half")
            if done > 2 * number + 1:
                live.unlink()
        run = RunReader(torn, Budget()).read()
        assert [event.text for event in run.store.range(0, 99)] == whole and not run.problems


def test_files_that_are_sealed_while_they_are_read_are_found(open_run, tmp_path, monkeypatch):
    """The live files are found, and are sealed before they are read."""
    path, count = shutil.copytree(open_run[0], tmp_path / "run.jdw"), len(RunReader(open_run[0], Budget()).read().store)
    look, looks = reader.stretches_of, []

    def sealed_then(*args: object):
        stretches = look(*args)
        looks.append(stretches)
        for live in path.rglob("live-*") if len(looks) == 1 else ():
            with pa.memory_map(str(live)) as source:
                rows = pa.ipc.open_stream(source).read_all()
                write_part(live.with_name(part_name(0, count)), live.parent.name, rows)
            live.unlink()
        return stretches

    monkeypatch.setattr(reader, "stretches_of", sealed_then)
    assert len(RunReader(path, Budget()).read().store) == count > 0


def test_a_process_that_ends_while_it_removes_the_oldest_keeps_the_rest(open_run, tmp_path):
    folder, ends = open_run
    half, stop = sorted(ends)[1], max(ends)
    for missing in ("events", "watched", "arrays"):
        torn = tmp_path / missing
        shutil.copytree(folder, torn)
        for name in ("arrays", "watched", "events"):
            (live,) = (torn / "p00000" / name).iterdir()
            with pa.memory_map(str(live)) as source:
                rows = pa.ipc.open_stream(source).read_all()
            is_old = rows["seq"].to_numpy() < half
            write_part(live.with_name(part_name(0, half)), name, rows.filter(pa.array(is_old)))
            write_part(live.with_name(part_name(half, stop)), name, rows.filter(pa.array(~is_old)))
            live.unlink()
        (torn / "p00000" / missing / part_name(0, half)).unlink()
        store = RunReader(torn, Budget()).read().store
        assert (store.oldest, len(store)) == (half, stop)


def test_a_flipped_byte_is_never_another_value(open_run, golden, tmp_path):
    folder, _ = open_run
    right = [event.text for event in RunReader(folder, Budget()).read().store.range(0, 99)]
    (live,) = (folder / "p00000/events").iterdir()
    data = bytearray(live.read_bytes())
    for at in range(8, len(data), 61):
        spoiled = bytearray(data)
        spoiled[at] ^= 0x55
        copy = tmp_path / f"live-{at}"
        shutil.copytree(folder, copy)
        (copy / "p00000/events" / live.name).write_bytes(spoiled)
        try:
            texts = [event.text for event in RunReader(copy, Budget()).read().store.range(0, 99)]
        except RunFileError:
            continue
        assert texts == right[: len(texts)]
    (sealed,) = (golden / "p00000/events").iterdir()
    whole, texts = sealed.read_bytes(), [event.text for event in jdw.load(golden).events]
    for at in range(4, len(whole), 97):
        sealed.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            run = jdw.load(golden)
        except RunFileError:
            continue
        rest = iter(texts)
        assert all(event.text in rest for event in run.events), "what other files have is shown, in order"


def test_a_batch_that_is_not_as_it_was_written_is_known_by_its_checksum():
    one, other = (pa.RecordBatch.from_pydict({"x": [0.5, last]}) for last in (1.0, 2.0))
    assert is_as_written(one, with_checksum(one)) and is_as_written(one, None)
    assert not is_as_written(other, with_checksum(one))


class Evil:
    """An object that creates a file when it is unpickled."""

    def __reduce__(self) -> tuple:
        return Path.touch, (Path("pickle-was-here"),)


HOSTILE = {
    "an object dtype": lambda tap: {**tap, "dtypes": ["object"] * len(tap["dtypes"])},
    "another shape": lambda tap: {**tap, "shapes": [[7, 7]] * len(tap["shapes"])},
    "a huge shape": lambda tap: {**tap, "shapes": [[1 << 50]] * len(tap["shapes"])},
    "a negative shape": lambda tap: {**tap, "shapes": [[-1]] * len(tap["shapes"])},
    "many lanes": lambda tap: {**tap, "lanes": [1 << 30], "mapped": [[True]] * len(tap["shapes"])},
    "a format that looks into values": lambda tap: {**tap, "text": {"kind": "format", "format": "{h.__class__}"}},
    "a format of gigabytes": lambda tap: {**tap, "text": {"kind": "format", "format": "{h:>999999999}"}},
    "an option that is no option": lambda tap: {**tap, "text": {"kind": "words", "options": [["formatter", 1]]}},
    "a value that is not there": lambda tap: {**tap, "structure": {"args": [{"value": 99}], "kwargs": {}}},
    "an unknown structure": lambda tap: {**tap, "structure": {"args": [{"object": "os.system"}], "kwargs": {}}},
    "devices that are none": lambda tap: {**tap, "nesting": {**tap["nesting"], "devices": [1], "axes": ["i"]}},
    "no site": lambda tap: {name: value for name, value in tap.items() if name != "site"},
    "a number for a name": lambda tap: {**tap, "site": {**tap["site"], "label": 3}},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_line_of_sites_is_refused(golden, what, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    changed(golden / "p00000/sites.jsonl", HOSTILE[what])
    try:
        run = jdw.load(golden)
    except RunFileError:
        return
    assert len(run.events) == 0 and re.search("The file is incomplete|15 events .* cannot be read", "".join(run.notes))


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Return a run in three parts, each of several groups of rows, with lanes and arrays; and its events."""
    with jdw.capture(watch="y", values=True) as run:
        for i in range(30):
            jax.jit(lambda x, i: (y := x * i, jax.debug.print("{i} {y}", i=i, y=y[:3]))[0])(jnp.ones(20), i)
            jax.vmap(lambda x: jax.debug.print("lane {}", x))(jnp.arange(3) + i)
    folder, at = tmp_path_factory.mktemp("parts") / "run.jdw", 0
    writer = RunWriter(folder, {})
    writer.take_calls(run.call_log.calls()[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_ROW_GROUP", 7)
        for stop in (40, 95, len(run.store)):
            for piece in run.store.kept():
                first, last = max(at, piece.first), min(stop, piece.stop)
                if first < last:
                    writer.take([piece._replace(first=first, stop=last)])
            writer.seal()
            at = stop
    writer.close()
    return folder, list(run.events)


@pytest.mark.behaviour("R1")
@pytest.mark.parametrize("table", ["events", "watched", "arrays", "sites.jsonl", "part", "calls"])
def test_a_run_with_a_damaged_file_is_read_with_a_note_about_the_loss(parts, tmp_path, table):
    """Every 150th byte of the file is changed, or the file is removed; the events shown are right and ordered."""
    folder, events = parts
    right = [(event.text, event.site.label, bits(event.values)) for event in events]
    rest = set()
    file = "sites.jsonl" if table == "sites.jsonl" else f"events/{part_name(40, 95)}" if table == "part" else table
    victim = folder / "p00000" / file
    victim = sorted(victim.iterdir())[len(list(victim.iterdir())) // 2] if victim.is_dir() else victim
    whole = victim.read_bytes()
    for at in [len(whole)] if table == "part" else range(30, len(whole), max(len(whole) // 25, 1)):
        shutil.copytree(folder, copy := tmp_path / f"{at}")
        spoiled = copy / victim.relative_to(folder)
        if table == "part":
            for name in ("events", "watched", "arrays"):
                (copy / "p00000" / name / part_name(40, 95)).unlink()
        else:
            spoiled.write_bytes(whole[:at] + (b"\n" if whole[at : at + 1] != b"\n" else b"x") + whole[at + 1 :])
        saved = RunReader(copy, Budget()).read()
        found = [(e.text, e.site.label, bits(e.values)) for e in saved.store.range(0, len(saved.store))]
        places = iter(right)
        assert all(one in places for one in found), "nothing is shown that was not, and nothing in another order"
        assert len(found) == len(right) or any("cannot be read" in one or "not in" in one for one in saved.problems)
        rest.add(len(found))
    assert min(rest) >= len(right) // 3 if table != "calls" else rest == {len(right)}


def test_a_pickle_is_bytes_and_nothing_else(golden, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (path,) = (golden / "p00000/events").iterdir()
    table = parquet.read_table(path)
    raw = pa.array([pickle.dumps(Evil())] * len(table), pa.binary())
    parquet.write_table(table.set_column(table.schema.get_field_index("raw"), "raw", raw), path)
    with pytest.raises(RunFileError, match="bytes of a value"):
        jdw.load(golden)
    assert not Path("pickle-was-here").exists()


def spoiled(data):
    """Yield variants of the JSON data: each replaces one part by another value."""
    others = (None, -1, 1 << 70, 0.5, "x", [], {}, [[]], True)
    places: list[tuple] = []

    def find(one, path):
        if isinstance(one, dict | list) and one:
            for key, part in one.items() if isinstance(one, dict) else enumerate(one):
                find(part, (*path, key))
        places.append(path)

    find(data, ())
    for number, path in enumerate(path for path in places if path):
        copy = json.loads(json.dumps(data))
        inner = copy
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = others[number % len(others)]
        yield path, copy


@pytest.mark.parametrize("name", ["run.json", "p00000/state.json", "p00000/sites.jsonl"])
def test_invalid_content_of_a_file_raises_only_a_run_file_error(golden, name):
    path = golden / name
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    for number, line in list(enumerate(lines))[:3]:
        for where, data in spoiled(json.loads(line)):
            path.write_text("\n".join([*lines[:number], json.dumps(data), *lines[number + 1 :]]) + "\n")
            with contextlib.suppress(RunFileError):
                run = jdw.load(golden)
                _ = run.to_pandas(), run.status(), run.notes, repr(run), list(run), run.findings, where


def test_a_zip_file_writes_nothing_anywhere(golden, tmp_path):
    packed = tmp_path / "run.jdw.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in golden.rglob("*"):
            if file.is_file():
                archive.write(file, f"run.jdw/{file.relative_to(golden).as_posix()}")
        archive.writestr("run.jdw/../../outside.txt", "x")
        archive.writestr("/absolute.txt", "x")
    before = set(tmp_path.parent.rglob("*"))
    assert len(jdw.load(packed).events) == 15, "it may have been packed as a folder, too"
    assert set(tmp_path.parent.rglob("*")) == before
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.json", json.dumps({"a": "b" * 1000}))
    with pytest.raises(RunFileError, match="packed by another program"):
        jdw.load(packed)


def test_a_file_that_says_it_is_huge_is_refused(golden):
    (path,) = (golden / "p00000/arrays").iterdir()
    table = pa.table(
        {"seq": [0], "value": pa.array([9], pa.int32()), "dtype": ["float32"], "shape": [[3, 10]]}
    ).append_column("data", pa.array([bytes(100 << 20)], pa.large_binary()))
    parquet.write_table(table, path, compression="zstd")
    with pytest.raises(RunFileError, match="says that it becomes"):
        jdw.load(golden)


def test_a_run_with_an_unreadable_state_has_its_events_and_a_note(golden):
    (golden / "p00000/state.json").write_text("[" * 100_000)
    run = jdw.load(golden)
    assert len(run.events) == 15 and "state.json cannot be read" in "".join(run.notes)


def rewritten(name, change):
    """Return a function that replaces a text in a file by `change` of it."""

    def damage(folder):
        (folder / "p00000" / name).write_text(change((folder / "p00000" / name).read_text("utf-8")), "utf-8")

    return damage


DAMAGES = {
    "state, half": (
        rewritten("state.json", lambda text: text[: len(text) // 2]),
        8,
        "The status of the run cannot be read",
    ),
    "state, nothing": (rewritten("state.json", lambda _: "{}"), 8, "does not say how the run was doing"),
    "state, odd": (
        rewritten("state.json", lambda text: text.replace('"findings": [', '"findings": 7, "_": [')),
        8,
        "findings",
    ),
    "sources, torn": (rewritten("sources.jsonl", lambda text: text[:-9]), 8, "sources.jsonl, the last, is incomplete"),
    "sources, odd": (rewritten("sources.jsonl", lambda _: '{"file": 3}\n'), 8, "holds no file of source"),
    "sites, torn": (
        rewritten("sites.jsonl", lambda text: text[:-9]),
        4,
        "sites.jsonl does not say which call site they belong to",
    ),
    "sites, odd": (
        rewritten("sites.jsonl", lambda text: text.replace('"site"', '"sight"', 1)),
        4,
        "it does not say 'site'.",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_of_a_finished_run_is_named_and_the_rest_loads_while_its_process_lives(tmp_path, name):
    damage, events, says = DAMAGES[name]

    @jax.jit
    def f(x):
        y = x * 2
        jax.debug.print("{y}", y=y)
        return y

    with jdw.capture(watch="y", record=tmp_path / "run.jdw") as run:
        for step in range(4):
            f(jnp.float32(step))
    damage(tmp_path / "run.jdw")
    loaded = jdw.load(tmp_path / "run.jdw")
    assert len(run.events) == 8
    new = " ".join(note for note in loaded.notes if note not in run.notes)
    assert says in new and "Still being written" not in new and "Error" not in new, new
    assert (loaded.status().state, len(loaded.events)) == ("done", events)


def test_the_column_numbers_has_the_elements_of_the_values(golden):
    """Other readers find the same numbers there as we show."""
    frame = parquet.read_table(golden / "p00000/events").to_pandas()
    run = jdw.load(golden)
    shown = {event.seq: event for event in run.events if event.kind != "watch"}
    assert set(frame.seq) == set(shown)
    for row in frame.itertuples():
        np.testing.assert_array_equal(row.numbers, np.concatenate([np.ravel(v) for v in shown[row.seq].values]))
