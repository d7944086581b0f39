"""Test results of functions with derivative rules in a differentiated loop, where JAX runs the rule instead."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_debug_widgets._jax.compat import versions

XS = jnp.array([0.5, 1.25, 2.0])

pytestmark = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="on jax 0.8 rules have names in fewer places (docs/limits.md)"
)


@jax.custom_jvp
def polar(x):
    return jnp.sin(x), jnp.cos(x)


@polar.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return (jnp.sin(x), jnp.cos(x)), (t * jnp.cos(x), -t * jnp.sin(x))


@jax.custom_jvp
def in_dictionary(x):
    return {"u": x * 2, "v": x * 3}


in_dictionary.defjvp(lambda primals, tangents: (in_dictionary(*primals), {"u": tangents[0] * 2, "v": tangents[0] * 3}))


def differentiated(step, start=0.5):
    def loss(x):
        return jax.lax.scan(step, x, XS)[0]

    return jax.jit(jax.value_and_grad(loss)), start


def scanned(step, start):
    """Return the carry of `step` before each iteration."""
    carries = [jnp.float32(start)]
    for x in XS:
        carries.append(step(carries[-1], x)[0])
    return carries


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize(
    "function", [jax.nn.relu, jax.nn.softplus, jax.nn.relu6, jax.nn.silu, jax.scipy.stats.norm.logcdf]
)
def test_the_gradient_is_that_of_the_value(watched, function):
    def step(carry, x):
        b = function(carry)
        carry = carry + b * x
        return carry, None

    run = watched(*differentiated(step), watch="b")
    carries = scanned(step, 0.5)
    np.testing.assert_allclose(run["b"]["value"], [function(one) for one in carries[:-1]], rtol=1e-5)
    after = [jax.grad(lambda c, k=k: jax.lax.scan(step, c, XS[k + 1 :])[0])(carries[k + 1]) for k in range(3)]
    np.testing.assert_allclose(run["b"].gradient["value"], np.array(after) * np.asarray(XS), rtol=1e-5)


def both(carry, x):
    a, b = polar(carry)
    return a * b + x, None


def second(carry, x):
    _, b = polar(carry)
    return b * x, None


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("step", [both, second])
def test_several_results_of_a_custom_rule_in_a_loop_have_their_names(watched, step):
    run = watched(*differentiated(step), watch="a,b")
    carries = np.array(scanned(step, 0.5)[:-1])
    np.testing.assert_allclose(run["b"]["value"], np.cos(carries), rtol=1e-5)
    assert run["b"].gradient["value"][-1] == pytest.approx(
        np.sin(carries[-1]) if step is both else float(XS[-1]), rel=1e-5
    )
    if step is both:
        np.testing.assert_allclose(run["a"]["value"], np.sin(carries), rtol=1e-5)


def test_a_result_without_a_gradient_and_leaves_of_a_tree(watched):
    matrix = jnp.eye(2) * 3

    def with_slogdet(carry, x):
        sign, logdet = jnp.linalg.slogdet(matrix * carry)
        return sign * logdet + x, None

    run = watched(*differentiated(with_slogdet), watch="sign,logdet")
    carries = np.array(scanned(with_slogdet, 0.5)[:-1])
    np.testing.assert_allclose(run["sign"]["value"], [1, 1, 1])
    np.testing.assert_allclose(run["logdet"]["value"], np.log((3 * carries) ** 2), rtol=1e-5)

    def with_tree(carry, x):
        found = in_dictionary(carry)
        return found["u"] * found["v"] + x, None

    run = watched(*differentiated(with_tree), watch="found")
    carries = np.array(scanned(with_tree, 0.5)[:-1])
    np.testing.assert_allclose(run["found['v']"]["value"], carries * 3, rtol=1e-5)
    np.testing.assert_allclose(run["found['u']"].gradient["value"][-1], carries[-1] * 3, rtol=1e-5)


def test_type_conversions_in_a_differentiated_loop_have_no_name(watched):
    """A conversion of types has the same lines as the operation that needs it."""

    def step(carry, x):
        a, b = polar(carry)
        new = a * b + x
        return new, None

    run = watched(*differentiated(step), watch="new")
    np.testing.assert_allclose(run["new"]["value"], scanned(step, 0.5)[1:], rtol=1e-5)
