"""Test a helper that returns the result of its loop: in another order, in part, or as the parts of its state."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import versions

X = jnp.array([1.0, 2.0])


def decay(x, t):
    y = x * 0.9 + t
    return y, y.sum()


def swapped(x):
    final, trace = lax.scan(decay, x, jnp.arange(5.0))
    return trace, final


def passed_on(x):
    return swapped(x)


def in_order(x):
    final, trace = lax.scan(decay, x, jnp.arange(5.0))
    return final, trace


def whole(x):
    both = lax.scan(decay, x, jnp.arange(5.0))
    return both


@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("used", ["trace", "final", "both"])
@pytest.mark.parametrize("helper", [swapped, passed_on, in_order, whole])
@pytest.mark.each
def test_results_that_a_helper_passes_on_keep_their_names_if_one_is_unused(
    watched, agrees, helper, used, differentiated
):
    def loss(x):
        if helper in (in_order, whole):
            final, trace = helper(x)
        else:
            trace, final = helper(x)
        return {"trace": trace.sum(), "final": final.sum(), "both": trace.sum() * final.sum()}[used]

    run = watched(jax.jit(jax.value_and_grad(loss) if differentiated else loss), X)
    final, trace = lax.scan(decay, X, jnp.arange(5.0))
    truth = {"final": final, "trace": trace}
    for name in (name for name in truth if used in ("both", name) or name in run):
        agrees(run[name], truth[name])
    if differentiated and used != "both":
        agrees(run[f"grad/{used}"], jnp.ones_like(truth[used]))


def flow(x):
    (y, density), _ = lax.scan(lambda c, _: ((jnp.tanh(c[0]) + 1, c[1] - c[0].sum()), None), (x, 0.0), length=3)
    return y, density


def flow_swapped(x):
    (y, density), _ = lax.scan(lambda c, _: ((jnp.tanh(c[0]) + 1, c[1] - c[0].sum()), None), (x, 0.0), length=3)
    return density, y


def flow_state(x):
    state, _ = lax.scan(lambda c, _: ((jnp.tanh(c[0]) + 1, c[1] - c[0].sum()), None), (x, 0.0), length=3)
    return state


@pytest.mark.parametrize("helper", [flow, flow_swapped, flow_state])
def test_the_parts_of_a_loops_state(watched, agrees, helper):
    @jax.jit
    def loss(x):
        if helper is flow_swapped:
            density, z = helper(x)
        else:
            z, density = helper(x)
        return (z**2).sum() - density

    run = watched(loss, X)
    z, density = flow(X)
    agrees(run["z"], z)
    agrees(run["density"], density)
    assert "z[0]" not in run.values


def test_leaves_of_one_part_have_not_the_names_of_others(watched, agrees):
    """In a backward rule, three leaves of `sums` must not be named `z`, `a` and `sums`."""

    @jax.custom_vjp
    def f(z, params):
        return z * params["b"].sum()

    def forward(z, params):
        return f(z, params), (z, params)

    def backward(kept, g):
        z_end, params = kept

        def step(carry, _):
            z, a, sums = carry
            z = z * 0.9
            a = a + z.sum()
            sums = jax.tree.map(lambda one, other: one + other * a[0], sums, params)
            return (z, a, sums), a.sum()

        zeros = jax.tree.map(jnp.zeros_like, params)
        (z0, a0, sums), _norms = lax.scan(step, (z_end, g, zeros), length=3)
        return z0 + a0, sums

    f.defvjp(forward, backward)
    params = {"w": jnp.ones((2, 2)), "b": jnp.ones(2), "c": jnp.ones(2)}
    program = jax.grad(lambda params, z: (f(z, params) ** 2).sum())
    run = watched(jax.jit(program), params, X)
    gradients = program(params, X)
    if not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:
        agrees(run["z0"], X * 0.9**3)
    for leaf, gradient in gradients.items():
        agrees(run[f"grad/params['{leaf}']"], gradient)


@pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="jax 0.8 has one caller for all calls of a checkpointed function"
)
def test_a_checkpointed_helper_gives_on_in_another_order(watched, whole):
    def loss(x):
        total = jnp.float32(0.0)
        for _ in range(2):
            trace, x = jax.checkpoint(swapped)(x)
            total = total + (trace**2).sum()
        return total + x.sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X, values=True)
    traces, last = [], X
    for _ in range(2):
        trace, last = swapped(last)
        traces.append(trace)
    assert [one.shape for one in whole(run, "trace")] == [(5,)] * 4  # One value in the helper, and one in its caller.
    np.testing.assert_allclose(whole(run, "trace")[::2], traces, rtol=1e-5)


def exchanged(x):
    u = jnp.sin(x)
    v = jnp.cos(x)
    u, v = v, u
    return u, v


def exchanged_by_hand(x):
    u = jnp.sin(x)
    v = jnp.cos(x)
    kept = u
    u = v
    v = kept
    return u, v


def exchanged_maybe(x, descending=True):
    u = jnp.sin(x)
    v = jnp.cos(x)
    if descending:
        u, v = v, u
    return u, v


@pytest.mark.parametrize("helper", [exchanged, exchanged_by_hand, exchanged_maybe])
def test_variables_that_a_helper_exchanges(watched, agrees, helper):
    def loss(x):
        a, b = helper(x)
        return (a**2 + 3 * b).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X)
    agrees(run["a"], jnp.cos(X))
    agrees(run["b"], jnp.sin(X))
    agrees(run["grad/a"], 2 * jnp.cos(X))
    agrees(run["grad/b"], jnp.full(2, 3.0))


def trunk(x):
    hs = []
    for factor in (2.0, 3.0, 5.0, 7.0):
        x = x * factor
        hs.append(x)
    return hs


def from_the_second(x):
    hs = trunk(x)
    return jnp.stack(hs[1:])


def every_second(x):
    hs = trunk(x)
    return jnp.stack(hs[::2])


def last_two(x):
    hs = trunk(x)
    return jnp.stack(hs[-2:])


@pytest.mark.parametrize(("program", "needed"), [(from_the_second, 4), (every_second, 3), (last_two, 4)])
def test_items_of_a_slice_of_what_a_helper_lists(watched, agrees, program, needed):
    run = watched(jax.jit(program), X)
    assert {name for name in run.values if name.startswith("hs[")} == {f"hs[{number}]" for number in range(needed)}
    for number in range(needed):
        agrees(run[f"hs[{number}]"], trunk(X)[number])


def as_array(pos):
    def step(pos, _):
        y = jnp.log(pos)
        new = pos - 1
        return new, y

    return lax.scan(step, pos, length=3)[1].sum()


def in_containers(x):
    def body(carry):
        i, state = carry
        moved = state["h"] * 2
        n = i + 1
        return n, {"h": moved}

    return lax.while_loop(lambda carry: carry[0] < 3, body, (0, {"h": x}))[1]["h"].sum()


def nested(x):
    def outer(h, _):
        def inner(g, _):
            kept = g * 2
            return kept, None

        last = lax.scan(inner, h, length=2)[0]
        halved = last / 2
        return halved, None

    return lax.scan(outer, x, length=3)[0].sum()


def shifted(x):
    def step(carry, _):
        a, b = carry
        c = a + b
        return (b, c), None

    return lax.scan(step, (x, x), length=3)[0][1].sum()


GIVEN_ON = {
    "as_array": (as_array, {"new": ("pos",)}),
    "in_containers": (in_containers, {"moved": ("state['h']",), "n": ("i",)}),
    "nested": (nested, {"kept": ("g",), "halved": ("h",)}),
    "shifted": (shifted, {"c": ("b",)}),
    "with_its_gradient": (jax.grad(as_array), {"new": ("pos",)}),
    "in_lanes": (jax.vmap(as_array), {"new": ("pos",)}),
}


@pytest.mark.parametrize("case", GIVEN_ON)
def test_a_value_knows_what_the_next_iteration_calls_it(case, watched):
    function, wanted = GIVEN_ON[case]
    run = watched(jax.jit(function), jnp.full(3, 5.0))
    assert {name: given for name, given in given_on(run).items() if given} == wanted


def given_on(run):
    return {site.watch.name: site.watch.given_on for site in run.sites if site.watch.role == "value"}
