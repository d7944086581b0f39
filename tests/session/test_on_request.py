"""Test further requests of the browser: numbers, histograms, files."""

from __future__ import annotations

import io
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow.parquet
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel import files
from jax_debug_widgets.session.panel.requests import answer
from jax_debug_widgets.session.run import tables
from jax_debug_widgets.session.run.histograms import BINS, MAX_EVENTS
from jax_debug_widgets.transport.columns import unpack

pytestmark = pytest.mark.cpu("starts processes that choose their own devices")

STEPS = 500


@pytest.fixture(scope="module")
def run():
    def walk(x, i):
        jax.debug.print("x {} at {}", x, i)
        return (x * 1.01).at[1].set(jnp.where(i < 7, x[1], jnp.nan)), None

    with jdw.capture() as run:
        jax.jit(lambda x: jax.lax.scan(walk, x, jnp.arange(STEPS)))(jnp.arange(4.0) - 1)
        jax.debug.callback(lambda *_: None, jnp.arange(2000.0).reshape(2, 40, 25) / 3, jnp.ones((), jnp.bfloat16))
        jax.debug.print("z {z}", z=jnp.complex64(1 + 2j))
    return run


def asked(run, **request):  # noqa: ANN003 - a request's fields
    ((content, buffer),) = answer(current_session(), {"run": run.key, "id": 3, **request})
    assert content["id"] == 3
    return content, unpack(content.get("data", ()), buffer)


@pytest.mark.parametrize("start", [(0, 0), (5, 3), (39, 24), (100, -2)])
def test_numbers_are_read_page_by_page_and_read_back_as_they_are(run, start):
    whole = run.events[STEPS].values[0]
    content, _ = asked(run, type="values", event=STEPS, value=0, index=[1], row=start[0], column=start[1])
    rows, columns = content["page"]
    row, column = min(start[0], 39), max(start[1], 0)
    assert (content["row"], content["column"], content["rows"], content["columns"]) == (row, column, 40, 25)
    found = np.array(content["text"], np.float32).reshape(rows, columns)
    np.testing.assert_array_equal(found, whole[1][row : row + rows, column : column + columns])


def test_histograms_over_the_events_of_a_site(run):
    site = run.events[0].site.id
    content, data = asked(run, type="histograms", site=site, value=0)
    assert (content["of"], content["bins"]) == (STEPS, BINS)
    events, counts = data["event"], data["counts"].reshape(-1, BINS)
    assert len(events) == len(counts) == MAX_EVENTS
    assert (events[0], events[-1]) == (0, STEPS - 1)
    for event, own, odd in zip(events.tolist(), counts, data["odd"].tolist(), strict=True):
        value = run.events[event].values[0]
        assert odd == np.isnan(value).sum() == (event > 7)
        bins = (content["low"], content["high"])
        np.testing.assert_array_equal(own, np.histogram(value[np.isfinite(value)], BINS, bins)[0])
    assert content["low"] == min(np.nanmin(run.events[event].values[0]) for event in events)
    assert content["high"] == max(np.nanmax(run.events[event].values[0]) for event in events)


def test_histograms_of_nothing_are_none(run):
    content, data = asked(run, type="histograms", site=10**6, value=0)
    assert content["of"] == 0
    assert all(len(column) == 0 for column in data.values())


def test_an_array_is_saved(run):
    content, data = asked(run, type="file", format="npy", event=STEPS, value=0)
    np.testing.assert_array_equal(np.load(io.BytesIO(data["data"].tobytes())), run.events[STEPS].values[0])
    _, data = asked(run, type="file", format="npy", event=STEPS, value=1)
    assert np.load(io.BytesIO(data["data"].tobytes())).dtype == np.float32
    assert content["type"] == "file"


def test_parquet_holds_every_event(run, tmp_path):
    path = tmp_path / "run.parquet"
    run.to_parquet(path)
    _, data = asked(run, type="file", format="parquet")
    for source in (path, io.BytesIO(data["data"].tobytes())):
        rows = pyarrow.parquet.read_table(source).to_pylist()
        assert len(rows) == len(run.events)
        for row, event in zip(rows, run.events, strict=True):
            assert (row["seq"], row["text"], row["step"]) == (event.seq, event.text, list(event.step))
            assert (row["phase"], row["kind"], row["lane"]) == (event.phase, event.kind, [])
            assert [value["name"] for value in row["values"]] == list(event.site.values)
        (x, i) = rows[STEPS - 1]["values"]
        np.testing.assert_array_equal(np.array(x["data"], x["dtype"]), run.events[STEPS - 1].values[0])
        assert (x["shape"], i["data"]) == ([4], [STEPS - 1])
        assert rows[-1]["values"][0]["data"] == [1, 2]


@pytest.mark.parametrize("at_once", [1, 50_000])
def test_parquet_says_of_every_kind_of_event_what_the_event_says(at_once, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_ROWS_AT_ONCE", at_once)

    @jax.jit
    def program(xs):
        jax.vmap(lambda x: jax.debug.print("{x} {} {}", x.sum(), jnp.ones(20_000), x=x))(xs)
        jax.debug.print("nothing")
        jax.debug.print("{} {} {b}", xs > 0, xs.astype(jnp.complex64) * 1j, b=xs.astype(jnp.bfloat16))
        jax.debug.print("{} {}", jnp.zeros((0, 2)), jnp.uint32(2**32 - 1))

        def inside(i, x):
            return jax.lax.fori_loop(0, 2, lambda j, x: (jax.debug.print("{} {}", i, j), x + 1)[1], x)

        return jax.lax.fori_loop(0, 3, inside, xs)

    with jdw.capture() as run:
        for _ in range(2):
            program(jnp.arange(6.0).reshape(2, 3) / 7)
            jax.effects_barrier()
            run.collect()
    path = tmp_path / "run.parquet"
    run.to_parquet(path)
    assert pyarrow.parquet.ParquetFile(path).num_row_groups == (len(run.store.kept()) if at_once == 1 else 1)
    rows = pyarrow.parquet.read_table(path).to_pylist()
    assert [row["seq"] for row in rows] == list(range(len(run.events))) != []
    for row, event in zip(rows, run.events, strict=True):
        assert (row["text"], tuple(row["step"]), tuple(row["lane"])) == (event.text, event.step, event.lane)
        assert (row["device"], row["occurrence"], row["call"]) == (event.device, event.occurrence, event.call)
        for told, name, value in zip(row["values"], event.site.values, event.values, strict=True):
            assert (told["name"], told["dtype"], tuple(told["shape"])) == (name, value.dtype.name, value.shape)
            doubles = value.astype(complex).view(float) if value.dtype.kind == "c" else value.astype(float)
            assert told["data"] == doubles.ravel().tolist()
    with jdw.capture() as empty:
        pass
    empty.to_parquet(path)
    assert pyarrow.parquet.read_table(path).num_rows == 0


def test_writing_to_a_full_disk_leaves_the_earlier_file_and_no_partial_one(tmp_path):
    """It runs in a process of its own, whose files are limited to half of what is written."""
    program = f"""
import os, resource, signal, sys
import jax, jax.numpy as jnp, jax_debug_widgets as jdw
def f(x):
    return jax.lax.fori_loop(0, 2000, lambda _, c: (jax.debug.print("{{c}}", c=c), c + 1)[1], x)
with jdw.capture() as run:
    jax.block_until_ready(jax.jit(f)(jnp.ones(64)))
path = {str(tmp_path / "run.parquet")!r}
run.to_parquet(path)
size = os.path.getsize(path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))
for name in (path, path + ".other"):
    try:
        run.to_parquet(name)
    except OSError:
        print("failed")
print(os.path.getsize(path) == size, os.listdir(os.path.dirname(path)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["failed", "failed", "True ['run.parquet']"]


def test_parquet_without_pyarrow_says_what_to_install(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    words = 'Parquet needs pyarrow: pip install "jax-debug-widgets[parquet]"'
    assert asked(run, type="file", format="parquet")[0]["message"] == words
    with pytest.raises(ImportError, match="pip install"):
        run.to_parquet(tmp_path / "run.parquet")


def test_a_file_that_is_too_large_to_send_is_refused_with_the_call_that_writes_it(run, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    for request, call in (
        ({"format": "npy", "event": STEPS, "value": 0}, "numpy.save"),
        ({"format": "parquet"}, "to_parquet"),
    ):
        message = asked(run, type="file", **request)[0]["message"]
        assert "are too many to be sent" in message
        assert call in message
    assert "unknown format" in asked(run, type="file", format="xls")[0]["message"]


def test_calls_are_a_frame_as_well(run):
    frame = run.calls.to_pandas()
    assert len(frame) == len(run.calls) > 0
    assert frame["name"].tolist() == [call.name for call in run.calls]
    np.testing.assert_allclose(frame["started"], [call.started_ns * 1e-9 for call in run.calls])
    assert not [name for name in frame.columns if name.endswith("_ns")]
