"""Test which gradient belongs to which value if several passes run one line and only some are differentiated."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

GENERATOR, DISCRIMINATOR = np.random.default_rng(0).normal(size=(2, 2, 3, 3)).astype(np.float32)
NOISE, REAL, POINT = np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32)


def scanned(ws, x, zeros):
    def layer(x, each):
        w, zero = each
        h = jnp.tanh(x @ w)
        return h + zero, None

    return lax.scan(layer, x, (ws, zeros))[0]


def unrolled(ws, x, zeros):
    for w, zero in zip(ws, zeros, strict=True):
        h = jnp.tanh(x @ w)
        x = h + zero
    return x


NETS = {"scanned": scanned, "unrolled": unrolled}


def of_layers(net, ws, x):
    """Return the values of `h` in each layer."""
    none = jnp.zeros((2, 3))
    layers = [net(ws[: number + 1], x, none[: number + 1]) for number in range(len(ws))]
    return jnp.stack(layers)


@pytest.mark.parametrize("net", NETS)
def test_adversaries_that_share_a_network_have_the_gradients_of_their_own_passes(net, watched):
    run_net = NETS[net]

    def made(ws, zeros):
        return run_net(ws, NOISE, zeros)

    none = jnp.zeros((2, 3))

    def critic_loss(ws, seen=none, true=none):
        fake = lax.stop_gradient(made(GENERATOR, none))
        return run_net(ws, fake, seen).mean() - run_net(ws, REAL, true).mean()

    def maker_loss(ws, making=none, judging=none):
        return -run_net(DISCRIMINATOR, made(ws, making), judging).mean()

    @jax.jit
    def step(maker, critic):
        probe = run_net(critic, REAL * 2, none)
        critic_gradient = jax.value_and_grad(critic_loss)(critic)
        maker_gradient = jax.value_and_grad(maker_loss)(maker)
        return probe, critic_gradient, maker_gradient

    run = watched(step, GENERATOR, DISCRIMINATOR, watch="h")
    fake = made(GENERATOR, none)
    seen, true = jax.grad(critic_loss, (1, 2))(DISCRIMINATOR, none, none)
    making, judging = jax.grad(maker_loss, (1, 2))(GENERATOR, none, none)
    passes = [
        (of_layers(run_net, DISCRIMINATOR, REAL * 2), [None]),
        (of_layers(run_net, GENERATOR, NOISE), [making, None]),  # In the critic's loss it has no gradient.
        (of_layers(run_net, DISCRIMINATOR, fake), [seen, judging]),
        (of_layers(run_net, DISCRIMINATOR, REAL), [true]),
    ]
    wanted = [
        (float(jnp.linalg.norm(layer)), number, gradients)
        for layers, several in passes
        for gradients in several
        for number, layer in enumerate(layers)
    ]
    norms = [(size, None if one is None else float(jnp.linalg.norm(one[number]))) for size, number, one in wanted]
    np.testing.assert_allclose(in_order(told(run)), in_order(norms), rtol=1e-3)


def told(run):
    """Return the norms of each value and its gradient; None if it has none."""
    gradients = [name for name in run.values if name.startswith("grad/")]
    values = {name: run[name] for name in run.values if name not in gradients}
    for name in gradients:
        assert run[name.removeprefix("grad/")].gradient.site == run[name].site
        np.testing.assert_array_equal(run.series(name.replace("h@", "h.l2@"))[1], run[name]["l2"].astype(np.float32))
    slopes = {
        name: run[f"grad/{name}"]["l2"] if f"grad/{name}" in gradients else itertools.repeat(None) for name in values
    }
    return [pair for name, value in values.items() for pair in zip(value["l2"], slopes[name], strict=False)]


def in_order(norms):
    return sorted((round(float(size), 3), -1.0 if slope is None else float(slope)) for size, slope in norms)


def test_the_gradient_belongs_to_the_forward_value_and_not_to_the_recomputed_one(watched):
    def loss(x):
        h = jnp.sin(x)
        return (jnp.exp(h) ** 2).sum()

    run = watched(jax.jit(jax.value_and_grad(jax.checkpoint(loss))), POINT, watch="h")
    slope = 2 * jnp.exp(2 * jnp.sin(POINT))
    (first, value), (second, again), (gradient, _) = run.values.items()
    assert [value.site.phase, again.site.phase] == ["forward", "recompute"]
    assert gradient == f"grad/{first}"
    np.testing.assert_allclose(value.gradient["l2"], [jnp.linalg.norm(slope)], rtol=1e-4)
    with pytest.raises(KeyError, match=f"no gradient of '{second}' is watched: the program does not differentiate it"):
        _ = again.gradient


def test_values_known_from_an_earlier_run_have_the_order_of_this_program(watched):
    def first(x):
        h = jnp.sin(x)
        return h.sum()

    def second(x):
        h = jnp.cos(x)
        return h.sum()

    def all_of(functions):
        return jax.jit(lambda x: [function(x) for function in functions])

    watched(all_of([second]), POINT, watch="h")
    run = watched(all_of([first, second]), POINT, watch="h")
    in_order = sorted(run.watched, key=lambda site: site.order)
    assert [site.source for site in in_order] == ["h = jnp.sin(x)", "h = jnp.cos(x)"]


def test_a_value_that_jax_moves_out_of_a_loop_is_not_named_as_a_result(watched, agrees):
    def cost(rate, xs):
        scale = jnp.exp(rate)  # Weakly typed: the loop converts it, and JAX does so before the loop.

        def step(total, x):
            total = jnp.sin(total) + scale * x
            return total, total * scale

        _, terms = lax.scan(step, jnp.float32(0), xs)
        return -terms.sum()

    @jax.jit
    def fit(rate, xs):
        value, slope = jax.value_and_grad(cost)(rate, xs)
        return 0.1 / (1 + value**2), slope

    rate, xs = jnp.array(-1.0), jnp.arange(6.0)
    run = watched(fit, rate, xs)
    agrees(run["value"], cost(rate, xs))
    agrees(run["slope"], jax.grad(cost)(rate, xs))
    assert not [name for name in run.values if name.startswith("value[")]


def test_a_gradient_is_not_that_of_the_part_which_alone_is_reported(watched):
    def nested(a, b):
        s = a - b * 0.4
        return jnp.cos(s), (s * a, b + 1.0)

    def loss(w, x):
        a = w * x
        k, (h, q) = jax.jit(nested)(a, x)
        k = k * 0.5
        total = (q * x + h).sum()
        return total

    x = jnp.linspace(0.5, 2.0, 3)
    run = watched(jax.jit(jax.value_and_grad(loss)), x, x)
    assert "q" in run.values
    assert "grad/q" not in run.values, "it hangs on nothing that is differentiated"


def test_the_results_of_a_jitted_function_are_not_taken_for_one_another(watched, agrees):
    """The first use of the results reads them in reverse order, in one expression."""

    def nested(a, b):
        return jnp.cos(a), (a * 2, b + 1.0)

    def loss(x):
        k, (z, r) = jax.jit(nested)(x, x * 3)
        both = jnp.stack([r, z])
        return (both.sum(0) * k).sum()

    x = jnp.linspace(0.5, 2.0, 3)
    run = watched(jax.jit(jax.value_and_grad(loss)), x)
    for name, value in zip("zr", nested(x, x * 3)[1], strict=True):
        agrees(run[name], value)


def test_the_gradient_beside_what_is_no_array(watched, agrees):
    def layer(x):
        return jnp.sin(x), x.size

    def loss(x):
        h, count = layer(x)
        return (h**2).sum() / count

    x = jnp.linspace(0.5, 2.0, 3)
    run = watched(jax.jit(jax.value_and_grad(loss)), x)
    agrees(run["h"].gradient, 2 * jnp.sin(x) / 3)


@pytest.mark.parametrize("is_in_loop", [False, True])
def test_a_second_evaluation_does_not_get_the_gradient_of_the_first(is_in_loop, watched, agrees):
    def loss(w, x):
        h = jnp.sin(x @ w)
        e = h * h
        return e.mean()

    def step(w, x):
        g = jax.grad(loss)(w, x)
        w = w - 0.1 * g
        return w, loss(w, x)

    w, x = GENERATOR[0], NOISE[None]

    def steps(w, x):
        return lax.scan(lambda w, _: step(w, x), w, None, 2)

    run = watched(jax.jit(steps if is_in_loop else step), w, x)
    after = w - 0.1 * jax.grad(loss)(w, x)
    first, again = (value for name, value in run.values.items() if name.startswith("h@"))
    agrees(first, jnp.sin(x @ w))
    agrees(again, jnp.sin(x @ after))
    agrees(first.gradient, 2 * jnp.sin(x @ w) / 3)
    with pytest.raises(KeyError, match="gradient"):
        _ = again.gradient


def test_parts_of_an_array_that_layers_of_a_flow_exchange(watched, whole):
    """As in RealNVP, each layer changes one half by the other, and the next layer the other half."""

    def flow(ws, x, zeros):
        total = jnp.float32(0.0)
        for number, (w, zero) in enumerate(zip(ws, zeros, strict=True)):
            a, b = jnp.split(x @ w, 2)
            a, b = a + zero[0], b + zero[1]
            if number % 2:
                a, b = b, a
            x = jnp.concatenate([a * jnp.exp(b), b])
            total = total + b.sum()
        return x.sum() + total

    def plain(ws, x):
        total = jnp.float32(0.0)
        for number, w in enumerate(ws):
            left, right = jnp.split(x @ w, 2)
            if number % 2:
                left, right = right, left
            x = jnp.concatenate([left * jnp.exp(right), right])
            total = total + right.sum()
        return x.sum() + total

    ws, x = jax.random.normal(jax.random.key(0), (3, 4, 4)) / 2, jnp.arange(4.0)
    run = watched(jax.jit(jax.grad(plain)), ws, x, values=True)
    truth = jax.grad(flow, 2)(ws, x, jnp.zeros((3, 2, 2)))
    for side, name in enumerate(("left", "right")):
        np.testing.assert_allclose(whole(run, f"grad/{name}")[::-1], truth[:, side], rtol=1e-5)
