"""A run that was written and read again is the run that it was, without its program and without a device."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pandas as pd
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session, reading, snapshot_of
from jax_debug_widgets.session.panel.requests import answer
from tests.archive.programs import assert_same_events, everything


@pytest.fixture(scope="module")
def run():
    return everything()


@pytest.fixture(scope="module")
def saved(run, tmp_path_factory):
    return run.save(tmp_path_factory.mktemp("saved") / "all.jdw")


@pytest.fixture(scope="module")
def loaded(saved):
    return jdw.load(saved)


@pytest.mark.behaviour("R2")
def test_events_are_the_same_to_the_bit(run, loaded):
    assert len(run.events) > 60 and {"watch", "print", "callback"} <= {event.kind for event in run.events}
    assert_same_events(run.events, loaded.events)
    assert any(event.phantom for event in loaded.events) and any(event.mesh_coords for event in loaded.events)
    for one, other in zip(run.events, loaded.events, strict=True):
        assert repr((one.args, one.kwargs)) == repr((other.args, other.kwargs))


def test_series_and_watched_values_are_the_same(run, loaded):
    assert list(run) == list(loaded) and "h" in loaded
    for name in run:
        for statistic in run[name]:
            np.testing.assert_array_equal(run[name][statistic], loaded[name][statistic])
        np.testing.assert_array_equal(run[name].steps, loaded[name].steps)
        assert repr(run[name]) == repr(loaded[name])
    assert repr(run["h"].gradient) == repr(loaded["h"].gradient)
    for ours, theirs in zip(run.series("loss"), loaded.series("loss"), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_tables_findings_and_notes_are_the_same(run, loaded):
    assert run.calls == loaded.calls and run.sites == loaded.sites and repr(run.sites) == repr(loaded.sites)
    pd.testing.assert_frame_equal(run.to_pandas().drop(columns="values"), loaded.to_pandas().drop(columns="values"))
    assert [one.message for one in run.findings] == [one.message for one in loaded.findings]
    assert {"nonfinite", "phantom"} <= {one.kind for one in loaded.findings}
    assert run.notes == loaded.notes and repr(run) == repr(loaded)
    assert (loaded.name, loaded.config, loaded.title) == ("all", {"lr": 3e-4}, "everything")


def test_the_source_is_shown_as_it_was_then(run, loaded):
    file = run.sites[0].file
    assert "jax.debug.print" in "\n".join(loaded.source_of(file)["lines"])
    assert dict(run.source_of(file)) == dict(loaded.source_of(file))
    with pytest.raises(LookupError, match=r"other\.py"):
        loaded.source_of("other.py")


@pytest.mark.behaviour("W5")
def test_its_panel_gets_the_batches_of_the_run_itself(run, loaded):
    assert loaded.panel.bundle()["text/html"].count("<svg") == run.panel.bundle()["text/html"].count("<svg")
    ours, theirs = (snapshot_of(one) for one in (run, loaded))
    assert [line.text for line in ours.unordered] == [line.text for line in theirs.unordered] and ours.unordered
    session = current_session()
    for request in ({"type": "sync"}, {"type": "rows", "first": 3, "count": 20, "id": 1}):
        ((content, buffer),) = answer(session, {**request, "run": loaded.key})
        ((expected, live),) = answer(session, {**request, "run": run.key})
        assert content["type"] == expected["type"] != "error" and len(buffer) == len(live)
        for name in ("sites", "calls", "devices", "count", "first"):
            assert content.get(name) == expected.get(name)
    assert loaded in session.runs()


@pytest.mark.parametrize("request_", ["mute", "every", "watch", "pause", "step"])
def test_requests_that_need_a_program_are_refused_for_a_loaded_run(loaded, request_):
    """The numbers of its sites are those of another process: here they are other sites, or none."""
    asked = {
        "type": request_,
        "run": loaded.key,
        "id": 1,
        "site": 0,
        "n": 2,
        "muted": True,
        "names": ["h"],
        "on": False,
    }
    ((content, _),) = answer(current_session(), asked)
    assert content["type"] == "error"


def test_a_run_saved_as_a_zip_file_has_the_same_events(run, tmp_path):
    packed = run.save(tmp_path / "all.jdw.zip")
    assert list(tmp_path.iterdir()) == [packed]
    assert_same_events(run.events, jdw.load(packed).events)


def test_saving_to_an_existing_path_is_refused(run, saved):
    with pytest.raises(ValueError, match="is there already"):
        run.save(saved)


@pytest.mark.behaviour("R2")
def test_pandas_reads_it_and_no_device_is_asked_for(run, saved):
    code = f"""
        import pandas, sys
        events = pandas.read_parquet(r"{saved}/p00000/events")
        watched = pandas.read_parquet(r"{saved}/p00000/watched")
        assert "jax_debug_widgets" not in sys.modules
        assert len(events) + len(watched) == {len(run.events)} and watched.step.max() == 5
        import jax
        jax.config.update("jax_platforms", "no_such_platform")
        import jax_debug_widgets as jdw
        run = jdw.load(r"{saved}")
        assert len(run.events) == len(events) + len(watched) and len(run["h"]["mean"]) == 12
        assert run.panel.bundle()["text/plain"] and run.events[0].text and run.to_pandas().text.all()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)


VALUES = {
    "beyond 2**53": np.array([2**53 + 1, -(2**62) - 1], np.int64),
    "uint64": np.array(2**64 - 1, np.uint64),
    "complex": np.array([1 + 2j, np.nan - 1j], np.complex64),
    "bfloat16": np.array([1.5, np.nan], ml_dtypes.bfloat16),
    "float8": np.arange(40).astype(ml_dtypes.float8_e4m3fn),
    "bool": np.array([[True, False]]),
    "empty": np.zeros((0, 3), np.float32),
    "NaN with a payload": np.array([0x7FC00001, 0xFFC12345], np.uint32).view(np.float32),
    "scalar": np.float16(0.1),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_all_types_are_the_same_to_the_bit(name, tmp_path):
    with jax.enable_x64(True), jdw.capture() as run:
        jax.jit(lambda x: jax.debug.print("{x}", x=x))(VALUES[name])
        jax.jit(jax.vmap(lambda x, y: jax.debug.print("{x} {y}", x=x, y=y), (None, 0)))(VALUES[name], np.arange(3))
    assert len(run.events) == 4
    assert_same_events(run.events, jdw.load(run.save(tmp_path / "run.jdw")).events)


class Half:
    """Formats by itself, as NumPy does not."""

    def __init__(self, x) -> None:
        self.x = x

    def __format__(self, spec) -> str:
        return f"half of {float(self.x) * 2:{spec}}"


jax.tree_util.register_pytree_node(Half, lambda half: ((half.x,), None), lambda _, leaves: Half(*leaves))


def test_texts_that_only_the_program_can_make_are_kept(tmp_path):
    with np.printoptions(precision=2), jdw.capture() as run:
        program = jax.jit(
            lambda x, d: [
                jax.debug.print("{x!r}", x=x),
                jax.debug.print("{d} {x:.1f}", d=d, x=x),
                jax.debug.print("{half:.2f}", half=Half(x)),
                jax.debug.print("{}", jnp.stack([x, x / 3])),
                jax.debug.print("{key}", key=jax.random.key(1)),
                jax.debug.print("no value"),
                jax.debug.print("half \ud800 {x}", x=x),
            ][:0]
        )
        for i in range(3):
            program(jnp.float32(i / 7), {"a": jnp.arange(2), "b": [jnp.ones(20)]})
    assert len(run.events) == 21
    expected = [event.text.encode("utf-8", "backslashreplace") for event in run.events]
    found = [event.text for event in jdw.load(run.save(tmp_path / "run.jdw")).events]
    assert [text.encode("utf-8", "backslashreplace") for text in found] == expected


def test_a_loaded_run_has_the_counts_of_dropped_events(tmp_path):
    with jdw.capture(max_events=50) as run:
        for i in range(80):
            jax.debug.print("{i}", i=jnp.int32(i))
        jax.effects_barrier()
    assert run.dropped
    loaded = jdw.load(run.save(tmp_path / "run.jdw"))
    assert (loaded.dropped, len(loaded.events)) == (run.dropped, len(run.events))
    assert loaded.store.dropped_by_site() == run.store.dropped_by_site()
    assert_same_events(run.events, loaded.events)


def test_a_run_without_events_can_be_saved(tmp_path):
    with jdw.capture() as run:
        pass
    loaded = jdw.load(run.save(tmp_path / "run.jdw.zip"))
    assert len(loaded.events) == 0 and loaded.status().state == "done" and not loaded.notes


def test_max_mb_limits_a_loaded_run_to_its_newest_events(tmp_path):
    with jdw.capture() as run:
        for i in range(8):
            jax.debug.print("{x}", x=jnp.full((256, 128), float(i)))
        jax.effects_barrier()
    loaded = jdw.load(run.save(tmp_path / "run.jdw"), max_mb=0.5)
    assert 0 < len(loaded.events) < 8 and loaded.events[-1].text == run.events[-1].text
    assert loaded.dropped == 8 - len(loaded.events)
    assert f"{loaded.dropped} events (the oldest) are in the file but were not loaded" in loaded.notes[-1]


@pytest.mark.parametrize("name", ["copy.jdw", "copy.jdw.zip"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_loaded_run_can_be_saved_elsewhere(run, saved, tmp_path, packed, name):
    source = jdw.load(run.save(tmp_path / "all.jdw.zip") if packed else saved)
    copy = jdw.load(source.save(tmp_path / name, sources=False))
    assert_same_events(run.events, copy.events)
    assert copy.findings == source.findings and copy.barrier()
    with pytest.raises(LookupError, match="is not in"):
        copy.source_of(run.sites[0].file)
    with pytest.raises(ValueError, match="is there already"):
        source.save(tmp_path / name)


def test_an_attribute_that_a_file_lacks_raises_an_error_that_says_so(loaded):
    with pytest.raises(AttributeError, match="host functions is not in the file"):
        _ = loaded.callbacks
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = loaded.nonsense


def test_loaded_runs_share_a_budget_and_note_what_they_have_dropped(saved, run, monkeypatch):
    first = jdw.load(saved)
    monkeypatch.setattr(reading, "LOADED_BYTES", first.nbytes + 1)
    second = jdw.load(saved)
    assert_same_events(run.events, second.events)
    assert first.dropped == len(run.events) - len(first.events) > 0
    assert any("Load it again" in note for note in first.notes)
