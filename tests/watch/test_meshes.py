"""Test values and gradients of programs on several devices: in `shard_map`, and partitioned by the compiler."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets.watch.statistics import statistics
from tests.devices import cpu_mesh

W = jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)
XS = jnp.arange(16.0).reshape(8, 2) - 3

since_9 = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="On JAX 0.8 these are missing: docs/limits.md"
)


def model(w, x):
    h = x @ w
    t = jnp.tanh(h)
    total = (t**2).sum()
    return total


def mesh_of(shape=(4,), axes=("d",), kind=AxisType.Auto):
    return cpu_mesh(shape, axes, kind)


def by_hand(xs=XS):
    """Return `h`, `t` and their gradients."""
    t = jnp.tanh(xs @ W)
    return {"h": xs @ W, "t": t, "grad/t": 2 * t, "grad/h": 2 * t * (1 - t**2)}


@pytest.mark.parametrize("kind", [AxisType.Auto, pytest.param(AxisType.Explicit, marks=since_9)])
def test_values_and_gradients_of_what_the_compiler_splits(watched, agrees, kind):
    mesh = mesh_of(kind=kind)
    xs = jax.device_put(XS, NamedSharding(mesh, P("d")))
    w = jax.device_put(W, NamedSharding(mesh, P()))
    with jax.set_mesh(mesh):
        run = watched(jax.jit(jax.value_and_grad(model)), w, xs)
    for name, wanted in by_hand().items():
        agrees(run[name], wanted)
    assert len(run.status().notes) == 1, run.status().notes  # The only note is about the cost.


@since_9
def test_gradients_in_a_loop_of_what_the_compiler_splits(watched, agrees):
    xs = jax.device_put(XS, NamedSharding(mesh_of(), P("d")))

    @jax.jit
    def train(w, xs):
        def step(w, _):
            return w, jax.grad(model)(w, xs)

        return lax.scan(step, w, None, length=2)[1]

    run = watched(train, W, xs, watch="grad/*")
    agrees(run["grad/t"], by_hand()["grad/t"], 1)


@since_9
def test_gradients_in_a_shard_map_are_those_of_each_device(watched, agrees):
    def summed(w, xs):
        return lax.psum(model(w, xs), "d")

    mapped = jax.shard_map(summed, mesh=mesh_of(), in_specs=(P(), P("d")), out_specs=P())
    run = watched(jax.jit(jax.value_and_grad(mapped)), W, XS)
    devices = [f"{device.platform}:{device.id}" for device in jax.devices("cpu")[:4]]
    for name in ("grad/t", "grad/h"):
        events = [event for event in run.events if event.site.label == name]
        assert {event.device for event in events} == set(devices)
        for row, event in enumerate(events):
            part = np.split(by_hand()[name], 4)[devices.index(event.device)]
            agrees(run[name], part, row)


def test_a_number_of_the_source_is_no_value_of_its_statement(watched):
    def mixed(a, b):
        u = a * 0.7 + b
        v = jnp.sin(u)
        return u, v

    def loss(x):
        @jax.jit
        def body(c, t):
            d, r = jax.vmap(mixed)(c, t)
            e, s = jax.jit(mixed)(d, t)
            return r, s + e

        last, ys = lax.scan(body, x, jnp.stack([x, x * 0.5]))
        return (last * ys.sum(0)).sum()

    mapped = jax.shard_map(jax.grad(loss), mesh=mesh_of(), in_specs=P("d"), out_specs=P("d"))
    run = watched(jax.jit(mapped), XS)
    sites = [site for site in run.watched if site.label in {"d", "r", "e", "s"}]
    assert {site.label for site in sites} >= {"d", "e"}
    assert {site.watch.shape for site in sites} == {(2, 2)}


@since_9
@pytest.mark.parametrize("is_checked", [True, False], ids=["varying types", "as before"])
def test_gradients_that_are_taken_on_each_device(is_checked, watched, agrees):
    def step(w, xs):
        loss, grads = jax.value_and_grad(model)(w[0], xs)
        return loss[None], grads[None]

    mapped = jax.shard_map(step, mesh=mesh_of(), in_specs=P("d"), out_specs=P("d"), check_vma=is_checked)
    run = watched(jax.jit(mapped), jnp.stack([W] * 4), XS)
    devices = [f"{device.platform}:{device.id}" for device in jax.devices("cpu")[:4]]
    for name in ("grad/t", "grad/h"):
        events = [event for event in run.events if event.site.label == name]
        assert {event.device for event in events} == set(devices)
        for row, event in enumerate(events):
            agrees(run[name], np.split(by_hand()[name], 4)[devices.index(event.device)], row)


@pytest.mark.parametrize("options", [{}, {"when": "t.max() > 0"}, {"values": True}], ids=["plain", "when", "values"])
def test_a_shard_map_over_some_of_the_axes_is_watched(watched, options):
    mapped = jax.shard_map(
        lambda w, xs: lax.psum(model(w, xs), "a"),
        mesh=mesh_of((2, 2), ("a", "b")),
        in_specs=(P(), P("a")),
        out_specs=P(),
        axis_names={"a"},
    )
    run = watched(jax.jit(mapped), W, XS, watch="h,t", **options)
    assert run.status().notes == ()
    wanted = sorted(float(part.max()) for part in np.split(by_hand()["t"], 2))
    np.testing.assert_allclose(sorted(set(run["t"]["max"].tolist())), wanted, rtol=1e-5)


@pytest.mark.parametrize("every", [1, 2])
def test_each_group_of_a_shard_map_over_some_of_the_axes_has_its_steps(every, watched):
    def per_group(x):
        def body(x, i):
            h = x * 0 + i
            return h, None

        return lax.scan(body, x, jnp.arange(5.0))[0]

    mapped = jax.shard_map(
        per_group, mesh=mesh_of((2, 2), ("a", "b")), in_specs=P("a"), out_specs=P("a"), axis_names={"a"}
    )
    run = watched(jax.jit(mapped), jnp.ones(4), watch="h", every=every)
    found = sorted((event.mesh_coords["a"], event.step) for event in run.events)
    assert found == [(group, (step,)) for group in range(2) for step in range(0, 5, every)]
    assert all(event.kwargs["mean"] == event.step[0] for event in run.events)
    assert {repr(event)[-5:] for event in run.events} == {" a=0)", " a=1)"}


def test_residuals_of_a_shard_map_have_no_name(watched, agrees):
    mapped = jax.shard_map(
        lambda w, xs: lax.psum(model(w, xs), "d"), mesh=mesh_of(), in_specs=(P(), P("d")), out_specs=P()
    )

    @jax.jit
    def loss(w, xs):
        y = mapped(w, xs)
        z = y * 2
        return z

    run = watched(lambda: jax.value_and_grad(loss)(W, XS), watch="y,z")
    agrees(run["y"], model(W, XS))
    assert not any("[" in name for name in run.values)


@since_9
def test_the_leaves_of_a_gradient_in_shard_map_have_their_paths(watched, agrees):
    mesh = mesh_of()

    def loss_of(params, xs):
        return lax.pmean(((jnp.tanh(xs @ params["w"]) * params["b"][None]) ** 2).mean(), "d")

    @jax.jit
    def f(params, xs):
        def per_device(params, xs):
            loss, g = jax.value_and_grad(loss_of)(params, xs)
            return loss, g

        return jax.shard_map(per_device, mesh=mesh, in_specs=(P(), P("d")), out_specs=(P(), P()))(params, xs)

    params = {"b": jnp.arange(3.0), "w": W}
    run = watched(f, params, XS)
    _, wanted = f(params, XS)
    for name, leaf in wanted.items():
        for device in range(4):
            agrees(run[f"g['{name}']"], leaf, device)


def lost(params, xs):
    t = jnp.tanh(xs @ params["w"]) * params["b"][None]
    return ((t + xs @ params["a"]) ** 2).mean()


def averaged(params, xs):
    grads = lax.pmean(jax.grad(lost)(params, xs), "d")
    return grads


def averaged_with_the_value(params, xs):
    loss, grads = lax.pmean(jax.value_and_grad(lost)(params, xs), "d")
    return loss, grads


def averaged_as_a_pair(params, xs):
    loss, g = jax.value_and_grad(lost)(params, xs)
    mean, grads = lax.pmean((loss, g), axis_name="d")
    return mean, grads


def added_leaf_by_leaf(params, xs):
    grads = jax.tree.map(lambda g: lax.psum(g, "d") / 4, jax.grad(lost)(params, xs))
    return grads


def averaged_and_mapped(params, xs):
    grads = jax.tree.map(lambda g, p: g + 0.1 * p, lax.pmean(jax.grad(lost)(params, xs), "d"), params)
    return grads


@since_9
@pytest.mark.parametrize("is_checked", [True, False], ids=["varying types", "as before"])
@pytest.mark.parametrize(
    "step",
    [averaged, averaged_with_the_value, averaged_as_a_pair, added_leaf_by_leaf, averaged_and_mapped],
    ids=lambda one: one.__name__,
)
@pytest.mark.each
def test_the_result_of_a_collective_over_a_tree_has_its_paths(step, is_checked, watched, agrees):
    # Two parameters have one type, and the backward pass computes them in another order.
    params = {"w": W, "b": jnp.arange(3.0), "a": W * 2 + 1}
    mapped = jax.jit(jax.shard_map(step, mesh=mesh_of(), in_specs=(P(), P("d")), out_specs=P(), check_vma=is_checked))
    run = watched(mapped, params, XS)
    result = mapped(params, XS)
    assert not any(name.startswith("grads[0]") for name in run.values)
    for name, leaf in (result[-1] if isinstance(result, tuple) else result).items():
        for device in range(4):
            agrees(run[f"grads['{name}']"], leaf, device)


@pytest.mark.parametrize("is_native", [True, False], ids=["native", "XLA's"])
@pytest.mark.parametrize(
    "options",
    [{"when": "h.max() > 3"}, {"histograms": True}, {"lanes": True}, {"values": True}],
    ids=["when", "histograms", "lanes", "values"],
)
@pytest.mark.each
def test_a_sampled_shard_map_is_watched_with_all_that_can_be_taken(options, is_native, watched, agrees, monkeypatch):
    # The watched function is traced again: its calls, or the loop around it, are sampled.
    if not is_native:
        monkeypatch.setattr(statistics, "native_target", lambda: None)

    def per_device(xs):
        def row(x):
            h = x @ W
            return jnp.tanh(h)

        return jax.vmap(row)(xs)

    mapped = jax.shard_map(per_device, mesh=mesh_of(), in_specs=P("d"), out_specs=P("d"))
    by_call = jax.jit(mapped)
    looped = jax.jit(lambda xs: lax.scan(lambda c, _: (c + 0 * mapped(xs).sum(), None), jnp.float32(0), length=4)[0])
    parts = np.split(np.asarray(XS @ W), 4)
    takes = [number for number, part in enumerate(parts) if "when" not in options or part.max() > 3]
    for program, times in ((by_call, 1), (looped, 2)):
        run = watched(program, XS, watch="h", every=2, **options)
        assert not any("unwatched" in note for note in run.status().notes), run.status().notes
        devices = run["h"].to_pandas()["device"].tolist()
        assert sorted(devices) == sorted([f"cpu:{number}" for number in takes] * times)
        for row, device in enumerate(devices):
            agrees(run["h"], parts[int(device[-1])], row)


def test_a_program_that_jax_cannot_lower_is_not_blamed_on_watching():
    @jax.jit
    def f(x):
        h = x * 2
        jax.debug.print("{}", h, ordered=True)
        return h + 1

    split = jax.device_put(XS, NamedSharding(mesh_of(), P("d")))
    with jdw.capture(watch="h") as run, pytest.raises(ValueError, match="ordered effects are not supported"):
        f(split)
    assert not any("runs unwatched" in note for note in run.notes)


def test_the_note_about_missing_prints_in_a_shard_map_names_the_limit_of_jax():
    def body(x):
        h = x * 2
        return h + 1

    def printing(x):
        jax.debug.print("{}", x)
        return x

    mesh = mesh_of((2, 2, 1), ("d", "e", "f"))
    split, says = (
        jax.jit(jax.shard_map(one, mesh=mesh, in_specs=P("d"), out_specs=P("d"), axis_names={"d"}))
        for one in (body, printing)
    )
    try:
        says(XS)
    except TypeError:
        with jdw.capture(watch="body.h") as run:  # All captures with equal options share their notes.
            np.testing.assert_array_equal(split(XS), XS * 2 + 1)
        (note,) = (note for note in run.notes if "runs unwatched" in note)
        assert "a `jax.debug.print` fails there as well" in note
    else:
        pytest.skip("this JAX prints there")
