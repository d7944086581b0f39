"""Test the comparison of runs: rows of a table, names and configurations, charts."""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session, snapshot_of
from jax_debug_widgets.session.panel.all_runs import comparison
from jax_debug_widgets.session.panel.compared import compared
from jax_debug_widgets.session.panel.rows import RunRows

STEPS = 12


@jax.jit
def stepped(w, lr):
    loss = (w**2).sum()
    grad = 2 * w
    jax.debug.print("loss {loss}", loss=loss)
    return w - lr * grad


def trained(lr, *, seed=None, steps=STEPS, watch=None, **options: Any):
    config = {"lr": lr} if seed is None else {"lr": lr, "seed": seed}
    with jdw.capture(config=config, watch=watch, **options) as run:
        w = jnp.full(3, 1.0 + (seed or 0))
        for _ in range(steps):
            w = stepped(w, lr)
    return run


def row_of(run):
    return RunRows(lambda _run: 0).of(run)


def test_a_row_says_what_a_run_is_called_how_it_was_asked_for_and_how_far_it_came():
    run = trained(0.1, name=" lr1 ", watch=["grad", "w*"], every=1, max_events=5000)
    row = row_of(run)
    assert (row["name"], row["config"], row["state"], row["file"]) == ("lr1", {"lr": 0.1}, "done", "")
    assert row["asked"] == "--watch grad,w* --max-events 5000"
    assert (row["value"], row["steps"], row["gone"]) == ("loss", STEPS, "")
    assert row["last"] == pytest.approx(3 * 0.8 ** (2 * STEPS - 2), rel=1e-4) and (row["step_ms"] or 0) > 0
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_the_row_of_a_run_under_vmap_counts_the_steps_of_an_array():
    @jax.vmap
    def shrunk(w):
        def body(w, _):
            h = jnp.sin(w)
            return h, None

        return jax.lax.scan(body, w, None, length=7)[0]

    with jdw.capture(watch="h") as run:
        jax.jit(shrunk)(jnp.ones((4, 2)))
    row, facts = row_of(run), {fact.label: fact.value for fact in snapshot_of(run).facts}
    assert (row["steps"], row["value"], facts["Steps"]) == (7, "", "7")


def test_parameters_are_compared_before_gradients():
    @jax.jit
    def step(params, x):
        def loss_fn(params):
            h = jnp.tanh(x @ params["w"])
            return (h**2).sum()

        grads = jax.grad(loss_fn)(params)
        return jax.tree.map(lambda p, g: p - g, params, grads)

    def run(scale):
        with jdw.capture(watch=True) as run:
            step({"w": jnp.full((2, 2), scale)}, jnp.ones((3, 2)))
        return run

    names = [chart["name"] for chart in compared([run(0.1), run(0.2)])["charts"]]
    assert names.index("params['w'].mean") < names.index("grad/h.l2") < names.index("h.mean")


def test_charts_of_one_name_have_their_lines():
    def run(x):
        with jdw.capture(watch="h,y") as run:
            jax.jit(twice)(jnp.full(3, x))
        return run

    charts = compared([run(1.0), run(2.0)])["charts"]
    line = twice.__code__.co_firstlineno
    where = {(chart["name"], chart["where"].rpartition(":")[2]) for chart in charts}
    assert where == {("h.mean", str(line + 1)), ("h.mean", str(line + 2)), ("y.mean", "")}


def twice(x):
    h = x * 2
    h = jnp.sin(h)
    y = h + 1
    return y * 2


def test_the_row_of_a_run_reports_values_that_are_not_finite_and_events_that_were_dropped():
    run = trained(1e30, steps=4)
    assert row_of(run)["last"] in ("Infinity", "NaN") and row_of(run)["findings"] == len(run.findings)
    run.release(1 << 30, arrays=False)
    assert "no longer in memory" in row_of(run)["gone"]


@pytest.mark.parametrize("wrong", [{"name": 3}, {"config": [("lr", 1)]}])
def test_a_name_that_is_no_string_and_a_config_that_is_no_dict_are_refused(wrong):
    with pytest.raises(TypeError, match="must be a"), jdw.capture(**wrong):
        pass


def test_a_run_is_renamed_and_its_config_may_be_completed():
    with jdw.capture(config={"lr": 1}) as run:
        run.config["width"] = jnp.float32(2)
    run.name = "wide"
    assert (row_of(run)["name"], row_of(run)["config"]) == ("wide", {"lr": 1, "width": 2.0})
    with pytest.raises(TypeError, match="must be a string"):
        run.name = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_the_legend_says_what_differs_and_seeds_are_one_line_with_a_band():
    runs = [trained(0.1, seed=0), trained(0.1, seed=1), trained(0.2, seed=0)]
    told = compared(runs)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert (told["by"], [group["label"] for group in told["groups"]]) == ("lr", ["0.1", "0.2"])
    assert [group["runs"] for group in told["groups"]] == [[0, 1], [2]]
    assert told["config"] == [
        {"name": "lr", "values": ["0.1", "0.1", "0.2"]},
        {"name": "seed", "values": ["0", "1", "0"]},
    ]
    (chart,) = told["charts"]
    band, line = chart["lines"]
    assert (chart["name"], band["of"], line["of"], "low" in line) == ("loss", 2, 1, False)
    losses = np.stack([run.series("loss")[1] for run in runs[:2]])
    for name, expected in (("y", losses.mean(0)), ("low", losses.min(0)), ("high", losses.max(0))):
        np.testing.assert_allclose(band[name], expected, rtol=1e-5)
    assert band["x"] == line["x"] == list(range(STEPS)) and line["seconds"] == sorted(line["seconds"])


def test_two_runs_part_at_the_step_and_the_line_where_a_value_differs_first():
    @jax.jit
    def step(x, i, at):
        h = jnp.where(i >= at, 2 * x, x)
        jax.debug.print("{h} {same} {i}", h=h, same=x, i=i)
        return x

    runs = []
    for at in (4, 9):
        with jdw.capture(config={"at": at}, watch="h") as run:
            for i in range(9):
                step(1.0, i, at)
        runs.append(run)
    told = compared(runs)
    assert (told["parted"]["name"], told["parted"]["first"], told["parted"]["values"]) == ("h", 4.0, [2.0, 1.0])
    assert [(row["name"], row["worst"], row["first"]) for row in told["values"]] == [
        ("h", 0.5, 4.0),
        ("same", 0.0, None),
    ]
    assert (told["compared"], told["unread"]) == (2, 0)
    assert compared([runs[0], runs[0]])["parted"] is None


def test_the_first_difference_at_a_step_is_that_of_the_value_computed_first():
    @jax.jit
    def step(w, lr):
        def loss_fn(w):
            h = jnp.sin(w)
            return (h**2).sum()

        loss, g = jax.value_and_grad(loss_fn)(w)
        jax.debug.print("loss {loss}", loss=loss)
        return w - lr * g

    runs = []
    for lr in (0.1, 0.2):
        with jdw.capture(config={"lr": lr}, watch="h,g") as run:
            w = jnp.full(3, 2.0)
            for _ in range(3):
                w = step(w, lr)
        runs.append(run)
    first = runs[0].differences(runs[1]).first
    assert {"grad/h.l2", "h.mean", "loss"} <= {*runs[0].differences(runs[1]).to_pandas()["value"]}
    assert first is not None and (first.name, first.first) == ("h.mean", 1.0)


def test_run_differences_compares_all_values_without_a_time_limit(monkeypatch):
    monkeypatch.setattr("jax_debug_widgets.session.panel.compared._SECONDS", 0.0)
    runs = []
    for add in (0.0, 1.0):
        with jdw.capture() as run:
            jax.jit(lambda x: jax.debug.print("{a} {b} {c}", a=x, b=x + add, c=x * 2))(1.0)  # noqa: B023
        runs.append(run)
    told = runs[0].differences(runs[1])
    assert (
        repr(told).splitlines()[0].startswith("x + add (")
        and repr(told).splitlines()[-1] == "the same in all: 2 values"
    )
    assert compared(runs)["unread"] > 0


def test_nan_in_one_run_alone_is_the_worst_difference():
    told = compared([trained(0.1), trained(1e30)])
    assert told["values"][0]["worst"] == "Infinity" and told["parted"]["first"] == 1.0
    assert {"NaN", "Infinity"} & set(told["charts"][0]["lines"][1]["y"])


def test_a_spike_of_a_long_run_is_among_the_few_points_that_are_sent():
    with jdw.capture(config={"spike": 1}) as run:
        jax.jit(
            lambda n: jax.lax.fori_loop(
                0, n, lambda i, _: jax.debug.print("{y}", y=jnp.where(i == 3210, 99.0, jnp.sin(i * 0.01))), None
            )
        )(5000)
        jax.effects_barrier()
    told = compared([run, run])
    line = told["charts"][0]["lines"][0]
    assert len(line["x"]) < 500 and line["y"][line["x"].index(3210)] == 99.0


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ([{"name": "a"}, {"name": "b"}], ["a", "b"]),
        ([{"title": "f(1)"}, {"title": "f(2)"}], ["f(1)", "f(2)"]),
        ([{"watch": "h"}, {}], ["--watch h", "capture"]),
        ([{}, {}], ["capture #1", "capture #2"]),
        ([{"config": {"a": 1, "b": 2}}, {"config": {"a": 2}}], ["a 1, b 2", "a 2, b -"]),
        (
            [{"config": {"lr": 1}, "name": "a"}, {"config": {"lr": 2}}, {}, {"watch": "h"}],
            ["1", "2", "-", "-, --watch h"],
        ),
        ([{"config": {"seed": 1}, "name": "x"}, {"config": {"seed": 2}, "name": "x"}], ["x"]),
    ],
)
def test_runs_without_a_config_are_distinguished_by_what_else_differs(options, labels):
    runs = []
    for one in options:
        with jdw.capture(**one) as run:
            pass
        runs.append(run)
    told = compared(runs)
    assert [group["label"] for group in told["groups"]] == labels


def test_a_run_that_is_gone_is_named_and_the_others_are_compared():
    run = trained(0.1)
    told = comparison(current_session(), [run.key, "nobody"])
    assert (told["runs"], told["missing"]) == ([run.key], ["nobody"])
