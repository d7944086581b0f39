"""Test the saved picture of a run: the rules that it shares with the panel, and a real training loop."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets.events import Finding
from jax_debug_widgets.events.amounts import in_time
from jax_debug_widgets.session import snapshot_of
from jax_debug_widgets.session.panel.lane_spread import gathered
from jax_debug_widgets.session.panel.overview import _compiled, born_of, groups
from jax_debug_widgets.session.panel.words import gone_from
from jax_debug_widgets.session.run import charted
from jax_debug_widgets.session.run.counters import Counters, counts
from jax_debug_widgets.session.run.groups import hues_of, in_loop, is_bias, kind_of, largest, numbered, path_of
from jax_debug_widgets.session.run.headline import pace_of, pace_of_calls, rank_of
from jax_debug_widgets.session.run.lane_numbers import lane_count, mean_text
from jax_debug_widgets.session.run.run_summary import outline
from jax_debug_widgets.widgets import Fact
from jax_debug_widgets.widgets.overview import _by_name, _chart, _facts, drawing
from jax_debug_widgets.widgets.snapshot import CurveGroup, GroupLine

CASES = json.loads((Path(__file__).parents[1] / "overview_cases.json").read_text("utf-8"))


def number(y):
    return float("nan") if y is None else y


@pytest.mark.parametrize(("name", "title"), CASES["titles"])
def test_a_line_of_a_chart_is_called_as_in_the_panel(name, title):
    path = path_of(name)
    assert path is not None and path.title == title


def test_a_chart_of_many_lines_has_the_largest_and_says_so():
    for sizes, most, kept in CASES["largest"]:
        assert largest([number(size) for size in sizes], most) == kept
    params = {f"w{i}": jnp.float32([1.0, 2.0]) * (1000 if i == 27 else 1) for i in range(30)}

    @jax.jit
    def step(params):
        loss, grads = jax.value_and_grad(lambda p: sum((w**2).sum() for w in p.values()))(params)
        return jax.tree.map(lambda w, g: w - 0.1 * g, params, grads), loss

    with jdw.capture(watch=True) as run:
        for _ in range(3):
            params, _ = step(params)
    (chart,) = (one for one in groups(run) if one.title == "Gradient norms")
    assert chart.note == "the 24 largest, 6 more in the panel"
    assert "w27" in {line.leaf for line in chart.lines} or "w27" in {line.group for line in chart.lines}


def test_the_rules_are_those_of_the_panel():
    for name, forward, watched, rank in CASES["ranks"]:
        assert rank_of(name, forward=forward, watched=watched) == rank, name
    for name, place, kind, bias in CASES["paths"]:
        path = path_of(name)
        assert (path and [path.root, path.group, path.leaf]) == place, name
        assert (kind_of(path.root), is_bias(path.leaf)) == (kind, bias) if path else not kind
    for sizes, hues in CASES["hues"]:
        assert hues_of((group, number(size)) for group, size in sizes) == hues
    for times, drawn in CASES["in_loop"]:
        assert in_loop(range(len(times)), times.__getitem__) == drawn
    for words, told in CASES["numbered"]:
        assert numbered(words) == told
    for x, time, pace in CASES["paces"]:
        assert pace_of(np.array(x), np.array(time)) == pytest.approx(pace)
    for calls, name, steps, pace, *since in CASES["call_paces"]:
        assert pace_of_calls([tuple(call) for call in calls], name, steps, *since) == pytest.approx(pace)
    for headline, label, name in CASES["born"]:
        fact = born_of(
            [Finding.at("keys", "", "`k` used twice", ""), Finding.at("nonfinite", "a.py:3", headline, "", lane=(2,))]
        )
        assert fact == Fact(label, name, "a.py:3, lane 2", True)
    for first, last, words in CASES["courses"]:
        assert gone_from(number(first), number(last)) == words


def test_the_lanes_that_have_one_number_each_are_those_of_the_panel():
    for shape, vmapped, count in CASES["lane_numbers"]:
        watch: Any = SimpleNamespace(shape=tuple(shape), vmapped=tuple(vmapped))
        assert lane_count(watch) == count, (shape, vmapped)
    for count, bad, words in CASES["lane_means"]:
        assert mean_text(count, bad) == words


@pytest.mark.parametrize("case", CASES["printed_lanes"], ids=lambda case: str(case["lanes"]))
def test_lanes_that_print_one_by_one_have_the_means_of_the_panel(case):
    steps, lanes, values = (np.array([number(y) for y in case[name]]) for name in ("steps", "lanes", "values"))
    history = SimpleNamespace(places=lambda _: (steps, lanes, np.zeros(len(steps))))
    store: Any = SimpleNamespace(history=history)
    site: Any = Numbered(1)
    found = gathered(store, site, values)
    assert found is not None
    x, means, spread = found
    assert x.tolist() == sorted(set(case["steps"])) and (spread.count, spread.bad) == (case["count"], case["bad"])
    assert means == pytest.approx([number(y) for y in case["means"]], nan_ok=True)
    for at, low, high, mark in zip(x, spread.low, spread.high, spread.marks, strict=True):
        own = values[steps == at]
        finite = own[np.isfinite(own)]
        assert (low, high) == (
            (finite.min(), finite.max()) if len(finite) else (pytest.approx(np.nan, nan_ok=True),) * 2
        )
        assert np.isfinite(mark) == np.isfinite(own).all()


@dataclass(frozen=True)
class Numbered:
    """The fields of a site that determine which series counts."""

    id: int


@dataclass(frozen=True)
class Choice:
    """A value of such a site."""

    site: Numbered
    value: int = 0
    name: str = "count"


def counters(series, x=None):
    """Return which of these series of one name are counters, in a store without other series."""
    arrays = [np.array(values, dtype) for dtype, values in series]
    history = SimpleNamespace(
        series=lambda site, _: (None, None, arrays[site]),
        places=lambda site: (np.arange(len(arrays[site])) if x is None else np.array(x), None, None),
    )
    store: Any = SimpleNamespace(history=history, latest_taps=lambda: [SimpleNamespace(shapes=[()]) for _ in arrays])
    choices: Any = [Choice(Numbered(i)) for i in range(len(arrays))]
    found = Counters(store, choices)
    return [found.has(choice, values) for choice, values in zip(choices, arrays, strict=True)]


def test_counters_are_those_of_the_panel():
    for values, dtype, is_counter in CASES["counters"]:
        assert counts(np.array(values, dtype)) is is_counter, values
    for series, are_counters in CASES["counters_of_a_name"]:
        assert counters(series) == are_counters, series
    for x, _, values, is_counter in CASES["counters_in_lanes"]:
        assert counters([("int32", values)], x) == [is_counter], values


@dataclass(eq=False)
class Site:
    """The fields of a site that the choice reads."""

    watch: SimpleNamespace
    phase: str
    values: list[str]
    function: str


@pytest.mark.parametrize("case", CASES["charted"], ids=lambda case: str(len(case["sites"])))
def test_the_saved_picture_draws_the_values_that_the_panel_draws(case):
    sites: Any = [
        Site(
            SimpleNamespace(name=name, role=role, shape=shape, dtype=dtype, primitive=primitive),
            phase,
            values,
            "".join(of),
        )
        for name, role, phase, shape, dtype, primitive, values, *of in case["sites"]
    ]
    at = sites.index
    gradients = [[at(one.site), one.path.group, one.path.leaf] for one in charted.gradients(sites)]
    assert gradients == case["gradients"]
    assert [[at(one.site), at(of.site)] for one, of in charted.ratios(sites)] == case["ratios"]
    assert [[at(one.site), one.path.group] for one in charted.activations(sites)] == case["activations"]


def test_the_stacked_result_of_a_loop_is_not_drawn_beside_its_steps():
    """Its NaN would be at step 0."""

    @jax.jit
    def train(w):
        def body(w, i):
            scaled = w * 2.0
            return w / jnp.where(i == 3, 0.0, 2.0), scaled

        w, history = jax.lax.scan(body, w, jnp.arange(5))
        return w, history

    with jdw.capture(watch="scaled,history") as run:
        train(jnp.zeros(3))
    assert [len(run[name]["std"]) for name in ("scaled", "history")] == [5, 1]
    spreads = snapshot_of(run).groups[-1]
    assert [line.group for line in spreads.lines] == ["scaled"]


def test_a_row_of_the_table_of_runs_says_what_the_overview_says():
    """It has steps of the outer loop, not of the inner one, and the loss, not a counter that restarts in each call."""

    @jax.jit
    def step(w):
        def halved(i, w):
            jax.debug.print("{i} {w}", i=i, w=w)
            return w / 2

        w = jax.lax.fori_loop(0, 5, halved, w)
        jax.debug.print("{total}", total=w.sum())
        return w

    with jdw.capture() as run:
        w = jnp.ones(3)
        for _ in range(12):
            w = step(w)
    told, facts = outline(run), {fact.label: fact.value for fact in snapshot_of(run).facts}
    assert (told.value, told.steps, told.last) == ("total", 12, pytest.approx(float(w.sum())))
    assert told.ms_a_step is not None
    assert facts["Steps"] == "12" and facts["A step"] == in_time(told.ms_a_step / 1e3)


LANES, STEPS = 8, 6


@pytest.fixture(scope="module", params=["a training in lanes", "a scan of a step in lanes"])
def lanes(request):
    """Train with 8 seeds, of which one has a NaN loss from step 4 on; return the run and the losses."""

    def step(w, i):
        def loss_fn(w):
            loss = (w**2).sum()
            return loss + 0

        loss, gradient = jax.value_and_grad(loss_fn)(w)
        return jnp.where((i == 3) & (w < 2), jnp.nan, w - 0.1 * gradient), loss

    def train(w):
        return jax.lax.scan(step, w, jnp.arange(STEPS))[1]

    def scan(ws):
        return jax.lax.scan(jax.vmap(step, (0, None)), ws, jnp.arange(STEPS))[1].T

    # After three steps only the first is below 2.
    ws = 1.5 * jnp.arange(2.0, 2.0 + LANES)[:, None]
    with jdw.capture(watch=True) as run:
        losses = jax.jit(jax.vmap(train) if request.param == "a training in lanes" else scan)(ws)
    return run, np.asarray(losses)


def test_a_training_in_lanes_has_the_mean_of_its_loss_and_what_the_lanes_span(lanes):
    run, losses = lanes
    kept = snapshot_of(run)
    assert losses.shape == (LANES, STEPS) and np.isnan(losses).sum() == 2
    series = kept.series[0]
    assert series.name == "loss" and series.lanes is not None and series.lanes.count == LANES
    assert series.steps.tolist() == list(range(STEPS))
    for found, of in ((series.values, np.nanmean), (series.lanes.low, np.nanmin), (series.lanes.high, np.nanmax)):
        assert found == pytest.approx(of(losses, axis=0), rel=1e-5)
    assert np.flatnonzero(~np.isfinite(series.lanes.marks)).tolist() == [4, 5]
    facts = {fact.label: fact for fact in kept.facts}
    fact, ends = facts["loss"], np.nanmean(losses, axis=0)
    assert (fact.value, fact.bad) == (gone_from(float(ends[0]), float(ends[-1])), True)
    assert fact.note == f"{series.site.where}, mean of 8 lanes, 1 not finite"
    assert facts["Steps"].value == str(STEPS) and "lane 0" in facts["First NaN"].note
    assert outline(run).strand == "mean of 8 lanes" and outline(run).last == pytest.approx(ends[-1], rel=1e-5)


def test_the_picture_of_a_training_in_lanes_has_a_band_and_a_mark_where_a_lane_is_nan(lanes):
    svg = ET.fromstring(drawing(snapshot_of(lanes[0])))  # noqa: S314 - our own
    chart = next(svg.iter("{http://www.w3.org/2000/svg}g"))
    words = [element.text or "" for element in chart.iter("{http://www.w3.org/2000/svg}text")]
    assert words[0] == "loss" and words[1].endswith(", 8 lanes") and "× NaN" in words
    (band,) = (path for path in chart.iter("{http://www.w3.org/2000/svg}path") if path.get("class") == "l")
    points = re.findall(r"[ML]([\d.]+) ([\d.]+)", band.get("d", ""))
    assert len(points) == 2 * STEPS, "there and back"


def test_a_loss_that_lanes_print_has_the_mean_of_each_step():
    def step(w, _):
        jax.debug.print("loss {loss}", loss=w)
        return w / 2, None

    with jdw.capture() as run:
        jax.jit(jax.vmap(lambda w: jax.lax.scan(step, w, length=3)[0]))(jnp.arange(1.0, 6.0))
    kept = snapshot_of(run)
    (series,), facts = kept.series, {fact.label: fact for fact in kept.facts}
    assert (series.steps.tolist(), series.values.tolist()) == ([0, 1, 2], [3.0, 1.5, 0.75])
    assert series.lanes is not None and series.lanes.high.tolist() == [5.0, 2.5, 1.25]
    assert (facts["loss"].value, facts["Steps"].value) == ("3 → 0.75", "3")
    assert facts["loss"].note == f"{series.site.where}, mean of 5 lanes"


def unit(z):
    n2 = (z**2).sum(-1, keepdims=True)
    norm = jnp.where(n2 > 0, jnp.sqrt(n2), 1.0)
    return z / norm


@jax.jit
def step(params, x, i):
    def loss_fn(params):
        first, second = params["layers"]
        h = unit(x @ first["w"]) + first["b"]
        return ((jnp.tanh(h) @ second["w"] + second["b"] - 1.0) ** 2).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    jax.debug.print("{i} loss {loss}", i=i, loss=loss)
    return jax.tree.map(lambda p, g: p - jnp.where(jnp.isfinite(g), 0.1 * g, 0.0), params, grads)


@pytest.fixture
def run():
    key, sizes = jax.random.key(0), ((4, 8), (8, 2))
    params = {"layers": [{"w": jax.random.normal(key, size), "b": jnp.zeros((1, size[1]))} for size in sizes]}
    x = jax.random.normal(key, (16, 4))
    with jdw.capture(watch=True) as run:
        for i in range(12):
            params = step(params, x.at[0].set(0.0) if i == 8 else x, i)
    return run


def test_the_first_nan_of_a_shard_map_is_reported_with_its_device():
    mesh = Mesh(np.array(jax.devices()[:4]), "d")

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    def logs(x):
        y = jnp.log(x)
        return y * 2

    with jdw.capture(watch=["y"]) as run:
        assert np.isinf(logs(jnp.array([1.0, 2.0, 0.0, 4.0]))).sum() == 1
    (fact,) = (fact for fact in snapshot_of(run).facts if fact.label == "First infinity")
    assert (fact.value, fact.note.rpartition(", ")[2]) == ("y", "cpu:2")
    (finding,) = run.findings
    first = run.status().first_nonfinite
    assert "first at cpu:2 (event" in finding.message and first is not None and first.event == finding.event


def test_a_training_loop_has_facts_its_loss_and_the_gradients_of_its_parameters(run):
    kept = snapshot_of(run)
    facts = {fact.label: fact for fact in kept.facts}
    assert facts["Steps"].value == "12" and facts["Compiled"].value == "once"
    assert f"{facts['Compiled'].note.partition(',')[0]} of it compiling" in facts["Steps"].note
    assert "→" in facts["loss"].value and not facts["loss"].bad
    assert facts["First NaN"].value == "∂ n2" and "step 8" in facts["First NaN"].note and facts["First NaN"].bad
    assert [series.name for series in kept.series] == ["loss"]
    gradients, ratios, spreads = kept.groups
    assert not ratios.lines, "this loop has no updates"
    drawn = {(line.group, line.leaf, line.hue, line.dashed) for line in gradients.lines}
    assert drawn == {(f"layers[{layer}]", leaf, layer, leaf == "b") for layer in (0, 1) for leaf in ("b", "w")}
    assert [line.leaf for line in gradients.lines] == ["w", "b", "w", "b"], "a bias stands last"
    assert {"h", "n2", "norm"} <= {line.group for line in spreads.lines}
    assert "x" not in {line.group for line in spreads.lines}, "what is handed in is not computed"


def test_the_picture_is_an_image_with_words_that_stands_without_styles_or_scripts(run):
    html = run.panel.bundle()["text/html"]
    assert len(html) < 60_000
    (image,) = re.findall(r"<img [^>]*>", html)
    assert "Steps 12" in image and "First NaN ∂ n2" in image
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', image)
    svg = ET.fromstring(base64.b64decode(data))  # noqa: S314 - our own
    words = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Gradient norms", "Std of values", "loss", "layers[0]", "layers[1]", "× NaN"} <= set(words)
    text = run.panel.bundle()["text/plain"]
    assert "Steps 12 · " in text and "First NaN ∂ n2" in text


@pytest.mark.parametrize(("by_numba", "note"), [(None, "1.10 s"), (4.0, "5.10 s, 4.00 s of it Numba"), (0.1, "1.20 s")])
def test_the_time_of_numba_is_reported_where_it_is_much(by_numba, note):
    call: Any = SimpleNamespace(of="f", trace=0.1, numba=by_numba, lower=None, compile=1.0)
    fact = _compiled([call])
    assert fact is not None and (fact.value, fact.note) == ("once", note)


def test_facts_of_the_picture_have_the_width_that_their_words_need_and_go_on_in_a_second_row():
    facts = [
        Fact("Steps", "92", "in 53.0 s, 33.6 s of it compiling", False),
        Fact("A step", "5.1 ms", "wall time of recent steps", False),
        Fact("loss", "2.29 → 0.20", "In [12]:24", False),
        Fact("First NaN", "∂ n2", "In [2]:7, step 20, lane (3, 0), cpu:2", True),
        Fact("Compiled", "3 times", "33.6 s", False),
    ]
    parts, height = _facts(facts)
    written = [ET.fromstring(one) for one in parts]  # noqa: S314 - our own
    assert [one.text for one in written] == [word for fact in facts for word in (fact.label, fact.value, fact.note)]
    assert {one.get("y") for one in written} == {"18", "39", "56", "84", "105", "122"} and height == 132


def test_a_check_alone_has_its_finding_before_the_picture_and_its_first_nan_in_it():
    with jdw.capture(check="nonfinite") as run:
        jax.jit(lambda y: jnp.log(y) + 1)(jnp.arange(3.0) - 1)
    html = run.panel.bundle()["text/html"]
    assert "First NaN jnp.log(y)" in html
    assert html.index(">jnp.log(y)</code> is NaN") < html.index("<img ")


def test_numbers_of_one_name_share_a_chart_and_the_gradient_of_the_loss_by_itself_is_not_drawn():
    @jax.jit
    def train(w):
        def loss_fn(w):
            loss = (w**2).sum()
            return loss + 0

        loss, gradient = jax.value_and_grad(loss_fn)(w)
        jax.debug.print("train {loss}", loss=loss)
        jax.debug.print("again {loss}", loss=2 * loss)
        return w - 0.1 * gradient

    with jdw.capture(watch="loss") as run:
        w = jnp.ones(2)
        for _ in range(3):
            w = train(w)
    kept = snapshot_of(run)
    assert any(site.watch and site.watch.role == "gradient" for site in kept.sites)
    assert kept.groups[0].lines == []
    (chart,) = [group for group in _by_name(kept.series) if group.title == "loss"]
    assert [line.group for line in chart.lines] == [one.site.where for one in kept.series] and len(chart.lines) == 2


def test_a_zero_does_not_break_a_line_on_a_logarithmic_axis():
    values = np.array([1.0, 0.0, 10.0, np.nan, 0.0, 100.0])
    line = GroupLine("w", "", 0, dashed=False, steps=np.arange(6), values=values)
    drawn = [
        path for path in re.findall(r' d="([^"]*)"', _chart(CurveGroup("norms", "", True, [line]), 400)) if "L" in path
    ]
    assert [path.count("M") for path in drawn] == [2] and [path.count("L") for path in drawn] == [1]


def test_a_run_that_says_nothing_has_no_picture():
    with jdw.capture() as run:
        jax.jit(lambda x: x + 1)(1.0)
    kept = snapshot_of(run)
    assert (kept.series, [group.lines for group in kept.groups]) == ([], [[], [], []])
    assert run.panel.bundle()["text/html"]


@jax.jit
def update(params, x):
    def encode(x):
        h = jnp.tanh(x @ params["w"])
        return h.sum()

    def decode(x):
        h = jnp.cos(x @ params["w"]) * 2
        return h.sum()

    grads = {"w": jnp.where(x.sum() > 8, jnp.full((2, 2), 1e-6).at[0, 0].set(jnp.nan), 1e-6)}
    updates = {"w": grads["w"] * 0.5}
    return {"w": params["w"] + jnp.nan_to_num(updates["w"]) * 0}, encode(x) + decode(x)


@pytest.fixture(scope="module")
def updated():
    params = {"w": jnp.ones((2, 2))}
    with jdw.capture(watch=True) as run:
        for step in range(4):
            params, _ = update(params, jnp.full((2, 2), float(step)))
    run.name, run.cell = "small <steps>", 7
    return run


def test_the_size_of_updates_and_all_values_of_one_name_are_drawn(updated):
    _, ratios, activations = snapshot_of(updated).groups
    (line,) = ratios.lines
    assert line.values[:3] == pytest.approx(0.5e-6, rel=1e-5) and np.isnan(line.values[3])
    names = [line.group for line in activations.lines]
    assert len([name for name in names if name.startswith("h :")]) == 2, names


def test_each_chart_shows_values_that_are_not_finite_at_their_step(updated):
    gradients, ratios, _ = snapshot_of(updated).groups
    for group in (ratios, gradients):
        assert [np.flatnonzero(~np.isfinite(line.values)).tolist() for line in group.lines] == [[3]], group.title


def test_the_saved_output_says_which_run_it_is_and_cuts_no_number(updated):
    html = updated.panel.bundle()["text/html"]
    assert "In [7]</span>" in html and "small &lt;steps&gt;" in html
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    svg = ET.fromstring(base64.b64decode(data))  # noqa: S314 - our own
    axis = [one for one in svg.iter("{http://www.w3.org/2000/svg}text") if one.get("text-anchor") == "end"]
    # A digit is some 6.2 pixels wide.
    assert all(float(one.get("x", 0)) >= 6.2 * len(one.text or "") for one in axis), [one.text for one in axis]


def test_a_breakpoint_is_no_number_of_its_run_and_none_of_its_steps_and_prints():
    @jax.jit
    def doubled(x):
        def body(i, x):
            return jdw.breakpoint(x, when=i == 3) * 2

        return jax.lax.fori_loop(0, 8, body, x)

    with jdw.capture() as run:
        jax.block_until_ready(doubled(jnp.float32(1)))
    jax.effects_barrier()
    assert len(run.events) == 1
    assert outline(run) == type(outline(run))()
    assert snapshot_of(run).series == []
    report = run.report()
    assert "## Values" not in report and "## Last lines" not in report


def test_the_step_counter_of_an_optimiser_is_not_drawn():
    @jax.jit
    def train(w):
        def body(carry, _):
            w, count = carry
            count = count + 1
            loss = (w**2).sum()
            return (w - 0.1 * w, count), loss

        (w, count), losses = jax.lax.scan(body, (w, 0), None, length=6)
        return w, count, losses

    with jdw.capture(watch=True) as run:
        train(jnp.ones(3))
    names = [site.watch.name for site in run.store.sites() if site.watch]
    assert names.count("count") == 2, "in the loop, and returned by it"
    assert [series.name for series in snapshot_of(run).series] == ["loss"]
    assert "`count" not in run.report()
