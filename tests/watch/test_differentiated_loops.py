"""Test loops that are differentiated once or twice: values that JAX moves, keeps or reorders get no wrong name."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import versions

since_9 = pytest.mark.skipif(versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="not on jax 0.8 (docs/limits.md)")
X = jnp.array([0.6, -1.1, 0.4])
WEIGHTS = jnp.cos(jnp.arange(18.0)).reshape(2, 3, 3) * 0.6
DIRECTION = jnp.sin(jnp.arange(18.0) * 3).reshape(2, 3, 3)


def agree(told, wanted):
    assert len(told) == len(wanted)
    for one, value in zip(told, wanted, strict=True):
        np.testing.assert_allclose(one, value, rtol=1e-4, atol=1e-6)


@jax.jit
def product_of(weight, state):
    return jnp.tanh(weight @ state)


@jax.jit
def difference_of(state, weight):
    return jnp.sin(state - weight)


@jax.jit
def called_with(weight, state):
    return jnp.hypot(weight, state)


@jax.jit
def sum_of(weight, state):
    return jnp.tanh(weight.sum() * state)


@jax.jit
def sine_of(weight, state):
    return jnp.cos(state) + jnp.sin(weight)


LAYERS = {
    "matrix": (product_of, WEIGHTS[0], True),
    "the state first": (lambda weight, state: difference_of(state, weight), X / 2, True),
    "of which parts are moved": (called_with, X / 2, None),
    "of which a sum is moved": (sum_of, X / 2, None),
    "of which a sine is moved": (sine_of, X / 2, None),
}
"""What a layer computes, its weight, and whether its program has all of its arguments."""


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize("by", ["weight", "state"])
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.each
def test_arguments_of_what_a_differentiated_loop_calls_keep_their_names(layer, by, checkpoints, watched):
    function, weight, is_told = LAYERS[layer]

    def loss(weight, state):
        step = jax.checkpoint(function) if checkpoints else function
        last, _ = lax.scan(lambda state, _: (step(weight, state), None), state, length=2)
        return (last**2).sum()

    program = jax.value_and_grad(loss, argnums=int(by == "state"))
    run = watched(jax.jit(program), weight, X, values=True)
    lines = [event for event in run.events if event.site.watch.primitive == "argument" and event.site.line < 60]
    states = [X, function(weight, X)]
    for name, wanted in (("weight", [weight, weight]), ("state", states)):
        told = [event.values[-1] for event in lines if event.site.label.partition("@")[0] == name]
        assert is_told is None or bool(told) == is_told
        agree(told, wanted[: len(told)])


@pytest.mark.parametrize("is_stacked", [True, False])
@pytest.mark.parametrize("used", ["both", "gradient", "curvature"])
@pytest.mark.each
def test_gradients_pushed_forward_through_a_loop(used, is_stacked, watched, whole):
    def loss(weights):
        step = (lambda state, weight: (jnp.tanh(weight @ state), None)) if is_stacked else None
        again = lambda state, _: (jnp.sin(weights[0] @ state), None)  # noqa: E731 - as short as the other.
        last, _ = lax.scan(step or again, X, weights if is_stacked else None, length=2)
        return (last**2).sum()

    @jax.jit
    def f(weights, direction):
        slope, curvature = jax.jvp(jax.grad(loss), (weights,), (direction,))
        return (slope * 2 if used != "curvature" else 0.0), (curvature * 3 if used != "gradient" else 0.0)

    run = watched(f, WEIGHTS, DIRECTION, watch="slope,curvature", values=True)
    slope, curvature = jax.jvp(jax.grad(loss), (WEIGHTS,), (DIRECTION,))
    agree(whole(run, "slope"), [slope] if used != "curvature" else [])
    agree(whole(run, "curvature"), [curvature] if used != "gradient" else [])


def decayed(rate):
    def step(state, _):
        state = state - 0.1 * jnp.exp(rate) * state
        return state, None

    state, _ = lax.scan(step, jnp.ones(3), length=3)
    return (state**2).sum()


def decayed_by_gradient(rate):
    def step(state, _):
        pull = jax.grad(lambda state: (jnp.sin(rate) * state**2).sum())(state)
        state = state - 0.3 * pull
        return state, None

    state, _ = lax.scan(step, jnp.ones(3), length=3)
    return (state**2).sum()


@since_9
@pytest.mark.parametrize("loss", [decayed, decayed_by_gradient])
def test_a_second_derivative_of_a_loop_is_the_last_that_it_computes(loss, watched, whole):
    rate = jnp.float32(0.7)

    @jax.jit
    def f(rate):
        curvature = jax.grad(jax.grad(loss))(rate)
        return curvature * 2

    run = watched(f, rate, values=True)
    agree(whole(run, "curvature"), [jax.grad(jax.grad(loss))(rate)])
    assert not any(event.site.label.startswith("curvature[") for event in run.events)
    states = jax.jit(lambda rate: lax.scan(partial(_decay, rate, loss), jnp.ones(3), length=3)[1])(rate)
    told = [event for event in run.events if event.site.watch.primitive == "sub" and event.site.label[:5] == "state"]
    agree([event.values[-1] for event in sorted(told, key=lambda event: event.step)], states)


def _decay(rate, loss, state, _):
    factor = 0.1 * jnp.exp(rate) if loss is decayed else 0.6 * jnp.sin(rate)
    state = state - factor * state
    return state, state


@pytest.mark.parametrize("act", [jnp.tanh, jax.nn.sigmoid, jnp.exp], ids=lambda act: act.__name__)
def test_a_loop_differentiated_twice_has_the_first_gradients(act, watched):
    def loss(weights):
        def step(state, weight):
            state = act(weight @ state)
            return state, None

        last, _ = lax.scan(step, X, weights)
        return (last**2).sum()

    def with_added(added):
        state = X
        for weight, more in zip(WEIGHTS, added, strict=True):
            state = act(weight @ state) + more
        return (state**2).sum()

    program = jax.jit(jax.grad(lambda one: jnp.vdot(jax.grad(loss)(one), DIRECTION)))
    run = watched(program, WEIGHTS, watch="state", values=True)
    made = {site.id for site in run.sites if site.watch.role == "value" and "act" in site.source}
    told = [event for event in run.events if event.site.watch.value in made]
    by_step = sorted(told, key=lambda event: event.step)
    agree([event.values[-1] for event in by_step], jax.grad(with_added)(jnp.zeros((2, 3))))


def test_residuals_of_nested_loops_under_vmap_have_no_name(watched):
    rates = jnp.array([0.5, 1.0, 2.0])

    def loss(rate):
        def inner(state, _):
            bent = jnp.tanh(state * rate)
            return bent, None

        def outer(state, _):
            return lax.scan(inner, state, length=2)[0], None

        return lax.scan(outer, X, length=2)[0].sum()

    run = watched(jax.jit(jax.vmap(jax.value_and_grad(loss))), rates, watch="bent", values=True)
    states = [jnp.broadcast_to(X, (3, 3))]
    for _ in range(4):
        states.append(jnp.tanh(states[-1] * rates[:, None]))
    agree([event.values[-1] for event in run.events if event.site.watch.role == "value"], states[1:])
    assert {event.site.label for event in run.events} == {"bent", "grad/bent"}


FORWARD = {
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (DIRECTION,)),
    "jacfwd": lambda f: lambda x: (f(x), jax.jacfwd(f)(x)),
    "hessian": lambda f: lambda x: (f(x), jax.hessian(lambda x: f(x).sum())(x)),
    "jvp of vmap": lambda f: lambda x: jax.jvp(jax.vmap(f), (x[None],), (DIRECTION[None],)),
}


def through_scan(weights):
    def step(state, weight):
        bent = jnp.tanh(weight @ state)
        return bent, bent * 2

    last, stacked = lax.scan(step, X, weights)
    return last + stacked.sum(0)


def through_tree(weights):
    def step(carry, layer):
        state, shift = carry
        return (jnp.tanh(layer["w"] @ state) + layer["b"] * shift, shift * 0.5), shift

    pairs = {"w": weights, "b": jnp.cos(weights[:, 0])}
    (last, shift), shifts = lax.scan(step, (X, X * 2), pairs)
    return last + shift + shifts.sum(0)


def through_while(weights):
    def going_on(carry):
        return carry[1] < 3

    def step(carry):
        state, count = carry
        return jnp.sin(weights[0] @ state), count + 1

    last, count = lax.while_loop(going_on, step, (X, 0))
    return last * count


WANTED = {
    through_scan: {"state", "weight", "bent", "last", "stacked"},
    through_tree: {"state", "shift", "layer['w']", "layer['b']", "last", "shifts"},
    through_while: {"state", "count", "last"},
}


@pytest.mark.parametrize("loop", WANTED, ids=lambda loop: loop.__name__)
@pytest.mark.parametrize("pushed", FORWARD)
@pytest.mark.each
def test_tangents_through_a_loop_are_not_named_as_values(pushed, loop, watched, whole):
    """Each value must equal one of the same loop without tangents."""
    if loop is through_while and pushed == "hessian":
        pytest.skip("JAX does not differentiate a `while` in reverse")
    names = ",".join(WANTED[loop])
    plain = watched(jax.jit(loop), WEIGHTS, watch=names, values=True)
    run = watched(jax.jit(FORWARD[pushed](loop)), WEIGHTS, watch=names, values=True)
    labels = {event.site.watch.name for event in run.events if event.site.watch.role == "value"}
    assert labels == {event.site.watch.name for event in plain.events}
    for name in labels:
        wanted = [np.squeeze(one) for one in whole(plain, name)]
        for told in whole(run, name):
            assert any(
                one.shape == np.squeeze(told).shape and np.allclose(one, np.squeeze(told), 1e-4) for one in wanted
            )
