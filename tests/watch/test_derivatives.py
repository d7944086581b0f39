"""Test the names of the results of `grad`, `value_and_grad` and `vjp`, and that gradients belong to their values."""

from __future__ import annotations

import re

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import versions

X = jnp.arange(1.0, 5.0)


def value_and_aux(x):
    return jnp.sin(x).sum() * 2, jnp.cos(x)


def value_and_grad(f, x):
    (value, aux), g = jax.value_and_grad(f, has_aux=True)(x)
    return value, aux, g


def value_and_grad_of_a_library(f, x):
    (value, aux), g = equinox.filter_value_and_grad(f, has_aux=True)(x)
    return value, aux, g


def grad(f, x):
    g, aux = jax.grad(f, has_aux=True)(x)
    return aux, g


def grad_of_a_library(f, x):
    g, aux = equinox.filter_grad(f, has_aux=True)(x)
    return aux, g


def vjp(f, x):
    value, pull, aux = jax.vjp(f, x, has_aux=True)
    (g,) = pull(1.0)
    return value, aux, g


@pytest.mark.parametrize("derive", [value_and_grad, value_and_grad_of_a_library, grad, grad_of_a_library, vjp])
def test_value_auxiliary_output_and_gradient_have_their_own_names(derive, watched, agrees):
    run = watched(jax.jit(lambda x: derive(value_and_aux, x)), X)
    names = set(run.values)
    agrees(run["aux"], jnp.cos(X))
    if "value" in names:
        agrees(run["value"], value_and_aux(X)[0])
    if derive is vjp:
        assert not {name for name in names if name.startswith("pull")}, "a function"
    else:
        agrees(run["g"], 2 * jnp.cos(X))


def test_the_pullback_of_vjp_has_no_value(watched, agrees):
    @jax.jit
    def f(x):
        value, pull = jax.vjp(jnp.sin, x)
        (g,) = pull(jnp.ones(4))
        return value, g

    run = watched(f, X)
    agrees(run["value"], jnp.sin(X))
    assert not [name for name in run.values if name.startswith("pull")]


def test_the_second_result_of_linearize_has_no_value(watched, agrees):
    def double(x):
        inner = x * 2
        return jnp.sin(inner)

    @jax.jit
    def f(x):
        value, push = jax.linearize(double, x)
        return value + push(x)

    run = watched(f, X)
    agrees(run["value"], jnp.sin(X * 2))
    assert not [name for name in run.values if name.startswith("push")]


@pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="JAX 0.8 says that both calls come from the first one's line"
)
def test_each_call_of_a_checkpointed_function_has_its_values(watched, agrees):
    @jax.checkpoint
    def block(h, w):
        inner = h * w
        return jnp.tanh(inner)

    def loss(x):
        return (block(block(x, 0.5), 0.3) ** 2).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X)
    names = [name for name, value in run.values.items() if name.startswith("inner@") and value.site.phase == "forward"]
    agrees(run[names[0]], X * 0.5)
    agrees(run[names[1]], jnp.tanh(X * 0.5) * 0.3)
    assert not [name for name in run.values if "[" in name]


@pytest.mark.parametrize("is_inside_a_scan", [False, True])
def test_each_layer_of_a_python_loop_has_one_gradient(is_inside_a_scan, watched):
    layers = [jax.random.normal(key, (4, 4)) for key in jax.random.split(jax.random.key(0), 3)]

    def forward(x, added):
        for w, one in zip(layers, added, strict=True):
            z = x @ w
            x = jnp.tanh(z) + one  # The transpose of `tanh` has two products.
        return (x**2).sum()

    def loss(x):
        for w in layers:
            z = x @ w
            x = jnp.tanh(z)
        return (x**2).sum()

    def looped(x):
        def body(carry, _):
            return carry, loss(x)

        return jax.lax.scan(body, 0.0, length=1)[1].sum()

    run = watched(jax.jit(jax.grad(looped if is_inside_a_scan else loss)), X, watch="grad/x")
    wanted = jax.grad(forward, argnums=1)(X, [jnp.zeros(4)] * 3)
    of_layers = {name: value["l2"].item() for name, value in run.values.items() if "#" in name}
    norms = [jnp.linalg.norm(one) for one in wanted]
    np.testing.assert_allclose(list(of_layers.values()), norms, rtol=1e-4)
    (of_argument,) = (value["l2"].item() for name, value in run.values.items() if name not in of_layers)
    np.testing.assert_allclose(of_argument, jnp.linalg.norm(run.result), rtol=1e-4)
    plotted = [run.series(f"grad_norm/x#{number}")[1].item() for number in (1, 2, 3, 4)]
    np.testing.assert_allclose(sorted(plotted), sorted([*norms, of_argument]), rtol=1e-4)


def test_each_execution_of_a_line_has_its_own_gradient(watched, agrees):
    @jax.jit
    def loss(x):
        y = x
        for scale in (2.0, 3.0):
            y = jnp.sin(y) * scale
        return y.sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X)
    first, second = (name for name in run.values if name.startswith("y@"))
    agrees(run[first].gradient, 3 * jnp.cos(2 * jnp.sin(X)))
    agrees(run[second].gradient, jnp.ones(4))


def test_a_jitted_function_and_one_of_single_numbers_have_gradients_too(watched, agrees):
    @jax.jit
    def loss(x):
        y = jnp.sin(x)
        return (y**2).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X)
    agrees(run["grad/y"], 2 * jnp.sin(X))

    def single(x):
        y = jnp.sin(x)
        z = jnp.exp(y)
        return z * z

    run = watched(jax.jit(jax.value_and_grad(single)), 0.5)
    agrees(run["grad/z"], 2 * jnp.exp(jnp.sin(0.5)))
    agrees(run["grad/y"], 2 * jnp.exp(jnp.sin(0.5)) ** 2)


def test_a_tree_of_two_alike_is_two_values_where_it_is_differentiated(watched, agrees):
    def cell(state, x):
        h, c = state
        c = jnp.tanh(c + x)
        return h * c, c

    def loss(x, fixed):
        both = [jnp.sin(one) for one in (x, fixed)]
        state = cell(both, x)
        state = cell(state, x)
        return jnp.stack(state).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X, X + 1)
    both = [jnp.sin(X), jnp.sin(X + 1)]
    agrees(run["both[0]"], both[0])
    agrees(run["both[1]"], both[1])
    for number, value in enumerate(cell(cell(both, X), X)):
        agrees(run[[name for name in run.values if name.startswith(f"state[{number}]@")][-1]], value)
    assert "state" not in {value.site.watch.name for value in run.values.values() if value.site.watch.role == "value"}
    assert "grad/both" not in run.values


@jax.jit
def jitted_loss(x):
    def step(carry, one):
        carry = jnp.tanh(carry + one)
        return carry, carry**2

    n = jnp.linalg.norm(x)
    y = (x / n).at[2].set(9.0)
    low = y.min()
    z = y * jnp.sin(y)
    last, squares = lax.scan(step, low, z)
    return squares.sum() + last, (z, low)


@pytest.mark.parametrize("lanes", [False, True])
def test_a_jitted_function_that_is_differentiated_un_jitted_has_its_values_and_their_gradients(lanes, watched, agrees):
    x = jnp.stack([X, X * 2]) if lanes else X
    n = jnp.linalg.norm(x, axis=-1, keepdims=True)
    y = (x / n).at[..., 2].set(9.0)
    z = y * jnp.sin(y)
    derive = jax.value_and_grad(jitted_loss, has_aux=True)

    run = watched(jax.vmap(derive) if lanes else derive, x)

    agrees(run["n"], n.squeeze(-1))
    agrees(run["low"], y.min(-1))
    agrees(run["z"], z)
    assert not [name for name in run.values if re.search(r"\[\d\]", name)], list(run.values)

    def rest(z, low):
        last, squares = lax.scan(lambda c, one: ((d := jnp.tanh(c + one)), d**2), low, z)
        return squares.sum() + last

    wanted = jax.vmap(jax.grad(rest))(z, y.min(-1)) if lanes else jax.grad(rest)(z, y.min())
    agrees(run["z"].gradient, wanted)


def test_a_plain_sum_has_its_own_gradient(watched, agrees):
    """The transpose of a sum is no equation of JAX: its cotangent goes to both operands, which may have other uses."""

    def loss(w, p, x):
        h = x @ w
        o = h + p
        twice = o - 1
        both = jnp.sin(x @ w)
        kept = both + p
        alone = jnp.cos(x @ w)
        doubled = alone + alone
        return (jnp.tanh(twice) ** 2).sum() + (both * kept).sum() + (doubled**3).sum()

    w, p, x = (
        jnp.asarray(np.random.default_rng(seed).normal(size=shape))
        for seed, shape in enumerate(((2, 3), (4, 3), (4, 2)))
    )
    p = p * 0.5
    run = watched(jax.jit(jax.grad(loss, argnums=(0, 1))), w, p, x)
    o = x @ w + p
    wanted = jax.grad(lambda o: (jnp.tanh(o - 1) ** 2).sum())(o)
    for name in ("h", "o", "twice"):
        agrees(run[f"grad/{name}"], wanted)
    agrees(run["grad/kept"], jnp.sin(x @ w))
    agrees(run["grad/both"], 2 * jnp.sin(x @ w) + p)
    agrees(run["grad/doubled"], 3 * (2 * jnp.cos(x @ w)) ** 2)


@pytest.mark.parametrize("around", ["jit", "scan", "cond", "remat", "vmap", "custom_jvp", "twice"])
def test_a_chain_of_sums_has_each_gradient(watched, agrees, around):
    def residual(h, b, added=(0.0,) * 5):
        a = h * 2 + added[0]
        o = h + a + added[1]
        p = o + b + added[2]
        q = p - h + added[3]
        r = 3.0 - q + added[4]
        return jnp.sin(r) * h

    def plain(h, b):
        a = h * 2
        o = h + a
        p = o + b
        q = p - h
        r = 3.0 - q
        return jnp.sin(r) * h

    ways = {
        "jit": jax.jit,
        "scan": lambda f: lambda h, b: lax.scan(lambda c, _: (f(c, b), None), h, None, length=1)[0],
        "cond": lambda f: lambda h, b: lax.cond(h[0, 0] > -5, f, lambda h, _b: h, h, b),
        "remat": jax.checkpoint,
        "vmap": jax.vmap,
        "twice": lambda f: lambda h, b: f(h, b) + f(h, b),
    }

    @jax.custom_jvp
    def ruled(h, b):
        return plain(h, b)

    ruled.defjvp(lambda primals, tangents: jax.jvp(plain, primals, tangents))
    ways["custom_jvp"] = lambda _: ruled

    def loss(function):
        return lambda w, x, *more: (jnp.tanh(ways[around](function)(x @ w, b, *more)) ** 2).sum()

    w, x, b = jnp.linspace(-1, 1, 6).reshape(2, 3), jnp.linspace(-2, 1, 8).reshape(4, 2), jnp.full((4, 3), 0.3)
    run = watched(jax.jit(jax.value_and_grad(loss(plain))), w, x)
    h = x @ w

    def of_parts(added):
        return (jnp.tanh(residual(h, b, added)) ** 2).sum()

    wanted = jax.grad(of_parts)((jnp.zeros((4, 3)),) * 5)
    if around == "custom_jvp":  # The value and the tangent of `jax.jvp` have the same line.
        agrees(run["r"], 3.0 - (h * 3 + b - h))
        return
    if around == "twice":
        wanted = jax.grad(lambda added: (jnp.tanh(residual(h, b, added) + residual(h, b)) ** 2).sum())(
            (jnp.zeros((4, 3)),) * 5
        )
    for name, gradient in zip("aopqr", wanted, strict=True):
        agrees(run[f"grad/{name}"], gradient)


def test_parts_of_an_array_have_the_gradients_that_are_joined_again(watched, agrees):
    def cell(w, x, c):
        i, f, g, _rest = jnp.split(x @ w, 4, axis=-1)
        new = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (new**2).sum()

    w, x, c = (
        np.random.default_rng(n).normal(size=size).astype(np.float32) for n, size in enumerate(((3, 8), (5, 3), (5, 2)))
    )

    run = watched(jax.jit(jax.grad(cell)), w, x, c)

    def of_parts(i, f, g):
        return ((jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)) ** 2).sum()

    parts = np.split(x @ w, 4, axis=-1)[:3]
    for name, wanted in zip("ifg", jax.grad(of_parts, argnums=(0, 1, 2))(*parts), strict=True):
        agrees(run[f"grad/{name}"], wanted)
    assert "grad/_rest" not in run.values


@pytest.mark.parametrize("function", [lambda x: jnp.sin(x) * 2, jnp.tanh, jnp.mean])
def test_the_leaves_that_a_function_is_mapped_over_have_their_gradients(function, watched, agrees):
    def loss_of(xs):
        a, b = jax.tree.map(function, xs)
        c = jax.tree.map(function, {"a": a, "b": b})
        return a, b * 3 + (c["a"] * c["b"]).sum()

    def with_added(added, xs):
        a, b = (function(x) + one for x, one in zip(xs, added["ab"], strict=True))
        c = {"a": function(a) + added["c"]["a"], "b": function(b) + added["c"]["b"]}
        return a.sum() + (b * 3 + (c["a"] * c["b"]).sum()).sum()

    xs = [jnp.arange(4.0), jnp.arange(1.0, 5.0)]
    run = watched(jax.jit(jax.value_and_grad(lambda xs: sum(one.sum() for one in loss_of(xs)))), xs)
    a, b = map(function, xs)
    c = {"a": function(a), "b": function(b)}
    wanted = jax.grad(with_added)(jax.tree.map(jnp.zeros_like, {"ab": [a, b], "c": c}), xs)
    for name, value, gradient in [
        ("a", a, wanted["ab"][0]),
        ("b", b, wanted["ab"][1]),
        ("c['a']", c["a"], wanted["c"]["a"]),
        ("c['b']", c["b"], wanted["c"]["b"]),
    ]:
        agrees(run[name], value)
        agrees(run[name].gradient, gradient)


def test_one_of_several_results_of_a_vmapped_function_has_its_gradient(watched, agrees):
    def energy(x):
        h = jnp.sin(x)
        return h.sum(), {"kinetic": h * 2}

    def loss_of(xs, added):
        e, parts = jax.vmap(energy)(xs)
        return ((e + added[0]) ** 2).sum() + (parts["kinetic"] + added[1]).prod()

    xs, added = jnp.arange(1.0, 7.0).reshape(2, 3), (jnp.zeros(2), jnp.zeros((2, 3)))

    @jax.jit
    @jax.grad
    def loss(xs):
        e, parts = jax.vmap(energy)(xs)
        return (e**2).sum() + parts["kinetic"].prod()

    run = watched(loss, xs)
    wanted = jax.grad(loss_of, argnums=1)(xs, added)
    agrees(run["e"], jnp.sin(xs).sum(1))
    agrees(run["parts['kinetic']"], jnp.sin(xs) * 2)
    agrees(run["grad/e"], wanted[0])
    agrees(run["grad/parts['kinetic']"], wanted[1])


def test_gradients_of_a_loop_that_is_differentiated_un_jitted(watched, agrees):
    w, xs = jnp.linspace(-2.0, 2.0, 5), jnp.arange(1.0, 5.0)

    def loss_of(w):
        def body(c, x):
            h = c * w
            t = jnp.sin(h) * x
            return t, h

        c, hs = lax.scan(body, jnp.ones(5), xs)
        return (hs**2).sum() + c.sum()

    def unrolled(added):
        c, loss = jnp.ones(5), 0.0
        for number, x in enumerate(xs):
            h = c * w + added["h"][number]
            c = jnp.sin(h) * x + added["t"][number]
            loss += (h**2).sum()
        return loss + c.sum()

    run = watched(lambda: jax.grad(loss_of)(w))
    wanted = jax.grad(unrolled)({"h": jnp.zeros((4, 5)), "t": jnp.zeros((4, 5))})
    for name, by_step in wanted.items():
        events = [event for event in run.events if event.site.label == f"grad/{name}"]
        assert [event.step for event in events] == [(3,), (2,), (1,), (0,)]
        for step in range(4):
            agrees(run[f"grad/{name}"], by_step[step], step)


def stacked_layers():
    """Return the weights of three layers, and the input of the first."""
    rng = np.random.default_rng(0)
    shapes = {"mix": (3, 4, 4), "up": (3, 4, 8), "down": (3, 4, 4)}
    layers = {name: rng.normal(size=shape).astype(np.float32) / 2 for name, shape in shapes.items()}
    return layers, rng.normal(size=(5, 4)).astype(np.float32)


def block(h, p, added):
    """Apply a layer whose sums have no equations when transposed; `added` is a value whose gradient is watched."""
    mixed = jnp.tanh(h @ p["mix"])
    h = h + mixed
    h = h + added["h"]
    up, gate = jnp.split(h @ p["up"], 2, axis=-1)
    gate = gate + added["gate"]
    out = h + (up * jax.nn.sigmoid(gate)) @ p["down"]
    out = out + added["out"]
    size = (out**2).mean()
    return out, size


def plain_block(h, p):
    mixed = jnp.tanh(h @ p["mix"])
    h = h + mixed
    up, gate = jnp.split(h @ p["up"], 2, axis=-1)
    out = h + (up * jax.nn.sigmoid(gate)) @ p["down"]
    size = (out**2).mean()
    return out, size


@pytest.mark.parametrize("loss_is", ["carried", "stacked", "jitted"])
def test_the_layers_of_a_scan_have_the_gradients_of_their_sums_and_parts(loss_is, watched, agrees):
    layers, x = stacked_layers()

    def loss(layers, run_block=plain_block, added=()):
        def carried(carry, one):
            h, total = carry
            h, size = run_block(h, *one)
            return (h, total + size), None

        def stacked(h, one):
            return run_block(h, *one)

        if loss_is == "carried":
            (_, total), _ = lax.scan(carried, (x, 0.0), (layers, *added))
            return total
        last, sizes = lax.scan(jax.jit(stacked) if loss_is == "jitted" else stacked, x, (layers, *added))
        return (last**2).sum() + sizes.sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), layers)
    added = {name: np.zeros((3, 5, 4), np.float32) for name in ("h", "gate", "out")}
    wanted = jax.grad(lambda added: loss(layers, block, (added,)))(added)
    own = {value.site.label: value for value in run.values.values() if value.site.function == "plain_block"}
    for name, gradient in wanted.items():
        for layer in range(3):
            agrees(own[f"grad/{name}"], gradient[layer], layer)  # The gradient of the last layer came first.
    np.testing.assert_allclose(run.series("grad/out.l2")[1], jnp.linalg.norm(wanted["out"], axis=(1, 2)), rtol=1e-4)
    np.testing.assert_allclose(run.plot("grad/out.l2").lines[0].get_xdata(), [0, 1, 2])
    assert run["out"].steps.tolist() == run["out"].gradient.steps.tolist() == [0, 1, 2]


@pytest.mark.parametrize("is_called", [False, True])
def test_each_layer_of_a_python_loop_has_the_gradients_of_its_sums(is_called, watched):
    stacked, x = stacked_layers()
    layers = [{name: weights[number] for name, weights in stacked.items()} for number in range(3)]

    def called(x, run_block=plain_block, added=((),) * 3):
        last = x
        for own, *extra in zip(layers, *([added] if added[0] else []), strict=True):
            last, _ = run_block(last, own, *extra)
        return (last**2).sum()

    def inline(x):
        out = x
        for p in layers:
            h = out + jnp.tanh(out @ p["mix"])
            up, gate = jnp.split(h @ p["up"], 2, axis=-1)
            out = h + (up * jax.nn.sigmoid(gate)) @ p["down"]
        return (out**2).sum()

    run = watched(jax.jit(jax.grad(called if is_called else inline)), x)
    nothing = [{name: np.zeros((5, 4), np.float32) for name in ("h", "gate", "out")} for _ in layers]
    wanted = jax.grad(lambda added: called(x, block, added))(nothing)
    for name in ("h", "out"):
        for number, layer in enumerate(wanted, 1):
            norm = run.series(f"grad_norm/{name}#{number}")[1].item()
            np.testing.assert_allclose(norm, np.linalg.norm(layer[name]), rtol=1e-4)


@pytest.mark.parametrize("is_jitted", [False, True])
def test_gradients_of_sums_and_parts_where_the_forward_pass_is_another_program(is_jitted, watched, agrees):
    layers, x = stacked_layers()

    def loss(layers, run_block=plain_block, added=()):
        def step(h, one):
            return run_block(h, *one)[0], None

        last, _ = lax.scan(step, x, (layers, *added))
        return (last**2).sum()

    run = watched(lambda: jax.grad(jax.jit(loss) if is_jitted else loss)(layers))
    nothing = {name: np.zeros((3, 5, 4), np.float32) for name in ("h", "gate", "out")}
    wanted = jax.grad(lambda added: loss(layers, block, (added,)))(nothing)
    for name in ("gate", "out"):
        for layer in range(3):
            agrees(run[f"grad/{name}"], wanted[name][layer], layer)
    assert not [name for name in run.values if name.startswith("last[")], "what JAX keeps for the backward pass"


def test_names_of_a_function_differentiated_twice_are_exact(watched, agrees):
    def inner(x):
        a = jnp.sin(x)
        b = a * a
        return b.sum()

    def outer(x):
        d = jax.grad(inner)(x)
        e = d * 2
        return (e**2).sum()

    run = watched(jax.jit(jax.grad(outer)), X)
    agrees(run["d"], jax.grad(inner)(X))  # The addition of its gradient must not appear as `d[1]`.
    agrees(run["grad/e"], 4 * jax.grad(inner)(X))
    agrees(run["grad/d"], 8 * jax.grad(inner)(X))
    agrees(run["a"], jnp.sin(X))
    agrees(run["grad/x"], jax.grad(outer)(X))
    agrees(run["grad/a"], 2 * jnp.sin(X))  # This is the gradient in the derivative for which it is computed.
    agrees(run["grad/b"], jnp.ones_like(X))
    returned = {"grad/b.sum()", "grad/(e ** 2).sum()"}
    assert set(run.values) == {"x", "a", "d", "e", "grad/a", "grad/b", "grad/d", "grad/e", "grad/x"} | returned


def test_a_derivative_in_what_is_differentiated_has_its_own_gradient(watched, agrees):
    def energy(p, x):
        return (jnp.sin(x @ p) ** 2).sum()

    def loss(p, x):
        e, de = jax.value_and_grad(energy, 1)(p, x)
        push = jax.grad(lambda x: jnp.tanh(x @ p).sum())(x)
        v, pull = jax.vjp(lambda x: jnp.sin(x @ p), x)
        (pulled,) = pull(v)
        return e * 1.5 + (de**2 * 3).sum() + (push**2).sum() + (pulled * 2).sum()

    p, x = jnp.arange(12.0).reshape(4, 3) / 10 - 0.5, jnp.linspace(-1, 1, 8).reshape(2, 4)
    run = watched(jax.jit(jax.value_and_grad(loss)), p, x)
    agrees(run["grad/e"], 1.5)
    agrees(run["grad/de"], 6 * jax.grad(energy, 1)(p, x))
    agrees(run["grad/push"], 2 * jax.grad(lambda x: jnp.tanh(x @ p).sum())(x))
    if not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:  # See docs/limits.md: results of `jax.vjp` on jax 0.8.
        agrees(run["grad/pulled"], jnp.full_like(x, 2))
        agrees(run["grad/v"], 2 * jnp.cos(x @ p) * (jnp.ones_like(x) @ p))


@pytest.mark.parametrize("derive", [jax.hessian, jax.jacfwd])
@pytest.mark.parametrize("is_jitted", [True, False])
def test_values_in_forward_mode_are_recorded_without_tangents(derive, is_jitted, watched, agrees):
    def f(x):
        a = jnp.sin(x)
        b = a * jnp.cos(x)
        return (b**2).sum()

    run = watched(jax.jit(derive(f)) if is_jitted else derive(jax.jit(f)), X)
    agrees(run["a"], jnp.sin(X))
    agrees(run["b"], jnp.sin(X) * jnp.cos(X))
    assert not [name for name in run.values if "[" in name]


def test_a_line_that_several_loops_and_programs_run_has_each_gradient_with_its_value(watched):
    def energy(x):
        r = jnp.sin(x) * 2
        return (r**2).sum()

    @jax.jit
    def descend(x):
        def step(x, _):
            return x - jax.value_and_grad(energy)(x)[1] / 10, None

        value, slope = jax.value_and_grad(energy)(x)
        near, _ = lax.scan(step, x - slope, None, length=3)
        far, _ = lax.scan(step, near * 2, None, length=2)
        return far, value

    @jax.jit
    def again(x):
        return jax.value_and_grad(energy)(x * 3)

    run = watched(lambda x: (descend(x), again(x)), X)
    values = [value for name, value in run.values.items() if name.startswith("r@")]
    assert sorted(len(value["mean"]) for value in values) == [1, 1, 2, 3]
    for value in values:
        np.testing.assert_allclose(value.gradient["mean"], 2 * value["mean"], rtol=1e-5)


def test_a_value_and_its_tangent_have_their_names_and_no_gradient_of_one_for_the_other(watched, agrees):
    x, tangent = jnp.arange(1.0, 4.0), jnp.arange(3.0)

    def energy(x):
        return (jnp.sin(x) * x).sum()

    def curvature(x):
        slope, bend = jax.jvp(jax.grad(energy), (x,), (tangent,))
        return slope * bend

    def residual(w):
        def net(z):
            q = jnp.tanh(z * w)
            return q

        u, ux = jax.jvp(net, (x,), (tangent,))
        r = ux - u
        return (r**2).mean()

    run = watched(jax.jit(curvature), x)
    slope, bend = jax.jvp(jax.grad(energy), (x,), (tangent,))
    agrees(run["slope"], slope)
    agrees(run["bend"], bend)
    run = watched(jax.jit(jax.value_and_grad(residual)), x)
    q = jnp.tanh(x * x)
    ux = (1 - q**2) * x * tangent
    agrees(run["q"], q)
    agrees(run["ux"], ux)
    agrees(run["grad/r"], 2 * (ux - q) / 3)
    agrees(run["grad/q"], -2 * (ux - q) / 3)  # The same statement has computed its tangent.


def test_a_sum_of_which_an_operand_is_used_by_what_only_the_value_needs(watched, agrees):
    """JAX leaves out linear operations if only the gradient is needed: here the sums of `h` and `ys`."""

    def plain(x):
        h = jnp.sin(x)
        before = h.sum()
        k = h + 1.0
        e = jnp.cos(x)
        m = e + 2.0
        return before + (k**2).sum() + (m**2).sum() + e.sum()

    def looped(x, added):
        def body(c, each):
            t, more = each
            h = c * x + t
            k = h + x + more
            return jnp.tanh(k), h

        last, ys = lax.scan(body, x, (jnp.stack([x, x]), added))
        return (last**2).sum() + ys.sum()

    run = watched(jax.jit(jax.grad(plain)), X)
    agrees(run["grad/h"], 1 + 2 * (jnp.sin(X) + 1))
    agrees(run["grad/k"], 2 * (jnp.sin(X) + 1))
    agrees(run["grad/m"], 2 * (jnp.cos(X) + 2))
    nothing = jnp.zeros((2, *X.shape))
    run = watched(jax.jit(jax.grad(looped)), X / 4, nothing)
    for step, wanted in enumerate(jax.grad(looped, 1)(X / 4, nothing)):
        agrees(run["grad/k"], wanted, step)


def weighted(x, b):
    h = jnp.sin(x)
    k = h + b
    w = lax.stop_gradient(jnp.tanh(k))
    return ((h * 2.0) * w).sum()


def selected(x, b):
    h = jnp.sin(x)
    k = h + b
    return jnp.where(k > 0, k, h).sum()


def reshaped(x, b):
    h = jnp.sin(x)
    k = h + b
    flat = h.reshape(-1)
    return jnp.where(k > 0, x, flat.reshape(h.shape)).sum()


@pytest.mark.parametrize("loss", [weighted, selected, reshaped])
def test_a_sum_whose_operand_has_a_linear_use(loss, watched, agrees):
    """The only cotangent of `h` is also, or only, that of its other use, and so not the gradient of `k`."""
    x, b = jnp.linspace(-1, 1, 6).reshape(2, 3), jnp.linspace(-2, 1, 6).reshape(2, 3)
    run = watched(jax.jit(jax.grad(loss)), x, b)
    agrees(run["k"], jnp.sin(x) + b)
    if loss is selected:
        agrees(run["grad/k"], (jnp.sin(x) + b > 0).astype(float))
        return
    with pytest.raises(KeyError, match="grad/k"):
        run["grad/k"]


def test_a_sum_has_the_gradient_of_an_operand_that_the_source_takes_once(watched, agrees):
    def loss(x, b, added=(0.0, 0.0)):
        h = jnp.sin(x)
        k = h + b
        k = k + added[0]
        o = jnp.cos(k) + k
        o = o + added[1]
        return (jnp.tanh(o) * o).sum()

    def plain(x, b):
        h = jnp.sin(x)
        k = h + b
        o = jnp.cos(k) + k
        return (jnp.tanh(o) * o).sum()

    x, b = jnp.linspace(-1, 1, 6).reshape(2, 3), jnp.ones((2, 3))
    run = watched(jax.jit(jax.grad(plain)), x, b)
    k, o = jax.grad(lambda added: loss(x, b, added))((jnp.zeros((2, 3)), jnp.zeros((2, 3))))
    agrees(run["grad/k"], k)
    agrees(run["grad/o"], o)


def network(p, x):
    return (jnp.tanh(x * p["w"] + p["b"]) * p["v"]).sum() + p["c"][0]


HIGHER = {
    "second": jax.grad(jax.grad(network, 1), 1),
    "third": jax.grad(jax.grad(jax.grad(network, 1), 1), 1),
    "curvature": jax.hessian(network, 1),
}


@pytest.mark.parametrize("name", HIGHER)
def test_derivatives_of_derivatives_are_reported_and_so_is_the_gradient_of_a_loss_of_them(name, watched, agrees):
    def residual(p, x):
        second = jax.grad(jax.grad(network, 1), 1)(p, x)
        third = jax.grad(jax.grad(jax.grad(network, 1), 1), 1)(p, x)
        curvature = jax.hessian(network, 1)(p, x)
        return jnp.sin(x) + {"second": second, "third": third, "curvature": curvature}[name]

    def loss(p, xs):
        return (jax.vmap(lambda x: residual(p, x))(xs) ** 2).mean()

    def step(p, xs):
        cost, grads = jax.value_and_grad(loss)(p, xs)
        return jax.tree.map(lambda a, b: a - b, p, grads), cost

    p = {"w": jnp.arange(1.0, 4.0), "b": jnp.full(3, 0.1), "v": jnp.full(3, 0.3), "c": jnp.zeros(1)}
    xs = jnp.linspace(0.0, 1.0, 5)
    for run in (watched(jax.jit(loss), p, xs), watched(jax.jit(step), p, xs)):
        agrees(run[name], jax.vmap(lambda x: HIGHER[name](p, x))(xs))
    agrees(run["cost"], loss(p, xs))
    for leaf, gradient in jax.grad(loss)(p, xs).items():  # The gradient of the unused `c` is JAX's own zeros.
        agrees(run[f"grads['{leaf}']"], gradient)


@pytest.mark.parametrize("batched", [False, True], ids=["one", "vmap"])
def test_the_gradients_of_what_only_a_checkpointed_function_takes(watched, agrees, batched):
    def loss_of(params, x):
        @jax.checkpoint
        def layer(weights, x):
            h = jnp.tanh(x @ weights)
            return h

        return (layer(params["inner"], x) @ params["outer"]).sum()

    def step(params, x):
        loss, grads = jax.value_and_grad(loss_of)(params, x)
        return jax.tree.map(lambda p, g: p - g, params, grads), loss

    rng = np.random.default_rng(3)
    params = {"inner": rng.normal(size=(3, 4)).astype(np.float32), "outer": rng.normal(size=(4, 2)).astype(np.float32)}
    x = rng.normal(size=(6, 5, 3) if batched else (5, 3)).astype(np.float32)
    run = watched(jax.jit(jax.vmap(step, in_axes=(None, 0)) if batched else step), params, x)

    def by_hand(x):  # d sum(tanh(x w) v) = x' ((1 - tanh²) 1 v'), tanh(x w)' 1
        h = np.tanh(x @ params["inner"])
        ones = np.ones((len(x), 2))
        return x.T @ ((1 - h**2) * (ones @ params["outer"].T)), h.T @ ones

    inner, outer = zip(*map(by_hand, x), strict=True) if batched else by_hand(x)
    agrees(run["grads['inner']"], inner)
    agrees(run["grads['outer']"], outer)


def of_checkpoints(w, x, one):
    layer = jax.checkpoint(lambda x, w: jnp.tanh(x @ w))
    a = layer(x, w) * 2 * one
    b = layer(a, w.T)
    return (b**2).sum()


def of_one_checkpoint(w, x, one):
    layer = jax.checkpoint(lambda x, w: jnp.tanh(x @ w))
    a = layer(x, w) * 2 * one
    b = jnp.sin(a) @ w.T
    return (b**2).sum()


@pytest.mark.parametrize("function", [of_checkpoints, of_one_checkpoint])
def test_gradients_of_what_checkpointed_functions_that_share_a_weight_give(function, watched, agrees):
    w, x, one = jnp.linspace(-1, 1, 6).reshape(2, 3), jnp.linspace(-2, 1, 8).reshape(4, 2), jnp.ones((4, 3))
    run = watched(jax.jit(jax.value_and_grad(function)), w, x, one)
    # The gradient of a factor of one is the value times its gradient.
    a = jnp.tanh(x @ w) * 2
    agrees(run["a"], a)
    agrees(run["grad/a"], jax.grad(function, 2)(w, x, one) / a)


@pytest.mark.parametrize("batched", [False, True], ids=["one", "vmap"])
@pytest.mark.parametrize("in_loop", [False, True], ids=["straight", "scan"])
@pytest.mark.parametrize("swapped", [False, True], ids=["as made", "swapped"])
def test_gradients_of_several_values_of_one_type_of_a_checkpointed_function(batched, in_loop, swapped, watched, agrees):
    inner = jax.checkpoint((lambda x: (x**2, jnp.sin(x))) if swapped else (lambda x: (jnp.sin(x), x**2)))

    def layer(x):
        m, s = inner(x)
        return m * s * s

    def loss(x, weights):
        y = lax.scan(lambda x, _: (layer(x), None), x, length=1)[0] if in_loop else layer(x)
        return (y * weights).sum()

    x, weights = jnp.linspace(0.1, 0.9, 6).reshape(2, 3), jnp.array([[1.0, 2, 3], [4, 5, 6]])
    one = jax.value_and_grad(loss)
    run = watched(jax.jit(jax.vmap(one) if batched else one), x, weights)
    m, s = (x**2, jnp.sin(x)) if swapped else (jnp.sin(x), x**2)
    agrees(run["grad/m"], s**2 * weights)
    agrees(run["grad/s"], 2 * m * s * weights)


def test_an_operand_without_gradient_in_a_checkpointed_loop_gets_none(watched, agrees):
    """`right` does not depend on the weights; the only cotangent of the body is that of `left`."""

    def loss(w, x):
        @jax.checkpoint
        def body(carry, x):
            left = carry + x @ w
            right = jax.nn.relu(carry) + carry
            return right, left

        last, lefts = lax.scan(body, x[0], x)
        return (last * jnp.sin(lefts.sum(0))).sum()

    w, x = jnp.linspace(-1, 1, 9).reshape(3, 3), jnp.linspace(-2, 1, 24).reshape(4, 2, 3)
    run = watched(jax.jit(jax.value_and_grad(loss)), w, x)
    carry = x[0]
    for step in range(4):
        agrees(run["left"], carry + x[step] @ w, step)
        carry = jnp.maximum(carry, 0) + carry
        agrees(run["right"], carry, step)
    with pytest.raises(KeyError, match="grad/right"):
        run["grad/right"]


def test_the_gradient_of_a_value_that_a_loop_cancels_is_that_of_its_other_use(watched, agrees):
    """The loop returns zeros, so the gradient of `k` is that of its other use."""

    def loss(x, b):
        k = jnp.sin(x)
        s = k * k
        h = k + b[None]
        last = lax.fori_loop(0, 3, lambda _, c: c * x - c * x, h)
        return (last * last + s).sum()

    x = jnp.linspace(-1, 1, 6).reshape(2, 3)
    run = watched(jax.jit(jax.grad(loss)), x, jnp.ones(3))
    agrees(run["h"], jnp.sin(x) + 1)
    agrees(run["grad/k"], 2 * jnp.sin(x))
    agrees(run["grad/h"], jnp.zeros((2, 3)))


def test_an_unused_leaf_does_not_get_the_value_of_another_leaf(watched, agrees):
    def loss(h):
        d = jax.tree.map(lambda a, b: a + jnp.sin(b), {"l": h, "r": h}, {"l": h, "r": h * 2})
        return (d["r"] * h).sum()

    h = jnp.linspace(-1, 1, 6).reshape(2, 3)
    run = watched(jax.jit(loss), h)
    agrees(run["d['r']"], h + jnp.sin(h * 2))
    run = watched(jax.jit(jax.value_and_grad(loss)), h)
    with pytest.raises(KeyError, match="d"):
        run["d['l']"]


def dense(x, w):
    u = x @ w
    return jnp.sin(u) * 2


@pytest.mark.parametrize("kind", ["jit", "checkpoint", "checkpointed jit"])
@pytest.mark.parametrize("is_residual", [False, True])
@pytest.mark.each
def test_each_of_equal_layers_that_follow_one_another_has_its_gradient(kind, is_residual, watched, agrees):
    """The transposed program of the first layer returns one gradient less than those of the others."""
    if kind == "checkpoint" and versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:
        pytest.skip("JAX 0.8 has one caller for all calls of a checkpointed function")
    layer = {
        "jit": jax.jit(dense),
        "checkpoint": jax.checkpoint(dense),
        "checkpointed jit": jax.checkpoint(jax.jit(dense)),
    }
    layer = layer[kind]

    def residual(weights, h):
        for w in weights:
            h = h + layer(h, w)
        return (h**2).sum()

    def stacked(weights, h):
        for w in weights:
            h = layer(h, w)
        return (h**2).sum()

    loss = residual if is_residual else stacked
    weights, x = [*jnp.linspace(-1, 1, 27).reshape(3, 3, 3)], jnp.linspace(-2, 1, 12).reshape(4, 3)
    run = watched(jax.jit(jax.value_and_grad(loss)), weights, x)
    _, *values = [value for name, value in run.values.items() if name.startswith("h@")]  # The first is the argument.
    gradients = [value for name, value in run.values.items() if name.startswith("grad/h@")]
    assert len(values) == len(gradients) == 3
    for number in range(3):
        x = dense(x, weights[number]) + (x if is_residual else 0.0)
        agrees(values[number], x)
        agrees(gradients[number], jax.grad(loss, 1)(weights[number + 1 :], x))


def paired(a, b):
    u = a * 0.7 + b
    v = jnp.sin(u)
    return u, v


PAIRED = {
    "inlined": paired,
    "jitted": jax.jit(paired),
    "lambda": lambda a, b: (a * 0.7 + b, jnp.sin(a * 0.7 + b)),
    "inside": lambda a, b: paired(a, b)[:2],
}


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("around", ["jit", "grad of jit", "vmap", "scan"])
@pytest.mark.each
def test_two_values_of_one_statement_have_each_its_gradient(name, around, watched, agrees):
    def rest(m, s):
        return (m * s + jnp.tanh(m)).sum()

    def loss(x, b):
        m, s = PAIRED[name](x, b)
        return rest(m, s)

    def scanned(x, b):
        return lax.scan(lambda c, t: (c, loss(x * t, b)), 0.0, jnp.ones(1))[1].sum()

    ways = {
        "jit": jax.jit(jax.value_and_grad(loss)),
        "grad of jit": jax.value_and_grad(jax.jit(loss)),
        "vmap": jax.jit(jax.vmap(jax.value_and_grad(loss))),
        "scan": jax.jit(jax.value_and_grad(scanned)),
    }
    x, b = jnp.linspace(-1, 1, 6).reshape(2, 3), jnp.linspace(0, 2, 6).reshape(2, 3)
    run = watched(ways[around], x, b)
    for label, gradient in zip(("grad/m", "grad/s"), jax.grad(rest, (0, 1))(*paired(x, b)), strict=True):
        agrees(run[label], gradient)


def test_two_results_of_which_one_serves_the_backward_pass_alone_keep_their_gradients(watched, agrees):
    """The gradient of `s` is computed first."""

    def loss(x):
        m, s = paired(x, x * 2)
        return (m * s + jnp.tanh(m)).sum()

    x = jnp.linspace(-1, 1, 4)
    run = watched(jax.jit(jax.grad(loss)), x)
    agrees(run["s"], jnp.sin(x * 2.7))
    agrees(run["grad/s"], x * 2.7)
    agrees(run["grad/m"], jax.grad(lambda m: (m * jnp.sin(x * 2.7) + jnp.tanh(m)).sum())(x * 2.7))
