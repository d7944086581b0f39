"""Test that tangents of `jax.jvp`, `jacfwd` and `hessian` have no names of values, and results have their names."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import versions
from tests.watch.unjitted import assigned_un_jitted

X = jnp.linspace(-0.4, 0.7, 3)
V = jnp.array([0.5, -1.0, 2.0])
W = jnp.sin(jnp.arange(9.0).reshape(3, 3))


def straight(x):
    a = jnp.sin(x)
    b = a * x.sum()
    return b * a


def tree(x):
    a = jnp.sin(x)
    both = {"a": a, "c": jnp.cos(x)}
    b = both["a"] * both["c"]
    return b


def in_loop_of_python(x):
    for _ in range(2):
        x = jnp.tanh(W @ x)
    a = x * 2
    return a


def scanned(x):
    def step(carry, _):
        inner = jnp.tanh(W @ carry)
        return inner, inner.sum()

    a, sums = lax.scan(step, x, None, length=3)
    return a * sums.sum()


def looped(x):
    def step(state):
        count, inner = state
        inner = jnp.sin(inner) * inner
        return count + 1, inner

    _, a = lax.while_loop(lambda state: state[0] < 3, step, (0, x))
    return a * x


def branching(x):
    a = lax.cond(x.sum() > 0, jnp.sin, lambda x: x * 2, x)
    b = a * x
    return b


def called(x):
    a = jax.jit(lambda x: jnp.sin(x) * x)(x)
    b = jax.checkpoint(lambda a: jnp.cos(a) * a)(a)
    return b


def by_rule(x):
    a = jax.nn.relu(x * 2)
    b = jax.nn.softplus(a)
    return b


FUNCTIONS = [straight, tree, in_loop_of_python, scanned, looped, branching, called, by_rule]


def pushed(function, x, v):
    value, slope = jax.jvp(function, (x,), (v,))
    return value.sum() + slope.sum()


def pushed_twice(function, x, v):
    (value, inner), (outer, slope) = jax.jvp(lambda x: jax.jvp(function, (x,), (v,)), (x,), (v,))
    return value.sum() + inner.sum() + (outer * slope).sum()


def with_aux(function, x, v):
    value, slope, aux = jax.jvp(lambda x: (function(x), {"twice": x * 2}), (x,), (v,), has_aux=True)
    return value.sum() + (slope * aux["twice"]).sum()


def by_equinox(function, x, v):
    value, slope = eqx.filter_jvp(function, (x,), (v,))
    return value.sum() + slope.sum()


def jacobian(function, x, v):
    value, jac = function(x), jax.jacfwd(function)(x)
    return value.sum() + (jac @ v).sum()


def twice_jacobian(function, x, v):
    value, jac = function(x), jax.jacfwd(jax.jacfwd(function))(x)
    return value.sum() + (jac @ v).sum()


ASKED = [pushed, pushed_twice, with_aux, by_equinox, jacobian, twice_jacobian]


# All functions under one derivative and under two, and all ways to differentiate a loop.
COMBINED = [*itertools.product([pushed, twice_jacobian], FUNCTIONS), *((asked, scanned) for asked in ASKED[1:-1])]


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize(("asked", "function"), COMBINED, ids=lambda one: one.__name__)
@pytest.mark.each
def test_values_have_their_names_and_tangents_none_of_theirs(function, asked, watched, whole):
    run = watched(jax.jit(partial(asked, function)), X, V, values=True)
    np.testing.assert_allclose(run.result, jax.jit(partial(asked, function))(X, V), rtol=1e-6)
    lines = range(function.__code__.co_firstlineno, function.__code__.co_firstlineno + 9)
    truth = assigned_un_jitted(lambda: function(X), __file__, lines)
    told = [event for event in run.events if (event.site.line, root_of(event.site)) in truth]
    assert told or asked is twice_jacobian, "of which most programs need a value"
    for event in told:
        leaves = truth[event.site.line, root_of(event.site)]
        path = event.site.watch.name.removeprefix(root_of(event.site))
        assert event.site.watch.role == "value"
        arrays = [one[path] for one in leaves if path in one]
        assert any(np.allclose(event.values[-1], array, rtol=1e-4, atol=1e-6) for array in arrays), event
    value, slope = jax.jvp(function, (X,), (V,))
    for name, wanted in {"value": value, "slope": slope}.items():
        for array in whole(run, name) if asked in (pushed, by_equinox, with_aux) else ():
            np.testing.assert_allclose(array, wanted, rtol=1e-4, atol=1e-5)
    assert asked is not pushed or {"value", "slope"} <= {*run.values}


def root_of(site):
    """Return the variable of a value or leaf; the name if it is no variable."""
    name = re.fullmatch(r"(\w+)(\[.*\])?", site.watch.name)
    return name[1] if name else site.watch.name


def test_rounds_of_a_loop_hand_tangents_on_as_values(watched):
    @jax.jit
    def program(x, v):
        for _ in range(3):
            value, slope = jax.jvp(straight, (x,), (v,))
            x, v = slope, value
        return x, v

    run = watched(program, X, V, values=True)
    x, v = X, V
    for number in range(3):
        value, slope = jax.jvp(straight, (x,), (v,))
        for name, wanted in (("value", value), ("slope", slope), ("a", jnp.sin(x))):
            told = [event.values[-1] for event in run.events if event.site.watch.name == name]
            assert len(told) == 3
            np.testing.assert_allclose(told[number], wanted, rtol=1e-4, atol=1e-6)
        x, v = slope, value


def test_values_and_derivatives_of_nested_jvp_with_constant_tangents_are_right(watched, agrees):
    def position(t):
        place = jnp.sin(t) * 2
        return place

    @jax.jit
    def program(t):
        at, velocity = jax.jvp(position, (t,), (1.0,))
        acceleration = jax.jvp(lambda t: jax.jvp(position, (t,), (1.0,))[1], (t,), (1.0,))[1]
        return at, velocity, acceleration

    run = watched(program, 0.5)
    agrees(run["at"], 2 * jnp.sin(0.5))
    agrees(run["velocity"], 2 * jnp.cos(0.5))
    agrees(run["acceleration"], -2 * jnp.sin(0.5))


def energy(x):
    h = x
    for _ in range(2):
        h = jnp.tanh(W @ h)
    return (h**2).sum()


@pytest.mark.parametrize("loops", [1, 2])
def test_hessian_vector_products_have_their_values_and_gradients(loops, watched, agrees):
    @jax.jit
    def program(x, v):
        for _ in range(loops):
            product = jax.jvp(jax.grad(energy), (x,), (v,))[1]
            v = product / jnp.linalg.norm(product)
        return v

    run, v = watched(program, X, V), V
    labels = ["product"] if loops == 1 else [one for one in run.values if one.startswith("product@")]
    for label in sorted(labels):
        product = jax.jvp(jax.grad(energy), (X,), (v,))[1]
        agrees(run[label], product)
        v = product / jnp.linalg.norm(product)
    first, last = jnp.tanh(W @ X), jnp.tanh(W @ jnp.tanh(W @ X))
    of_last = 2 * last
    of_first = W.T @ (of_last * (1 - last**2))
    hidden = sorted((one for one in run.values if one.startswith("h@")), key=lambda one: int(one.rpartition("#")[2]))
    assert len(hidden) == 2 * loops
    for label, value, gradient in zip(hidden, [first, last] * loops, [of_first, of_last] * loops, strict=True):
        agrees(run[label], value)
        agrees(run[label].gradient, gradient)


def test_gradients_that_are_pushed_through_a_loop(watched, agrees):
    def states(x, zeros):
        def step(carry, zero):
            state = jnp.tanh(W @ carry) + zero
            return state, state.sum()

        last, sums = lax.scan(step, x, zeros)
        return (last**2).sum() + (sums**2).sum()

    @jax.jit
    def program(x, v):
        slope, product = jax.jvp(jax.grad(states), (x, jnp.zeros((3, 3))), (v, jnp.zeros((3, 3))))
        return slope * product

    run = watched(program, X, V)
    slope, product = jax.jvp(jax.grad(lambda x: states(x, jnp.zeros((3, 3)))), (X,), (V,))
    agrees(run["slope"], slope)
    agrees(run["product"], product)
    carry = X
    for step, gradient in enumerate(jax.grad(states, 1)(X, jnp.zeros((3, 3)))):
        carry = jnp.tanh(W @ carry)
        agrees(run["state"], carry, step)
        agrees(run["grad/state"], gradient, step)


def test_a_loss_of_derivatives_that_is_differentiated(watched, agrees):
    def net(p, x):
        h = jnp.tanh(x * p["w"])
        return (h * p["v"]).sum()

    def loss(p, xs):
        def residual(x):
            slope, bend = jax.jvp(lambda x: jax.grad(net, 1)(p, x), (x,), (1.0,))
            left = bend + slope * x
            return left

        return (jax.vmap(residual)(xs) ** 2).mean()

    p, xs = {"w": jnp.arange(1.0, 4.0), "v": jnp.ones(3)}, jnp.linspace(0.0, 1.0, 5)
    run = watched(jax.jit(jax.value_and_grad(loss)), p, xs)
    slopes = jax.vmap(lambda x: jax.grad(net, 1)(p, x))(xs)
    bends = jax.vmap(lambda x: jax.grad(jax.grad(net, 1), 1)(p, x))(xs)
    agrees(run["slope"], slopes)
    agrees(run["bend"], bends)
    agrees(run["left"], bends + slopes * xs)
    agrees(run["grad/left"], 2 * (bends + slopes * xs) / 5)


def test_jvp_linearize_and_vjp_have_names_for_unchanged_arguments_and_constants(watched, agrees):
    @jax.jit
    def program(x):
        (same, number), slopes = jax.jvp(lambda x: (x, jnp.float32(3.0)), (x,), (x * 2,))
        value, push = jax.linearize(lambda x: (x, 2.0), x)
        given, _, aux = jax.vjp(lambda x: (x, 5), x, has_aux=True)
        return same, number, slopes, value[0], push(x), given, aux

    run = watched(program, X)
    for name in ("same", "value[0]"):
        agrees(run[name], X)
    if not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:  # On jax 0.8 the results of `jax.vjp` are not copied.
        agrees(run["given"], X)
    agrees(run["number"], 3.0)
    agrees(run["slopes[0]"], X * 2)


@pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM,
    reason="what is pushed in all steps alike has no end (docs/limits.md) on jax 0.8",
)
def test_a_density_that_flows_through_a_differentiated_loop(watched):
    """In Hutchinson's estimate of a divergence all steps have the same tangent, which JAX moves out of the loop."""

    def flow(w, x, e, added):
        def step(state, added):
            x, density = state
            dx, slope = jax.jvp(lambda x: jnp.tanh(w @ x), (x,), (e,))
            divergence = e @ slope
            x = x + 0.1 * dx + added
            density = density - 0.1 * divergence
            return (x, density), (x, slope, divergence, density)

        (x, density), each = lax.scan(step, (x, jnp.float32(0.0)), added)
        return (x**2).sum() + density, each

    added = jnp.zeros((3, 3))
    run = watched(jax.jit(jax.value_and_grad(lambda w: flow(w, X, V, added)[0])), W, values=True)
    gradient, each = jax.grad(flow, 3, has_aux=True)(W, X, V, added)
    told = defaultdict(list)
    for event in run.events:
        if event.step:
            told[event.site.label].append(event.values[-1])
    for name, expected in zip(("x", "slope", "divergence", "density"), each, strict=True):
        np.testing.assert_allclose(told[name], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(told["grad/x"][::-1], gradient, rtol=1e-5, atol=1e-6)
