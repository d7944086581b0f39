"""Test backward rules that differentiate again: residuals are no values, and gradients have execution numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import versions

pytestmark = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="JAX 0.8 has the caller's frames on all that a rule computes"
)

WS = tuple(jnp.float32(w) for w in (0.9, -0.7, 0.5))
X = jnp.float32(0.8)


def labelled(run, name):
    """Return the values of a name and their gradients, by number."""
    values = {label.partition("#")[2]: one for label, one in run.values.items() if label.startswith(f"{name}@")}
    gradients = {label.partition("#")[2]: one for label, one in run.values.items() if label.startswith(f"grad/{name}@")}
    return values, gradients


def number(value):
    return float(value["value"][0])


def layers(activation):
    def layer(w, x):
        h = activation(w * x)
        return h

    def net(ws, x):
        for w in ws:
            x = layer(w, x)
        return x

    return layer, net


def remat_of(activation, *, in_parts):
    """Return a network whose backward rule recomputes it.

    The rule has one `jax.vjp`, or one for each layer, the last layer first.
    """
    layer, net = layers(activation)

    def backward(kept, g):
        return jax.vjp(net, *kept)[1](g)

    def backward_in_parts(kept, g):
        (ws, x), given, gradients = kept, [], []
        for w in ws:
            given.append(x)
            x = activation(w * x)
        for w, x in reversed([*zip(ws, given, strict=True)]):
            h, pull = jax.vjp(layer, w, x)
            of_w, g = pull(g + 0 * h)
            gradients.append(of_w)
        return tuple(gradients[::-1]), g

    remat = jax.custom_vjp(net)
    remat.defvjp(lambda ws, x: (net(ws, x), (ws, x)), backward_in_parts if in_parts else backward)
    return remat


def layers_and_slopes(activation):
    """Return the results of each layer, and the derivatives of the square of the last one for them."""

    def with_zeros(zeros):
        x, hs = X, []
        for w, zero in zip(WS, zeros, strict=True):
            x = activation(w * x) + zero
            hs.append(x)
        return x**2, hs

    (_, values), slopes = jax.value_and_grad(with_zeros, has_aux=True)([0.0] * 3)
    return list(zip(map(float, values), map(float, slopes), strict=True))


@pytest.mark.behaviour("W2")
@pytest.mark.parametrize("activation", [jax.nn.silu, jnp.sin, jnp.tanh, jax.nn.softplus])
@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.each
def test_a_rule_that_computes_the_layers_again(activation, in_parts, watched):
    remat = remat_of(activation, in_parts=in_parts)
    run = watched(jax.jit(jax.value_and_grad(lambda ws: remat(ws, X) ** 2)), WS, watch="h")
    pairs = layers_and_slopes(activation)
    values, gradients = labelled(run, "h")
    for value in values.values():
        assert min(abs(number(value) - h) for h, _ in pairs) < 1e-5, "no residual"
    told = {}
    for at, gradient in gradients.items():
        h, slope = min(pairs, key=lambda pair: abs(number(gradient) - pair[1]))
        np.testing.assert_allclose(number(gradient), slope, rtol=1e-4)
        told[slope] = number(values[at]) if at in values else h
        np.testing.assert_allclose(told[slope], h, rtol=1e-4)
    assert len(told) == len(pairs)


@pytest.mark.behaviour("W2")
@pytest.mark.parametrize("is_direct", [False, True])
@pytest.mark.parametrize("asked", ["vjp", "grad", "loop"])
@pytest.mark.each
def test_a_rule_that_calls_a_jitted_function_twice(asked, is_direct, watched):
    @jax.jit
    def rhs(u):
        du = u * (1 - u)
        return du

    def heun(u):
        a = rhs(u)
        b = rhs(u + 0.5 * a)
        return u + 0.5 * (a + b)

    rules = {
        "vjp": lambda u, ct: jax.vjp(heun, u)[1](ct),
        "grad": lambda u, ct: (jax.grad(heun)(u) * ct,),
        "loop": lambda u, ct: (lax.scan(lambda c, _: (jax.vjp(heun, u)[1](c)[0], None), ct, None, length=1)[0],),
    }
    step = jax.custom_vjp(heun)
    step.defvjp(lambda u: (heun(u), u), rules[asked])
    run = watched(
        jax.jit(jax.value_and_grad(step if is_direct else lambda u: step(u) * 1.0)), jnp.float32(0.3), watch="du"
    )
    first, middle = 0.3 * 0.7, 0.3 + 0.5 * 0.3 * 0.7
    of_second = 0.5
    of_first = 0.5 + 0.5 * of_second * (1 - 2 * middle)
    pairs = {of_first: first, of_second: middle * (1 - middle)}
    values, gradients = labelled(run, "du")
    found = set()
    for at, gradient in gradients.items():
        slope = min(pairs, key=lambda slope: abs(slope - number(gradient)))
        np.testing.assert_allclose(number(gradient), slope, rtol=1e-5)
        if at in values:
            np.testing.assert_allclose(number(values[at]), pairs[slope], rtol=1e-5)
        found.add(slope)
    assert len(found) == len(pairs)


@pytest.mark.behaviour("W2")
def test_a_pullback_in_the_loop_of_a_backward_rule_has_its_own_gradients_and_no_residuals(watched, agrees):
    """In a deep equilibrium model the rule solves for the cotangent by a fixed point iteration."""
    p, x = jnp.array([[0.3, 0.1], [-0.2, 0.4]]), jnp.array([0.5, -0.3])

    def cell(p, x, z):
        pre = z @ p + x
        act = jnp.tanh(pre)
        return act

    @jax.custom_vjp
    def fixed(p, x):
        return lax.fori_loop(0, 6, lambda _, z: cell(p, x, z), jnp.zeros_like(x))

    def forward(p, x):
        z = fixed(p, x)
        return z, (p, x, z)

    def backward(kept, g):
        p, x, z = kept
        _, pull_z = jax.vjp(lambda z: cell(p, x, z), z)
        u = lax.fori_loop(0, 3, lambda _, u: g + pull_z(u)[0], g)
        return jax.vjp(lambda p, x: cell(p, x, z), p, x)[1](u)

    fixed.defvjp(forward, backward)
    run = watched(jax.jit(jax.value_and_grad(lambda p, x: (fixed(p, x) ** 2).sum())), p, x, watch=True)
    assert not [label for label in run.values if label.startswith(("act[", "pre[", "grad/act["))]
    z = fixed(p, x)
    values, gradients = labelled(run, "pre")
    in_loop = next(one for one in gradients.values() if len(one.steps) == 3)
    u, slope = 2 * z, 1 - jnp.tanh(z @ p + x) ** 2
    for step in range(3):
        agrees(in_loop, u * slope, step)
        u = 2 * z + (u * slope) @ p.T
    for at, gradient in gradients.items():
        if at in values:
            assert len(values[at].steps) == len(gradient.steps)
            agrees(values[at], z @ p + x)
