"""Test that the check `nonfinite` changes no bit of a program's results, though it reads values inside of XLA's fusions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw


def layer(w, x, y):
    """Compute the gradient of a weight, which XLA writes transposed only, and a step with a contracted product."""

    def loss(w):
        return jnp.mean((jax.nn.silu(x @ w) - y) ** 2)

    return w - 0.37 * jax.grad(loss)(w)


def attend(x):
    """Compute the gradient of a small attention with a layer norm, whose kernels XLA fuses in many ways."""

    def loss(w):
        h = x @ w
        h = (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-6)
        scores = jnp.where(jnp.tril(jnp.ones((16, 16))) > 0, h @ h.T / 4, -jnp.inf)
        return jnp.mean(jax.nn.log_softmax(x + jax.nn.gelu(jax.nn.softmax(scores) @ h))[:, 0])

    return jax.value_and_grad(loss)(jnp.outer(jnp.cos(jnp.arange(8.0)), jnp.sin(jnp.arange(8.0))))


PROGRAMS = {
    "contracted": lambda x: x * x.sum() - jnp.sin(x) * x,
    "negated": lambda x: jnp.exp(x) - (x * 3.3) * jnp.cos(x),
    "quotient": jax.grad(lambda x: jnp.sum(jnp.sin(x) / x)),
    "silu": jax.grad(lambda x: jnp.sum(jax.nn.silu(x) * x)),
    "powers": lambda x: x**3 - 2.1 * x**2 + x / 7,
    "normal": jax.grad(lambda x: jnp.sum(jnp.tanh(x * jax.random.normal(jax.random.key(0), x.shape)) ** 2)),
    "attention": lambda x: attend(jnp.outer(x[:16], x[16:24]) - 1),
    "layer": lambda x: layer(jnp.outer(x, x + 1), jnp.outer(x[:16], x), jnp.outer(x[:16], x * 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_check_of_nonfinite_numbers_changes_no_bit(name):
    x = np.linspace(0.1, 1.7, 96, dtype=np.float32)
    expected = jax.jit(PROGRAMS[name])(x)
    with jdw.capture(check="nonfinite") as run:
        given = jax.jit(PROGRAMS[name])(x)
    jax.tree.map(np.testing.assert_array_equal, given, expected)
    assert run.findings == []


def test_a_gradient_that_xla_writes_transposed_is_reported_in_the_shape_of_its_weight():
    def step(w, x):
        return jax.grad(lambda w: jnp.sum(jnp.sin(x @ w)))(w)

    x = jnp.ones((2, 3)).at[:, 1].set(3e38)
    with jdw.capture(check="nonfinite") as run:
        given = jax.jit(step)(jnp.zeros((3, 4)), x)
    assert np.isinf(given[1]).all()
    (finding,) = run.findings
    assert "inf at [1, 0]" in finding.why
