"""Test `jax.linearize` (values of its function, tangents of its result) and the pullback of `jax.vjp`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Jaxpr

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions

X = jnp.arange(1.0, 4.0) / 3
V = jnp.array([0.5, -1.0, 2.0])
WEIGHTS = jnp.arange(18.0).reshape(2, 3, 3) / 18 - 0.4
DIRECTION = jnp.cos(WEIGHTS * 5)


def net(x):
    hidden = jnp.sin(x * x)
    product = hidden * x
    return product, product.sum()


def scanned(weights):
    def step(carry, weight):
        state = jnp.sin(weight @ carry)
        return state, None

    last, _ = lax.scan(step, X, weights)
    return last


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("uses_value", [True, False])
def test_values_are_distinguished_from_tangents(uses_value, watched, whole):
    @jax.jit
    def f(x, v):
        (first, second), push = jax.linearize(net, x)
        slope, slant = push(v)
        return slope.sum() * slant + (first.sum() * second if uses_value else 0.0)

    run = watched(f, X, V, values=True)
    slope, slant = jax.jvp(net, (X,), (V,))[1]
    wanted = {"slope": slope, "slant": slant}
    if uses_value:
        wanted |= {"hidden": jnp.sin(X * X), "product": net(X)[0], "first": net(X)[0], "second": net(X)[1]}
    for name, value in wanted.items():
        (told,) = whole(run, name)
        np.testing.assert_allclose(told, value, rtol=1e-5)
    for name, value in {"hidden": jnp.sin(X * X), "product": net(X)[0]}.items():
        for told in whole(run, name):
            np.testing.assert_allclose(told, value, rtol=1e-5)


@pytest.mark.parametrize("loops", [1, 3])
def test_each_iteration_of_a_python_loop_has_its_values_and_tangents(loops, watched):
    @jax.jit
    def f(x, v):
        for _ in range(loops):
            value, push = jax.linearize(lambda x: jnp.tanh(x) * x, x)
            slope = push(v)
            x = value + slope
        return x

    run, x = watched(f, X, V, watch="value,slope", values=True), X
    for number in range(loops):
        value, slope = jax.jvp(lambda x: jnp.tanh(x) * x, (x,), (V,))
        for name, wanted in (("value", value), ("slope", slope)):
            told = [event.values[-1] for event in run.events if event.site.label.partition("#")[0] == name]
            np.testing.assert_allclose(told[number], wanted, rtol=1e-5)
        x = value + slope


def test_values_in_a_linearized_loop_are_recorded(watched, whole):
    @jax.jit
    def f(weights, direction):
        value, push = jax.linearize(scanned, weights)
        slope = push(direction)
        return value * 2 + slope * 3

    run = watched(f, WEIGHTS, DIRECTION, values=True)
    value, slope = jax.jvp(scanned, (WEIGHTS,), (DIRECTION,))
    for name, wanted in (("value", value), ("slope", slope), ("last", value)):
        (told,) = whole(run, name)
        np.testing.assert_allclose(told, wanted, rtol=1e-5)
    carry = X
    for number, weight in enumerate(WEIGHTS):
        for name, wanted in (("weight", weight), ("state", carry := jnp.sin(weight @ carry))):
            np.testing.assert_allclose(whole(run, name)[number], wanted, rtol=1e-5)


def test_residuals_of_a_linearized_gradient_have_no_name(watched, whole):
    def loss(weights):
        return (scanned(weights) ** 2).sum()

    @jax.jit
    def f(weights, direction):
        _, push = jax.linearize(jax.grad(loss), weights)
        curvature = push(direction)
        return curvature * 2

    run = watched(f, WEIGHTS, DIRECTION, values=True)
    (told,) = whole(run, "curvature")
    wanted = jax.jvp(jax.grad(loss), (WEIGHTS,), (DIRECTION,))[1]
    np.testing.assert_allclose(told, wanted, rtol=1e-4, atol=1e-6)
    carry = X
    for weight, state in zip(WEIGHTS, whole(run, "state"), strict=True):
        carry = jnp.sin(weight @ carry)
        np.testing.assert_allclose(state, carry, rtol=1e-5)


@pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="what `jax.vjp` gives has no names on jax 0.8 (docs/limits.md)"
)
@pytest.mark.behaviour("W2")
@pytest.mark.parametrize("pulled", ["argument", "value", "computed"])
def test_whatever_is_pulled_back_the_values_have_their_gradients(pulled, watched, whole):
    def of(hidden):
        product = hidden * jnp.cos(hidden)
        return jnp.exp(product)

    @jax.jit
    def f(x, v):
        value, pull_back = jax.vjp(lambda x: of(jnp.sin(x)), x)
        (slope,) = pull_back({"argument": v, "value": value, "computed": jnp.tanh(v) + x}[pulled])
        return slope * 2, value

    run = watched(f, X, V, values=True)
    value, pull_back = jax.vjp(lambda x: of(jnp.sin(x)), X)
    cotangent = {"argument": V, "value": value, "computed": jnp.tanh(V) + X}[pulled]
    wanted = {"slope": pull_back(cotangent)[0], "value": value, "grad/product": cotangent * value}
    for name, one in wanted.items():
        (told,) = whole(run, name)
        np.testing.assert_allclose(told, one, rtol=1e-5)


def test_the_result_of_a_function_that_linearizes_has_the_callers_name(watched, whole):
    def table_of(x):
        _, push = jax.linearize(lambda x: jnp.sin(x) * x.sum(), x)
        return jax.vmap(push)(jnp.eye(3))

    @jax.jit
    def f(x):
        table = table_of(x)
        return table * 2

    run = watched(f, X, values=True)
    (told,) = whole(run, "table")
    np.testing.assert_allclose(
        told, jax.vmap(lambda v: jax.jvp(lambda x: jnp.sin(x) * x.sum(), (X,), (v,))[1])(jnp.eye(3))
    )


def test_a_value_used_only_by_tangents_is_recorded_where_it_is_assigned(watched, whole):
    @jax.jit
    def f(x, v):
        scale = jnp.exp(x)
        _, push = jax.linearize(lambda x: x * scale, x)
        slope = push(v)
        return slope + 1

    run = watched(f, X, V, values=True)
    for name, wanted in (("scale", jnp.exp(X)), ("slope", V * jnp.exp(X))):
        (told,) = whole(run, name)
        np.testing.assert_allclose(told, wanted, rtol=1e-6)


def test_a_pullback_in_a_backward_rule_is_part_of_the_gradient(watched, whole):
    @jax.custom_vjp
    def settled(rate, start):
        return lax.fori_loop(0, 60, lambda _, x: jnp.cos(rate * x), start)

    def forward(rate, start):
        x = settled(rate, start)
        return x, (rate, x)

    def backward(kept, cotangent):
        rate, x = kept
        _, pull_state = jax.vjp(lambda x: jnp.cos(rate * x), x)
        summed = lax.fori_loop(0, 60, lambda _, u: cotangent + pull_state(u)[0], cotangent)
        _, pull_rate = jax.vjp(lambda rate: jnp.cos(rate * x), rate)
        return pull_rate(summed)[0], jnp.zeros_like(x)

    settled.defvjp(forward, backward)

    def loss(rate):
        return (settled(rate, jnp.zeros(3)) * rate).sum()

    @jax.jit
    def f(rate):
        value, slope = jax.value_and_grad(loss)(rate)
        return value * 2, slope * 3

    run = watched(f, X, values=True)
    (told,) = whole(run, "slope")
    np.testing.assert_allclose(told, jax.grad(loss)(X), rtol=1e-5)


def twice_bent(x):
    hidden = jnp.tanh(x)
    bent = jnp.tanh(hidden * 2)
    return bent


def in_scan(push, value, vs):
    return lax.scan(lambda carry, v: (carry * push(v), None), value, vs)[0]


def in_while(push, value, vs):
    del value
    return lax.fori_loop(0, vs.shape[0], lambda _, v: push(v) * 0.9, vs[0])


def in_branch(push, value, vs):
    del value
    v = jnp.sin(vs[1])
    return lax.cond(v.sum() > 0, lambda: push(v) * 0.9, lambda: v)


def in_jitted(push, value, vs):
    return jax.jit(lambda v: push(v) * 2)(vs[0]) * value


def of_value_in_scan(push, value, vs):
    return lax.scan(lambda carry, v: (carry * (push(value) + v), None), vs[0], vs)[0]


@pytest.mark.parametrize("f", [twice_bent, lambda x: jnp.sin(x) * x], ids=["tanh", "product"])
@pytest.mark.parametrize(
    "use", [in_scan, in_while, in_branch, in_jitted, of_value_in_scan], ids=lambda one: one.__name__
)
@pytest.mark.parametrize("is_returned", [True, False])
def test_a_loop_of_tangents_does_not_name_residuals_as_values(f, use, is_returned, watched, whole):
    @jax.jit
    def program(x, vs):
        value, push = jax.linearize(f, x)
        pushed = use(push, value, vs)
        return (pushed, value) if is_returned else pushed

    run = watched(program, X, jnp.stack([V, V + 1]), values=True)
    told = whole(run, "value")
    assert len(told) == (is_returned or use not in (in_while, in_branch)), "else nothing uses it"
    for one in told:
        np.testing.assert_allclose(one, f(X), rtol=1e-5)
    np.testing.assert_allclose(
        whole(run, "pushed")[-1], jax.tree.leaves(program(X, jnp.stack([V, V + 1])))[0], rtol=1e-5
    )
    if use is in_branch:
        np.testing.assert_allclose(whole(run, "v")[-1], jnp.sin(V + 1), rtol=1e-5)
    assert not [label for label in run.values if label.startswith("value[")]


@pytest.mark.parametrize("is_used", [True, False])
def test_the_auxiliary_output_of_linearize_has_its_names(is_used, watched, agrees):
    def f(x):
        hidden = jnp.tanh(x)
        return hidden * 2, {"hidden": hidden, "total": hidden.sum()}

    @jax.jit
    def program(x, vs):
        value, push, aux = jax.linearize(f, x, has_aux=True)
        last, _ = lax.scan(lambda carry, v: (carry + push(v), None), x, vs)
        return last, aux["total"], value * aux["hidden"] if is_used else aux["hidden"]

    run = watched(program, X, jnp.stack([V, V + 1]))
    agrees(run["aux['hidden']"], jnp.tanh(X))
    agrees(run["aux['total']"], jnp.tanh(X).sum())
    if is_used:
        agrees(run["value"], jnp.tanh(X) * 2)


def by_pulling(x):
    value, pull = jax.vjp(twice_bent, x)
    (jacobian,) = jax.vmap(pull)(jnp.eye(3))
    return value @ jacobian


def by_pulling_an_item(x):
    value, pull = jax.vjp(twice_bent, x)
    jacobian = jax.vmap(pull)(jnp.eye(3))[0]
    return value @ jacobian


def by_pushing(x):
    value, push = jax.linearize(twice_bent, x)
    jacobian = jax.vmap(push)(jnp.eye(3)).T
    return value @ jacobian


def by_pushing_beside(x):
    jacobian = jax.vmap(lambda v: jax.jvp(twice_bent, (x,), (v,))[1])(jnp.eye(3)).T
    return x @ jacobian


since_9 = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="what `jax.vjp` gives is not told on jax 0.8 (docs/limits.md)"
)
JACOBIANS = [
    pytest.param(by_pulling, marks=since_9),
    pytest.param(by_pulling_an_item, marks=since_9),
    by_pushing,
    by_pushing_beside,
]


@pytest.mark.parametrize("program", JACOBIANS)
def test_a_jacobian_of_all_directions_at_once(program, watched, agrees):
    run = watched(jax.jit(program), X)
    agrees(run["jacobian"], jax.jacobian(twice_bent)(X))
    if program is not by_pushing_beside:
        agrees(run["value"], twice_bent(X))
    agrees(run["hidden"], jnp.tanh(X))


def test_the_argument_of_a_function_with_a_pullback_is_not_named_as_its_result(watched, agrees):
    @jax.jit
    def program(x, z):
        _, pull = jax.vjp(lambda z: jnp.tanh(2 * z + x), x)
        push = lambda u: z + pull(u)[0]  # noqa: E731 - as it is handed to a solver.
        a = push(2 * z)
        b = a * 3
        return b

    run = watched(program, X, V)
    expected = V + jax.vjp(lambda z: jnp.tanh(2 * z + X), X)[1](2 * V)[0]
    agrees(run["a"], expected)
    agrees(run["b"], expected * 3)
    assert "a[0]" not in run.values


@jax.custom_jvp
def doubled(x):
    return 2 * x


@doubled.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    slope = jnp.cos(x)
    return 2 * x, slope * dx


@pytest.mark.parametrize("call", [doubled, jax.nn.relu, lambda x: doubled(doubled(x))])
def test_a_rule_of_the_users_is_linearized(call, watched):
    @jax.jit
    def f(x):
        h = jnp.sin(x)
        y, push = jax.linearize(lambda h: call(h).sum(), h)
        pushed = push(h)
        rest = h * 3
        return y, pushed, rest

    run = watched(f, X)
    assert [note for note in run.status().notes if "runs unwatched" in note] == []
    y, pushed, rest = run.result
    assert run["y"]["value"] == y
    assert run["pushed"]["value"] == pushed
    np.testing.assert_allclose(run["h"]["mean"], [jnp.sin(X).mean()], rtol=1e-6)
    np.testing.assert_allclose(run["rest"]["mean"], [rest.mean()], rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"watch": True}], ids=["capture", "watch"])
def test_the_function_that_linearize_gives_holds_the_linear_program_as_ever(options):
    with jdw.capture(**options):
        _, push = jax.linearize(jnp.sin, 1.0)
    assert isinstance(push.func.args[0], Jaxpr)
