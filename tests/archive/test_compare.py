"""Test the comparison of several runs."""

from __future__ import annotations

import json
import math
import shutil
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from matplotlib import pyplot as plt

import jax_debug_widgets as jdw
from jax_debug_widgets.archive import reader
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.all_runs import comparison
from tests.waiting import until


@jax.jit
def stepped(w, lr, i):
    loss = (w**2).sum()
    jax.debug.print("{i} loss {loss}", i=i, loss=loss)
    return w - lr * w


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Return a folder with three runs of different learning rates, a zip file, and a file that is no run."""
    folder = tmp_path_factory.mktemp("sweep")
    for number, lr in ((1, 0.1), (2, 0.3), (10, 3.0)):
        config = {"lr": lr, "seed": 0, "w": np.float32(2), "layers": (2, 3)}
        with jdw.capture(name=f"lr{number}", config=config, record=folder / f"run{number}.jdw", watch="w") as run:
            w = jnp.ones(4)
            for i in range(20):
                w = stepped(w, jnp.float32(lr), i)
    with jdw.capture(title="other") as run:
        jax.debug.print("x {x}", x=jnp.float32(jnp.nan))
    run.save(folder / "saved.jdw.zip")
    (folder / "broken.jdw").mkdir()
    (folder / "broken.jdw/run.json").write_text("{")
    return folder


@pytest.mark.behaviour("R4")
def test_a_table_has_a_row_a_run_in_natural_order(sweep, monkeypatch):
    monkeypatch.setattr(reader, "RunReader", None)  # No run is read: the summaries in the files are enough.
    runs = jdw.load(f"{sweep}/run*.jdw")
    table = runs.to_pandas()
    assert list(table.name) == ["lr1", "lr2", "lr10"] and list(table["config.lr"]) == [0.1, 0.3, 3.0]
    assert list(table.steps) == [20] * 3 and list(table.value) == ["loss"] * 3 and list(table.state) == ["done"] * 3
    np.testing.assert_allclose(table["last"], [4 * (1 - lr) ** 38 for lr in (0.1, 0.3, 3.0)], rtol=1e-4)
    assert (table.ms_a_step > 0).all() and (table.started > "2020-01-01").all() and list(table.events) == [40] * 3
    assert list(table["config.w"]) == [2.0] * 3 and list(table["options.watch"]) == ["w"] * 3
    text, html = repr(runs), runs._repr_html_()
    assert "last loss" in text and "ms a step" in text and "lr10" in text
    assert html.count("<tr>") == 4 and "last loss" in html and "0.1" in html


def test_a_folder_loads_all_its_runs_and_names_the_unreadable_ones(sweep):
    runs = jdw.load(sweep)
    assert [row.name for row in runs.rows] == ["lr1", "lr2", "lr10", ""] and len(runs) == 4
    assert runs.rows[-1].called == "saved" and runs["saved"].name == "", "its user has given it no name"
    assert list(runs.problems) == [str(sweep / "broken.jdw")] and "run.json cannot be read" in repr(runs)
    assert runs.rows[3].findings == 1 and math.isnan(runs.to_pandas()["last"][3])


def test_single_runs_are_asked_for_by_name_or_number(sweep):
    runs = jdw.load(f"{sweep}/*.jdw*")
    assert runs["lr2"] is runs[1] and runs[1].config["lr"] == 0.3 and [run.name for run in runs[:2]] == ["lr1", "lr2"]
    with pytest.raises(KeyError, match="no run is called 'lr3'; there are lr1, lr2"):
        _ = runs["lr3"]
    with pytest.raises(
        TypeError, match=r"load\(path\) takes the path of a run, a pattern or a list of paths, not None"
    ):
        jdw.load(None)
    with pytest.raises(ValueError, match="there is nothing like"):
        jdw.load(f"{sweep}/none*.jdw")


def test_a_list_of_paths_is_loaded_in_its_order(sweep):
    runs = jdw.load([sweep / "run10.jdw", f"{sweep}/run1.jdw"])
    assert [row.name for row in runs.rows] == ["lr10", "lr1"] and runs.problems == {}
    with pytest.raises(ValueError, match=r"there is no run at .*none\.jdw, .*nor\.jdw"):
        jdw.load([sweep / "run1.jdw", sweep / "none.jdw", sweep / "nor.jdw"])
    for several in ([sweep / "run1.jdw"], f"{sweep}/run*.jdw", sweep):
        with pytest.raises(ValueError, match="follows one run only: load each by itself"):
            jdw.load(several, follow=True)
    with pytest.raises(TypeError, match=r"or a list of paths, not \[\]"):
        jdw.load([])


def test_lines_of_several_values_have_the_names_of_the_values_too(tmp_path):
    @jax.jit
    def step(params, x):
        g = {name: {"w": jnp.tanh(value * x)} for name, value in params.items()}
        return jax.tree.map(jnp.sum, g)

    for lr in (1, 2):
        with jdw.capture(watch="g", record=tmp_path / f"lr{lr}.jdw", name=f"lr{lr}"):
            step({"a": jnp.ones(3), "b": jnp.ones(3)}, float(lr))
    runs = jdw.load(tmp_path)
    expected = [f"lr{lr}: g['{name}']['w'].l2" for lr in (1, 2) for name in "ab"]
    for pattern in ("g['*']['w'].l2", 'g["?"]["w"].l2', "g[*].l2"):
        axes = runs.plot(pattern)
        assert [text.get_text() for text in axes.get_legend().get_texts()] == expected
    plt.close("all")
    header, row, *_ = repr(runs).splitlines()
    assert row[header.index("steps") :].split()[0] == "1", "steps are counted where no value is a number, too"


@pytest.mark.behaviour("R4")
def test_the_differences_of_several_runs_are_a_table(sweep):
    runs = jdw.load(f"{sweep}/run*.jdw")
    told = runs.differences()
    assert told.labels == ("lr 0.1", "lr 0.3", "lr 3")
    tables = [run.series("loss")[1] for run in runs]
    first = int(np.flatnonzero([len(set(step)) > 1 for step in zip(*tables, strict=True)])[0])
    assert told.first is not None and (told.first.name, told.first.first) == ("w.mean", first), "of the earlier line"
    title, header, *rows = repr(told).splitlines()
    assert title.startswith("w.mean (test_compare.py:") and title.endswith(f"differs first, at step {first}")
    assert header.split()[-6:] == ["lr", "0.1", "lr", "0.3", "lr", "3"]
    frame = told.to_pandas()
    assert list(frame.columns) == ["value", "where", "first", "at", "difference", "lr 0.1", "lr 0.3", "lr 3"]
    (number,) = np.flatnonzero(frame["value"] == "loss")
    at = int(frame["at"][number])
    assert [frame[label][number] for label in told.labels] == [table[at] for table in tables]
    assert rows[number].split()[-3:] == [f"{table[at]:.6g}" for table in tables]
    assert "<caption" in told._repr_html_()


@pytest.mark.parametrize(
    ("configs", "names", "labels"),
    [
        ([{"lr": 1.0, "seed": 0}, {"lr": 1.0, "seed": 1}], "ab", ["seed 0", "seed 1"]),
        ([{"seed": 0}, {"seed": 0}], "ab", ["a", "b"]),
        ([{"seed": 0}, {"seed": 0}], "aa", ["a #1", "a #2"]),
        (
            [{"lr": 1.0, "seed": 0}, {"lr": 1.0, "seed": 1}, {"lr": 2.0, "seed": 0}],
            "abc",
            ["lr 1, seed 0", "lr 1, seed 1", "lr 2"],
        ),
        ([{"lr": 1.0}, {"lr": 1.0}, {"lr": 2.0}], "aab", ["1, a #1", "1, a #2", "2"]),
    ],
)
def test_a_column_of_a_difference_is_never_called_by_the_name_of_another_run(tmp_path, configs, names, labels):
    runs = []
    for config, name in zip(configs, names, strict=True):
        with jdw.capture(name=name, config=config, record=tmp_path / "run.jdw") as run:
            stepped(jnp.ones(4), jnp.float32(0.1), 0)
        runs.append(run)
    assert list(runs[0].differences(*runs[1:]).labels) == labels


def test_runs_that_agree_and_one_run_alone(sweep):
    run = jdw.load(sweep / "run1.jdw")
    assert repr(run.differences(jdw.load(sweep / "run1.jdw"))) == "no value differs: 2 values compared"
    with pytest.raises(ValueError, match="two or more runs can be compared, not 1"):
        run.differences()


@pytest.mark.behaviour("R4")
def test_the_plot_of_several_runs_labels_them_by_their_differing_configuration(sweep):
    runs = jdw.load(f"{sweep}/run*.jdw")
    axes = runs.plot("loss", log=True)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["lr 0.1", "lr 0.3", "lr 3"]
    for line, run in zip(axes.lines, runs, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), run.series("loss")[1])
    with pytest.raises(KeyError, match="acc"):
        runs.plot("acc")
    alone = jdw.load(f"{sweep}/run1.jd*").plot("loss")
    assert [text.get_text() for text in alone.get_legend().get_texts()] == ["lr1"], "one run is called by its name"
    plt.close("all")


@jax.jit
def many(x):
    def body(loss, _):
        jax.debug.print("loss {loss}", loss=loss)
        return loss * 0.9999, None

    return lax.scan(body, x, None, length=50_000)[0]


def test_twenty_runs_of_fifty_thousand_steps_are_drawn_in_less_than_a_second(tmp_path):
    with jdw.capture(config={"lr": 0}) as run:
        many(jnp.float32(1))
    run.save(tmp_path / "0.jdw")
    for number in range(1, 20):
        copy = shutil.copytree(tmp_path / "0.jdw", tmp_path / f"{number}.jdw")
        for file in (copy / "run.json", copy / "p00000/state.json"):
            file.write_text(json.dumps({**json.loads(file.read_text()), "config": {"lr": number}}))
    plt.subplots()  # Matplotlib can be imported.
    began = time.process_time()
    axes = jdw.load(f"{tmp_path}/*.jdw").plot("loss")
    assert time.process_time() - began < 1.0
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [f"lr {number}" for number in range(20)]
    x, y = axes.lines[7].get_data()
    whole = run.series("loss")[1].astype(float).reshape(-1, 250)
    np.testing.assert_array_equal(x, np.arange(200) * 250 + 124)
    np.testing.assert_allclose(y, whole.mean(1), rtol=1e-12)
    plt.close("all")


@pytest.mark.parametrize("state", ["is gone", "is cut"])
def test_the_row_of_a_run_without_state_has_what_can_be_read(sweep, tmp_path, state):
    """Its state is lost. All its files are sealed, so that it is over."""
    copy = shutil.copytree(sweep / "run1.jdw", tmp_path / "cut.jdw")
    if state == "is gone":
        (copy / "p00000/state.json").unlink()
    else:
        (copy / "p00000/state.json").write_text('{"is_over": tr')
    for about in (copy / "run.json", copy / "p00000/process.json"):
        about.write_text(json.dumps({**json.loads(about.read_text()), "pid": 0x3FFFFFFF}))
    for name in ("lr0.2", "lr0.05"):
        shutil.copytree(sweep / "run2.jdw", tmp_path / f"{name}.jdw")
    assert [row.path.stem for row in jdw.load(tmp_path).rows] == ["cut", "lr0.05", "lr0.2"]
    (row,) = jdw.load(f"{tmp_path}/c*.jdw").rows
    assert (row.state, row.events, row.outline.steps, row.name) == ("done", 40, 20, "lr1")


def test_runs_of_a_sweep_are_rows_of_the_table_and_are_read_when_one_is_asked_for(sweep):
    session = current_session()
    runs = jdw.load(f"{sweep}/run*.jdw")
    rows = {row["key"]: row for row in session.listing.rows() if row["file"].startswith(str(sweep / "run"))}
    mine = [key for key in rows if key in {row.key for row in runs.rows}]
    assert [(rows[key]["name"], rows[key]["last"] is not None) for key in mine] == [
        (f"lr{n}", True) for n in (1, 2, 10)
    ]
    assert not {run.key for run in session.runs()} & set(mine)
    told = comparison(session, mine[:2])
    assert (told["by"], [group["label"] for group in told["groups"]]) == ("lr", ["0.1", "0.3"])
    assert {run.key for run in session.runs()} >= set(mine[:2]) and runs[0] is session.find_run(mine[0])
    assert [row["key"] for row in session.listing.rows()].count(mine[0]) == 1


def test_a_sweep_whose_files_are_gone_says_so(sweep, tmp_path):
    shutil.copytree(sweep / "run1.jdw", tmp_path / "a.jdw")
    runs = jdw.load(f"{tmp_path}/*.jdw")
    shutil.rmtree(tmp_path / "a.jdw")
    assert "cannot be compared" in comparison(current_session(), [runs.rows[0].key])["problem"]


def test_a_name_survives_when_it_is_given_after_the_end(tmp_path):
    with jdw.capture(name="first", record=tmp_path / "run.jdw") as run:
        stepped(jnp.ones(4), 0.1, 0)
    until(lambda: jdw.load(tmp_path / "run.jdw").is_complete)
    run.name = "best"
    run.save(tmp_path / "saved.jdw.zip")
    assert [jdw.load(tmp_path / name).name for name in ("run.jdw", "saved.jdw.zip")] == ["best", "best"]
    (row,) = jdw.load(f"{tmp_path}/run*.jdw").rows
    assert (row.name, row.asked) == ("best", "")
