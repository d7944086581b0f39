"""Test the values of each lane of a `vmap` against the unjitted expression on the operands of that lane."""

from __future__ import annotations

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, PartitionSpec

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer
from jax_debug_widgets.watch.choosing.lanes import MOST_LANES
from jax_debug_widgets.watch.statistics import statistics
from jax_debug_widgets.watch.statistics.statistics import STATISTICS

LANES = 5
W = jnp.linspace(-1.0, 1.0, 12).reshape(3, 4)
XS = jnp.linspace(-2.0, 2.0, LANES * 4).reshape(LANES, 4)


@jax.custom_jvp
def clipped(x):
    return jnp.clip(x, -0.5, 0.5)


clipped.defjvp(lambda primals, tangents: (clipped(*primals), tangents[0]))


def hidden(w, x):
    return jnp.tanh(w @ x)


def model(w, x):
    h = jnp.tanh(w @ x)
    c = clipped(h)
    total = (h * c).sum()
    return total


def stepped(w, x):
    def step(x, _):
        h = jnp.tanh(w @ x)
        return jnp.append(h, 0.5), h.sum()

    return lax.scan(step, x, length=3)[1].sum()


def batched_in_a_loop(w, xs):
    def step(w, _):
        loss = jax.vmap(model, (None, 1))(w, xs.T).sum()
        return w + 0.1, loss

    return lax.scan(step, w, length=3)[1].sum()


PROGRAMS = {
    "vmap": lambda: jax.jit(jax.vmap(model, (None, 0)))(W, XS),
    "vmap of another axis": lambda: jax.jit(jax.vmap(model, (None, 1)))(W, XS.T),
    "vmap of jit": lambda: jax.jit(jax.vmap(jax.jit(model), (None, 0)))(W, XS),
    "grad of vmap": lambda: jax.jit(jax.grad(lambda w: jax.vmap(model, (None, 0))(w, XS).sum()))(W),
    "vmap of grad": lambda: jax.jit(jax.vmap(jax.value_and_grad(model), (None, 0)))(W, XS),
    "vmap of remat": lambda: jax.jit(jax.vmap(jax.value_and_grad(jax.checkpoint(model)), (None, 0)))(W, XS),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_lane_has_the_value_of_the_unjitted_program(name, watched, same_bits):
    plain = PROGRAMS[name]()
    run = watched(PROGRAMS[name], watch="lanes/h,lanes/total")
    assert same_bits(run.result, plain)
    wanted = np.stack([hidden(W, x) for x in XS])
    agree(next(one for label, one in run.values.items() if label.startswith("h")), wanted)
    if "total" in run.values:
        np.testing.assert_allclose(run["total"].lanes["value"][0], [model(W, x) for x in XS], rtol=1e-5)


def agree(value, wanted: np.ndarray, step: int = 0) -> None:
    """Assert that a value has the lanes of `wanted`, whose first axes are the lanes."""
    lanes = value.lanes
    rest = tuple(range(lanes["mean"].ndim - 1, wanted.ndim))
    finite = np.where(np.isfinite(wanted), wanted, np.nan)
    of = {"min": np.nanmin, "max": np.nanmax, "mean": np.nanmean, "std": np.nanstd}
    for name, reduced in of.items():
        atol = 2e-3 * np.nanmax(np.abs(finite)) if name == "std" else 1e-5
        np.testing.assert_allclose(lanes[name][step], reduced(finite, axis=rest), rtol=1e-4, atol=atol, err_msg=name)
    counts = {"zeros": wanted == 0, "nan": np.isnan(wanted), "posinf": wanted == np.inf, "neginf": wanted == -np.inf}
    for name, which in counts.items():
        np.testing.assert_array_equal(lanes[name][step], which.sum(rest), err_msg=name)
    np.testing.assert_allclose(lanes["l2"][step], np.sqrt((wanted**2).sum(rest)), rtol=1e-4)


def test_lanes_in_loops_and_loops_in_lanes(watched):
    run = watched(jax.jit(jax.vmap(stepped, (None, 0))), W, XS, watch="lanes/h")
    x = XS
    for step in range(3):
        h = np.stack([hidden(W, one) for one in x])
        agree(run["h"], h, step)
        x = jnp.concatenate([h, np.full((LANES, 1), 0.5)], 1)
    run = watched(jax.jit(batched_in_a_loop), W, XS, watch="lanes/h")
    for step in range(3):
        agree(run["h"], np.stack([hidden(W + 0.1 * step, x) for x in XS]), step)


def test_lanes_of_several_vmaps_are_listed_from_the_outermost(watched):
    ws = jnp.stack([W, W + 1])
    both = jax.jit(jax.vmap(jax.vmap(model, (None, 0)), (0, None)))
    run = watched(both, ws, XS, watch="lanes/h")
    assert run["h"].site.watch.lanes == (2, LANES)
    assert run["h"].lanes["mean"].shape == (1, 2, LANES)
    agree(run["h"], np.stack([[hidden(w, x) for x in XS] for w in ws]))


def test_a_gradient_has_the_lanes_of_its_value(watched):
    scaled = jnp.arange(1.0, LANES + 1)
    program = jax.jit(jax.grad(lambda w: (scaled * jax.vmap(model, (None, 0))(w, XS)).sum()))
    run = watched(program, W, watch="lanes/grad/total,lanes/grad/h")
    np.testing.assert_allclose(run["grad/total"].lanes["value"][0], scaled)
    wanted = []
    for scale, x in zip(scaled, XS, strict=True):
        h = hidden(W, x)
        wanted.append(scale * (h + clipped(h)))
    agree(run["grad/h"], np.stack(wanted))


@pytest.mark.parametrize("is_native", [True, False])
def test_counts_of_nan_and_infinity_are_by_lane(is_native, watched, monkeypatch):
    if not is_native:
        monkeypatch.setattr(statistics, "native_target", lambda: None)
        monkeypatch.setattr("jax_debug_widgets.watch.choosing.lanes.native_target", lambda: None)
    x = np.array([[1, 2, 0, 4], [np.nan, 2, 3, -4], [np.inf, 1e30, -1e30, 0], [-np.inf, 1, 2, 3]], np.float32)

    def echo(x):
        y = x * 1
        return y.sum()

    with np.errstate(all="ignore"):
        run = watched(jax.jit(jax.vmap(echo)), x, watch="y", lanes=True)
        lanes = run["y"].lanes
        agree_but_norm = {name: lanes[name][0] for name in ("min", "max", "nan", "posinf", "neginf", "zeros")}
    assert {name: list(column) for name, column in agree_but_norm.items()} == {
        "min": [0, -4, np.float32(-1e30), 1],
        "max": [4, 3, np.float32(1e30), 3],
        "nan": [0, 1, 0, 0],
        "posinf": [0, 0, 1, 0],
        "neginf": [0, 0, 0, 1],
        "zeros": [1, 0, 1, 0],
    }
    np.testing.assert_array_equal(np.isnan(lanes["l2"][0]), [False, True, False, False])


def test_only_the_first_lanes_are_recorded_above_a_limit(watched):
    xs = jnp.arange(4.0 * (MOST_LANES + 88)).reshape(-1, 4)
    run = watched(jax.jit(jax.vmap(model, (None, 0))), W, xs, watch="lanes/h")
    assert run["h"].lanes["mean"].shape == (1, MOST_LANES)
    assert run["h"].site.watch.lanes == (MOST_LANES + 88,)
    np.testing.assert_allclose(run["h"]["mean"], np.mean([hidden(W, x) for x in xs]), rtol=1e-3)


def test_the_lanes_of_a_value_without_lanes_are_refused_with_a_reason(watched):
    run = watched(jax.jit(jax.vmap(model, (None, 0))), W, XS, watch="lanes/w,lanes/h")
    assert run["h"].lanes and run["w"]["mean"].size
    assert any(note.startswith("No lanes of w. ") for note in run.status().notes)
    with pytest.raises(KeyError, match="is not taken by lane: ask for it with watch='lanes/w'"):
        _ = run["w"].lanes
    run = watched(jax.jit(jax.vmap(model, (None, 0))), W, XS, watch="w", lanes=True)
    with pytest.raises(KeyError, match="is not taken by lane: none of its axes is known to come from vmap"):
        _ = run["w"].lanes
    run = watched(jax.jit(jax.vmap(model, (None, 0))), W, XS, watch="lanes/hh")
    assert any("'lanes/hh'" in note and "Did you mean 'h'" in note for note in run.status().notes)


def test_a_statistic_that_lanes_do_not_have_is_answered_with_those_they_have(watched):
    run = watched(jax.jit(jax.vmap(model, (None, 0))), W, XS, watch="lanes/h,lanes/total")
    with pytest.raises(KeyError, match="total is one number a lane and has no 'mean'; it has value"):
        _ = run["total"].lanes["mean"]
    with pytest.raises(KeyError, match=f"h is taken by lane and has no 'value'; it has {', '.join(STATISTICS)}"):
        _ = run["h"].lanes["value"]


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("looped", [False, True], ids=["straight", "in a loop"])
def test_integers_of_lanes_are_shown_to_the_last_digit(watched, dtype, looped):
    first = np.arange(2**24 + 1, 2**24 + 1 + LANES, dtype=dtype)

    def count(x):
        def step(x, _):
            n = x + dtype(2)
            return n, None

        return lax.scan(step, x, length=40)[0] if looped else step(x, None)[0] * dtype(3)

    run = watched(jax.jit(jax.vmap(count)), first, watch="lanes/n")
    told = run["n"].lanes["value"]
    assert told.shape == (40 if looped else 1, LANES)
    for step, row in enumerate(told):
        np.testing.assert_array_equal(row, first + dtype(2 * step + 2))


def test_lanes_beside_whole_values_histograms_and_a_condition(watched):
    program = jax.jit(jax.vmap(model, (None, 0)))
    run = watched(program, W, XS, watch="h,c", lanes=True, values=True, histograms=True, when="h.max() > 0")
    wanted = np.stack([hidden(W, x) for x in XS])
    agree(run["h"], wanted)
    agree(run["c"], np.clip(wanted, -0.5, 0.5))
    np.testing.assert_allclose(run["h"]["value"][0], wanted.T, rtol=1e-6)
    assert run["h"].histogram.sum() == wanted.size
    image = run.plot("h", kind="lanes").images[0].get_array()
    np.testing.assert_allclose(image[:, 0], wanted.mean(1), rtol=1e-4)
    image = run.plot("h.max", kind="lanes").images[0].get_array()
    np.testing.assert_allclose(image[:, 0], wanted.max(1), rtol=1e-4)


def asked(run, **request):  # noqa: ANN003 - a request's fields
    content = next(iter(answer(current_session(), {"run": run.key, "id": 3, **request})))[0]
    assert content["type"] != "error", content
    return content


def test_the_source_view_asks_for_lanes_from_the_next_run_on(watched):
    program = jax.jit(jax.vmap(model, (None, 0)))
    run = watched(program, W, XS, watch="h,c")
    assert "lanes" not in run["h"].site.values
    asked(run, type="watch", names=["lanes/h"], on=True)
    assert run.status().added == ("lanes/h",)
    run = watched(program, W, XS, watch="h,c")
    assert "lanes" in run["h"].site.values and "lanes" not in run["c"].site.values
    site = run["h"].site
    table = asked(run, type="array", event=0, value=site.values.index("lanes"))
    assert (table["rows"], table["columns"]) == (LANES, len(STATISTICS))
    asked(run, type="watch", names=["lanes/h"], on=False)
    assert run.status().added == ()
    assert "lanes" not in watched(program, W, XS, watch="h,c")["h"].site.values


def test_chains_of_a_sampler_in_a_library(watched):
    sampler = blackjax.hmc(lambda x: -0.5 * (x**2).sum(), 0.1, jnp.ones(2), 3)
    states = jax.vmap(sampler.init)(jnp.arange(8.0).reshape(4, 2))
    keys = jax.random.split(jax.random.key(0), 4)
    program = jax.jit(jax.vmap(sampler.step))
    run = watched(program, keys, states, watch="momentum@integrators.py")
    asked(run, type="watch", names=["lanes/momentum"], on=True)
    (pattern,) = run.status().added
    assert pattern.startswith("lanes/momentum@") and pattern.endswith("integrators.py")
    run = watched(program, keys, states, watch="momentum@integrators.py")
    asked(run, type="watch", names=["lanes/momentum"], on=False)
    assert any(value.site.watch.lanes == (4,) for value in run.values.values())
    assert run.status().added == ()


def test_devices_are_shown_one_by_one_with_their_lanes():
    devices = jax.devices("cpu")[:2]
    mesh = Mesh(np.array(devices), ("i",))
    xs = jnp.linspace(-2.0, 2.0, 2 * LANES * 4).reshape(2 * LANES, 4)
    spec = PartitionSpec("i")
    program = jax.jit(
        jax.shard_map(jax.vmap(model, (None, 0)), mesh=mesh, in_specs=(PartitionSpec(), spec), out_specs=spec)
    )
    with jdw.capture(watch="lanes/h") as run:
        jax.block_until_ready(program(W, xs))
    jax.effects_barrier()
    names = [f"{device.platform}:{device.id}" for device in devices]  # `str(device)` since JAX 0.10.
    assert {event.device for event in run.events} == set(names)
    told = run["h"].to_pandas()
    assert set(told["device"]) == set(names)
    assert list(told.index) == [0, 0]
    assert "1 step on each of 2 devices" in repr(run["h"])
    for row, event in enumerate(run.events):
        number = names.index(event.device)
        mine = np.stack([hidden(W, x) for x in xs[number * LANES : (number + 1) * LANES]])
        agree(run["h"], mine, row)


def test_show_refuses_a_lane_of_a_watched_value_and_says_where_it_is(watched):
    run = watched(jax.jit(jax.vmap(lambda x: (h := jnp.sin(x)) * h)), jnp.ones((2, 3)), watch="h", values=True)
    assert run.show("h").get_title()
    with pytest.raises(IndexError, match=r"one array of all its lanes: run\['h'\]\['value'\] has them as axes"):
        run.show("h", lane=1)
