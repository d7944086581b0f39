"""Test a gradient in each round of a Python loop: each execution has the gradient of its own backward pass."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

X = jnp.array([0.3, 0.7])


def f(x):
    h = x**2 + 1.0
    return jnp.sin(h).sum()


def f_of_layers(x):
    """The values depend only on `x`, so that each has the gradient cos(h)."""
    total = 0.0
    for k in range(2):
        h = lax.stop_gradient(x) * (k + 1.0) + x - lax.stop_gradient(x)
        total = total + jnp.sin(h).sum()
    return total


def f_of_loop(x):
    def body(total, k):
        h = x * (k + 1.0)
        return total + jnp.sin(h).sum(), None

    return lax.scan(body, 0.0, jnp.arange(2.0))[0]


def layer_of(x):
    h = x**2 + 1.0
    return h


def model_of(x):
    return layer_of(x)


def f_of_calls(x):
    """The value of `h` has a name in the caller of its function, too."""
    return jnp.sin(model_of(x)).sum()


def each_round(f, x):
    for _ in range(3):
        x = x - 0.1 * jax.grad(f)(x)
    return x


def handed_on(f, x):
    for _ in range(3):
        x = jax.grad(f)(x)
    return x


def each_round_with_value(f, x):
    losses = []
    for _ in range(3):
        loss, g = jax.value_and_grad(f)(x)
        x = x - 0.1 * g
        losses.append(loss)
    return x, losses


def comprehension(f, x):
    return [jax.grad(f)(x * k) for k in (1.0, 1.5, 2.0)]


def pulled_at_once(f, x):
    for _ in range(3):
        y, pull = jax.vjp(f, x)
        x = x - 0.1 * pull(jnp.ones_like(y))[0]
    return x


def pulled_in_order(f, x):
    pulls = [jax.vjp(f, x * k)[1] for k in (1.0, 1.5, 2.0)]
    return [pull(1.0) for pull in pulls]


def pulled_in_reverse(f, x):
    pulls = [jax.vjp(f, x * k)[1] for k in (1.0, 1.5, 2.0)]
    return [pull(1.0) for pull in reversed(pulls)]


def summed_up(f, x):
    return jax.grad(lambda x: sum(f(x * k) for k in (1.0, 1.5, 2.0)))(x)


def in_scan(f, x):
    return lax.scan(lambda x, _: (each_round(f, x), None), x, length=2)[0]


def batched(f, x):
    return jax.vmap(lambda x: each_round(f, x))(jnp.stack([x, x * 2]))


@pytest.mark.parametrize("function", [f, f_of_layers, f_of_loop, f_of_calls])
@pytest.mark.parametrize(
    "program",
    [
        each_round,
        handed_on,
        each_round_with_value,
        comprehension,
        pulled_at_once,
        pulled_in_order,
        pulled_in_reverse,
        summed_up,
        in_scan,
        batched,
    ],
)
@pytest.mark.each
def test_each_execution_has_the_gradient_of_its_own_backward_pass(program, function, watched):
    run = watched(jax.jit(lambda x: program(function, x)), X, values=True)
    told = [label for label, value in run.values.items() if value.site.label.split("@")[0] == "h"]
    gradients = 0
    for label in told:
        values, cotangents = run[label]["value"], run[label].gradient["value"]
        for one in cotangents:
            assert any(np.allclose(one, np.cos(value), rtol=1e-5, atol=1e-6) for value in values)
            gradients += 1
    assert gradients >= {f: 3, f_of_layers: 6, f_of_loop: 6, f_of_calls: 3}[function]


def layer(p, x, is_last):
    z = x @ p["w"] + p["b"][None]
    a = z if is_last else jax.nn.relu(z)
    return a


def regularised(params, x, added=(0.0, 0.0, 0.0)):
    acts = []
    for n, p in enumerate(params):
        x = layer(p, x, n == 2)
        x = x + added[n]
        acts.append(x)
    return x, sum(jnp.abs(a).mean() for a in acts)


def unchanged(params, x):
    acts = []
    for n, p in enumerate(params):
        x = layer(p, x, n == 2)
        acts.append(x)
    return x, sum(jnp.abs(a).mean() for a in acts)


def test_layers_of_a_python_loop_of_which_the_last_has_no_activation(watched, agrees):
    def loss_of(model):
        def loss(params, x, *more):
            pred, reg = model(params, x, *more)
            return (pred**2).mean() + 0.1 * reg

        return loss

    keys = jax.random.split(jax.random.key(0), 4)
    params = [{"w": jax.random.normal(key, (4, 4)), "b": jnp.ones(4)} for key in keys[:3]]
    x, added = jax.random.normal(keys[3], (5, 4)), (jnp.zeros((5, 4)),) * 3
    run = watched(jax.jit(jax.value_and_grad(loss_of(unchanged))), params, x)
    agrees(run["pred"], regularised(params, x)[0])
    told = sorted((name for name in run.values if name.startswith("grad/x@")), key=lambda name: name.partition("#")[2])
    expected = jax.grad(loss_of(regularised), argnums=2)(params, x, added)
    assert len(told) == len(expected)
    for name, gradient in zip(told, expected, strict=True):
        agrees(run[name], gradient)


@pytest.mark.behaviour("W2")
def test_a_jitted_function_of_several_programs_has_its_own_gradients_in_each(watched, agrees):
    @jax.jit
    def layer(x):
        h = jnp.sin(x)
        return h

    def once(x, factor):
        return (layer(x) * factor).sum()

    def beside(x, factor):
        return (layer(lax.stop_gradient(x) + 5.0)).sum() + (layer(x + 1.0) * factor).sum()

    def both(x):
        first, second, third = (jax.jit(jax.value_and_grad(one)) for one in (once, beside, once))
        return first(x, 2.0), second(x, 3.0), third(x + 2.0, 4.0)

    for _ in range(2):  # The second time everything is in JAX's caches.
        run = watched(both, X)
        values = {label.partition("#")[2]: value for label, value in run.values.items() if label.startswith("h@")}
        gradients = {label.partition("#")[2]: one for label, one in run.values.items() if label.startswith("grad/h@")}
        assert gradients.keys() <= values.keys()
        factors = {float(np.sin(X + by).mean()): factor for by, factor in ((0.0, 2.0), (1.0, 3.0), (2.0, 4.0))}
        for number, gradient in gradients.items():
            assert len(values[number].steps) == len(gradient.steps)
            for step, told in enumerate(values[number]["mean"]):
                factor = next(factor for known, factor in factors.items() if abs(known - told) < 1e-5)
                agrees(gradient, jnp.full(2, factor), step)
        assert sum(len(one.steps) for one in gradients.values()) == len(factors)
