"""Test the overview of a run: the range of each number over many executions, for events that are not read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from matplotlib import pyplot as plt

import jax_debug_widgets as jdw
from jax_debug_widgets.archive import overview, writer
from jax_debug_widgets.archive.overview_reader import OverviewReader
from jax_debug_widgets.archive.row_ranges import TableReader
from jax_debug_widgets.session.run import compare, saved
from jax_debug_widgets.session.run.by_name import choices
from jax_debug_widgets.session.run.from_overview import series_in_file
from jax_debug_widgets.session.run.save import begin
from tests.archive.programs import batched, odd, sharded, trained


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Make files of a few events each, with a row of the overview for three of them."""
    monkeypatch.setattr(writer, "_LONG", 1)
    monkeypatch.setattr(overview, "BLOCK", 3)
    monkeypatch.setattr(overview, "_AT_ONCE", 50)
    yield
    plt.close("all")


@jax.jit
def searched(x):
    def body(x):
        jax.debug.print("x {found}", found=x)
        return x * 2

    return lax.while_loop(lambda x: x < 100, body, x)


@pytest.fixture(scope="module")
def run():
    """Return a run with loops of known and unknown length, gradients, lanes, devices, vectors, NaN and infinities."""
    with jdw.capture(watch="h", name="a", config={"lr": 1}) as run:
        for number in range(8):
            trained(jnp.full(32, 0.5 + number))
            batched(jnp.arange(5.0))
            searched(jnp.float32(number + 1))
            sharded()
            odd(jnp.float32(number))
            jax.debug.print("small {small}", small=jnp.arange(3.0) * number)
            jax.debug.print("odd {odd}", odd=jnp.log(jnp.float32(3 - number)))
            run.collect()
    return run


def written(run, folder: Path) -> Path:
    """Write the run to files of few events each."""
    files = begin(run, folder)
    for piece in run.store.kept():
        files.take([piece])
        if files.live_rows > 60:
            files.seal()
    files.write_state(saved.state(run))
    files.seal()
    files.close()
    assert len(list(folder.rglob("overview/part-*"))) > 3
    return folder


@pytest.mark.parametrize("missing", ["", "overview/part-*", "overview/part-000000000000-*", "overview/part-*2*"])
def test_the_overview_says_of_each_number_what_its_events_say(run, tmp_path, missing):
    """Also if the overview must be computed from the events."""
    folder = written(run, tmp_path / "run.jdw")
    for file in folder.rglob(missing) if missing else ():
        file.unlink()
    told = OverviewReader(folder)
    assert told.devices() == run.store.devices and {site.id for site in told.sites()} == {site.id for site in run.sites}
    rows = told.read([site.id for site in run.sites])
    compared = 0
    for choice in choices(run):
        site, value = choice.site.id, choice.value
        positions, _, values = run.store.history.series(site, value)
        x, lane, device = run.store.history.places(site)
        if values.dtype.kind == "c" or values[0].size > 16:
            continue
        values, mine = values.reshape(len(values), -1).astype(float), (rows["site"] == site) & (rows["value"] == value)
        assert rows["count"][mine & (rows["element"] == 0)].sum() == len(values), "each event is in one row"
        for row in np.flatnonzero(mine).tolist():
            at = {name: column[row] for name, column in rows.items()}
            own = (positions >= at["first_seq"]) & (positions <= at["last_seq"])
            own &= (lane == at["lane"]) & (device == at["device"])
            numbers = values[own, at["element"]]
            finite = numbers[np.isfinite(numbers)]
            assert len(numbers) == at["count"] <= 3
            assert (at["low_x"], at["high_x"]) == (x[own].min(), x[own].max()), (choice.place, choice.site.phase, at, x)
            expected = [finite.min(), finite.max(), finite.mean()] if len(finite) else [np.nan] * 3
            np.testing.assert_allclose([at[name] for name in ("low", "high", "mean")], expected, rtol=1e-12)
            odds = (np.isnan(numbers), numbers == np.inf, numbers == -np.inf)
            assert [at[name] for name in ("nan", "posinf", "neginf")] == [one.sum() for one in odds]
            np.testing.assert_equal(at["last"], values[positions == at["last_seq"], at["element"]][0])
            compared += 1
    assert compared > 300


@pytest.mark.behaviour("R4")
@pytest.mark.parametrize("name", ["loss", "h.mean", "odd", "found", "y@programs.py:37"])
def test_plots_of_a_long_run_draw_events_that_are_not_loaded_as_mean_and_range(run, tmp_path, name, monkeypatch):
    folder = written(run, tmp_path / "run.jdw")
    whole = run.plot(name)
    read = TableReader.stretch
    seen = []
    monkeypatch.setattr(TableReader, "stretch", lambda *args: seen.append(args[4]) or read(*args))
    loaded = jdw.load(folder, max_events=100)
    assert 90 < len(loaded.events) <= 100 and min(seen).first > 100, "what is older is not read"
    assert any("were not loaded: `run.plot` draws them" in note for note in loaded.notes)
    for ours, theirs in zip(loaded.plot(name).lines, whole.lines, strict=True):
        if ours.get_label().startswith("_") or len(theirs.get_xdata()) == 0:
            continue
        np.testing.assert_allclose(ours.get_xdata()[-1], theirs.get_xdata()[-1])
        assert abs(ours.get_xdata()[0] - theirs.get_xdata()[0]) <= 1.5
        np.testing.assert_array_equal(ours.get_ydata()[-2:], theirs.get_ydata()[-2:])


@pytest.fixture
def sweep(run, tmp_path, monkeypatch):
    """Return three long runs with different learning rates."""
    monkeypatch.setattr(compare, "_LONG", 100)
    monkeypatch.setattr(compare, "_LONG_RUN", 1)
    first = written(run, tmp_path / "0.jdw")
    for number in (1, 2):
        copy = shutil.copytree(first, tmp_path / f"{number}.jdw")
        for file in (copy / "run.json", copy / "p00000/state.json"):
            file.write_text(json.dumps({**json.loads(file.read_text()), "config": {"lr": number + 1}}))
    return tmp_path


@pytest.mark.behaviour("R4")
def test_a_sweep_of_long_runs_is_drawn_without_reading_their_events(sweep):
    for folder in ("events", "watched", "arrays"):
        for path in sweep.glob(f"*/p00000/{folder}"):
            for file in path.iterdir():
                file.write_bytes(b"")
    axes = jdw.load(f"{sweep}/*.jdw").plot("loss")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["lr 1", "lr 2", "lr 3"]
    assert len(axes.lines) == len(axes.collections) == 3


def test_a_run_with_a_damaged_overview_is_read_from_its_events(sweep, run):
    runs = jdw.load(f"{sweep}/*.jdw")
    file = next((sweep / "1.jdw").rglob("overview/part-*"))
    file.write_bytes(file.read_bytes()[:-30])
    long, exact, _ = runs.plot("loss").lines
    assert len(long.get_xdata()) < len(exact.get_xdata()) == len(run.series("loss")[0])
    with pytest.raises(KeyError, match="acc"):
        runs.plot("acc")


def test_the_overview_is_copied_with_a_run_and_goes_with_its_file(run, tmp_path):
    folder = written(run, tmp_path / "run.jdw")
    jdw.load(folder).save(tmp_path / "copy.jdw.zip")
    (ours,), (theirs,) = (series_in_file(path, "loss") for path in (folder, tmp_path / "copy.jdw.zip"))
    np.testing.assert_array_equal(ours.values, theirs.values)
    files = begin(run, tmp_path / "less.jdw")
    for piece in run.store.kept():
        files.take([piece])
        files.seal()
    before = len(list(tmp_path.rglob("less.jdw/p00000/overview/*")))
    assert files.let_go() and len(list(tmp_path.rglob("less.jdw/p00000/overview/*"))) == before - 1
    files.close()
