"""Test gradients of values without an operation: arguments of jitted functions, loops and branches, and aliases."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions

X = jnp.linspace(-1.0, 2.0, 6).reshape(2, 3)
WS = jnp.arange(27.0).reshape(3, 3, 3) / 20

AROUND = {
    "jit": lambda f: jax.jit(jax.value_and_grad(f, (0, 1))),
    "un-jitted": lambda f: jax.value_and_grad(jax.jit(f), (0, 1)),
    "vjp": lambda f: jax.jit(lambda *args: jax.vjp(f, *args)[1](1.0)),
    "vmap": lambda f: jax.jit(lambda *args: jax.vmap(jax.value_and_grad(f, (0, 1)))(*(one[None] for one in args))),
    "checkpoint": lambda f: jax.jit(jax.value_and_grad(jax.checkpoint(f), (0, 1))),
}


@pytest.fixture(params=AROUND)
def around(request):
    return AROUND[request.param]


def told_in(run, function):
    """Return the labels of the values in a function, including its arguments."""
    name = function.__qualname__.rpartition(".")[2]
    return {site.label for site in run.sites if site.function.rpartition(".")[2] == name}


@pytest.fixture
def tells(whole):
    """Return an assertion that a run has these arrays under a name, one for each iteration or device."""

    def check(run, name, arrays):
        told = [np.squeeze(one) for one in whole(run, name)]
        assert len(told) == len(arrays), name
        for one, array in zip(told, arrays, strict=True):
            np.testing.assert_allclose(one, np.squeeze(array), rtol=1e-4, atol=1e-5, err_msg=name)

    return check


@pytest.mark.behaviour("W4")
def test_weights_given_to_each_layer_of_a_scan_have_gradients(around, watched, tells):
    def layer(h, w):
        z = jnp.tanh(h @ w)
        return z, (z**2).sum()

    def loss(x, ws):
        h, norms = lax.scan(layer, x, ws)
        return (h**2).sum() + norms.sum()

    run = watched(around(loss), X, WS, values=True)
    tells(run, "w", WS)
    tells(run, "grad/w", jax.grad(loss, 1)(X, WS))
    assert run["w"].gradient.name == "grad/w"
    assert "grad/h" not in told_in(run, layer), "what is handed on is there already"


@pytest.mark.behaviour("W4")
def test_arguments_of_a_jitted_function_have_gradients_in_each_call(around, watched, tells):
    @jax.jit
    def mixed(a, b):
        return jnp.sin(a) * b.sum()

    def loss(x, ws):
        once = mixed(x, ws)
        return (mixed(once, ws) ** 2).sum()

    run = watched(around(loss), X, WS, values=True)
    once = mixed(X, WS)
    of_once = jax.grad(lambda once: (mixed(once, WS) ** 2).sum())(once)
    of_x = jax.grad(loss)(X, WS)
    tells(run, "grad/a", [of_once, of_x])


@pytest.mark.behaviour("W4")
def test_parts_of_an_unpacked_state_have_gradients(watched, tells):
    def cell(state, given):
        a, b = state
        u, v = given
        new = jnp.tanh(a * u + b)
        return (new, new * v), new

    def loss(p, given):
        (a, _), all_of_them = lax.scan(cell, (p[0], p[1]), given)
        return (a * all_of_them.sum(0)).sum()

    given = X, X + 1
    run = watched(jax.jit(jax.value_and_grad(loss, (0, 1))), X, given, values=True)
    of_u, of_v = jax.grad(loss, 1)(X, given)
    tells(run, "grad/u", of_u)
    tells(run, "grad/v", of_v)


@pytest.mark.behaviour("W4")
def test_a_loops_carry_has_gradients_if_it_is_watched_by_name(watched, tells):
    def body(i, state):
        return jnp.sin(state) * (i + 1.0)

    def loss(x):
        return lax.fori_loop(0, 3, body, x).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X, watch="state", values=True)
    states = [X, body(0, X), body(1, body(0, X))]
    tells(run, "state", states)
    wanted = []
    for number, state in enumerate(states):

        def rest(state, number=number):
            for i in range(number, 3):
                state = body(i, state)
            return state.sum()

        wanted.append(jax.grad(rest)(state))
    tells(run, "grad/state", wanted)


@pytest.mark.behaviour("W4")
def test_arguments_of_a_branch_have_gradients(watched, agrees):
    def doubled(u):
        return jnp.sin(u) * 2

    def loss(x, ws):
        return lax.cond(x.sum() > 0, doubled, lambda v: v**2, x).sum() + ws.sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X, WS, values=True)
    agrees(run["grad/u"], 2 * jnp.cos(X))
    agrees(run["u"].gradient, 2 * jnp.cos(X))


@pytest.mark.behaviour("W4")
def test_arguments_of_a_checkpointed_layer_of_a_scan_have_gradients(watched, tells):
    @jax.checkpoint
    def layer(h, w):
        z = jnp.tanh(h @ w)
        return z * 2, None

    def loss(ws):
        h, _ = lax.scan(layer, X, ws)
        return (h**2).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), WS, values=True)
    tells(run, "w", WS)
    tells(run, "grad/w", jax.grad(loss)(WS))
    assert run["w"].gradient.name == "grad/w"
    assert "grad/h" not in told_in(run, layer)


@pytest.mark.behaviour("W4")
def test_scanned_inputs_have_gradients_at_each_step(watched, tells):
    def loss(x, scales):
        def body(h, s):
            return jnp.tanh(h * s), None

        return lax.scan(body, x, scales)[0].sum()

    scales = jnp.arange(1.0, 4.0)
    run = watched(jax.jit(jax.value_and_grad(loss, (0, 1))), X, scales, values=True)
    tells(run, "grad/s", jax.grad(loss, 1)(X, scales))


@pytest.mark.skipif(versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="jax 0.8 runs the rule elsewhere")
@pytest.mark.behaviour("W4")
def test_arguments_of_a_custom_vjp_function_have_gradients(watched, agrees):
    """JAX uses the forward rule instead, which reads the arguments at other lines."""

    @jax.custom_vjp
    def scaled(x, s):
        return jnp.sin(x) * s

    def forward(x, s):
        return scaled(x, s), (x, s)

    def backward(kept, cotangent):
        x, s = kept
        return cotangent * jnp.cos(x) * s, cotangent * jnp.sin(x)

    scaled.defvjp(forward, backward)

    @jax.jit
    def inner(angle, size):
        return scaled(angle, size) * 2

    run = watched(jax.jit(jax.value_and_grad(lambda x: inner(x, x + 1).sum())), X)
    agrees(run["angle"], X)
    agrees(run["size"], X + 1)
    agrees(run["angle"].gradient, 2 * jnp.cos(X) * (X + 1))
    agrees(run["size"].gradient, 2 * jnp.sin(X))


@pytest.mark.behaviour("W4")
def test_arguments_of_a_jitted_function_have_gradients_under_an_unjitted_grad(watched, agrees):
    @jax.jit
    def loss(params, x):
        return (jnp.tanh(x @ params["w"]) * params["b"]).sum() ** 2

    params = {"w": WS[0], "b": X}
    run = watched(jax.grad(loss), params, X, values=True)
    for name, wanted in jax.grad(loss)(params, X).items():
        agrees(run[f"params['{name}']"].gradient, wanted)
    assert "grad/x" not in run.values


@pytest.mark.behaviour("W4")
def test_arguments_of_a_shard_map_function_have_gradients():
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:2]), ("i",))

    def local(part, w):
        return jnp.sin(part) @ w

    def loss(x, w):
        return (jax.shard_map(local, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))(x, w) ** 2).sum()

    with jdw.capture(watch=True, values=True) as run:
        jax.block_until_ready(jax.jit(jax.value_and_grad(loss))(X, WS[0]))
        jax.effects_barrier()
    told = {event.device: event for event in run.events if event.site.label == "grad/part"}
    assert len(told) == 2
    np.testing.assert_allclose(
        np.concatenate([told[device].values[-1] for device in sorted(told)]), jax.grad(loss)(X, WS[0]), rtol=1e-5
    )


def test_a_loop_differentiated_twice_has_only_the_first_gradients_of_arguments(watched, tells):
    def layer(h, w):
        return jnp.tanh(h * w), None

    def f(ws):
        return lax.scan(layer, 1.0, ws)[0]

    ws = X[0] + 1.5
    run = watched(jax.jit(jax.value_and_grad(lambda ws: (jax.grad(f)(ws) ** 2).sum())), ws, values=True)
    tells(run, "grad/w", jax.grad(f)(ws))


@pytest.mark.behaviour("W4")
def test_aliases_of_arguments_have_gradients(around, watched, tells):
    def layer(h, given):
        weight = given["w"]
        return jnp.tanh(h @ weight), None

    def loss(x, ws):
        start, weights = x, {"w": ws}
        return (lax.scan(layer, start, weights)[0] ** 2).sum() + start.sum()

    run = watched(around(loss), X, WS, watch=["weight", "start"], values=True)
    of_x, of_ws = jax.grad(loss, (0, 1))(X, WS)
    tells(run, "grad/weight", of_ws)
    tells(run, "grad/start", [of_x])
    assert run["weight"].gradient.name.startswith("grad/weight")


@pytest.mark.behaviour("W4")
def test_an_alias_has_the_gradient_from_its_statement_on(around, watched, agrees):
    def loss(x, ws):
        once = jnp.sin(x)
        angle = x
        h = jnp.tanh(once) + ws.sum()
        twice = h
        return (h * jnp.cos(angle) * twice).sum()

    def rest(angle, h):
        return (h * jnp.cos(angle) * h).sum()

    run = watched(around(loss), X, WS, watch=["angle", "twice"])
    of_angle, of_h = jax.grad(rest, (0, 1))(X, jnp.tanh(jnp.sin(X)) + WS.sum())
    agrees(run["grad/angle"], of_angle)
    agrees(run["twice"].gradient, of_h)


@pytest.mark.behaviour("W4")
def test_fields_of_self_have_gradients(watched, agrees):
    class Layer(eqx.Module):
        weight: jax.Array

        def __call__(self, x):
            return jnp.tanh(x @ self.weight)

    layer = Layer(WS[0])
    program = eqx.filter_jit(eqx.filter_value_and_grad(lambda layer: (layer(X) ** 2).sum()))
    run = watched(program, layer, watch="self.weight")
    wanted = jax.grad(lambda weight: (jnp.tanh(X @ weight) ** 2).sum())(WS[0])
    agrees(run["self.weight"].gradient, wanted)


def test_watching_everything_leaves_out_aliases(watched):
    def loss(x):
        angle = x
        return jnp.cos(angle).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X)
    assert {"x", "grad/x"} <= set(run.values)
    assert not {"angle", "grad/angle"} & set(run.values)
