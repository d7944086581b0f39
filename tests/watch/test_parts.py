"""Test which part of a tuple or tree a name means: for loops, jitted functions, and auxiliary outputs of gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen, nnx
from jax import lax

X = jnp.arange(1.0, 5.0)


@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("steps", [3, jnp.int32(3)])
@pytest.mark.each
def test_the_parts_of_what_a_counted_loop_gives(watched, agrees, differentiated, steps):
    def f(x):
        up, doubled = lax.fori_loop(0, steps, lambda i, c: (c[0] + i, c[1] * 2), (x, x))
        pair, tripled = lax.fori_loop(
            0, steps, lambda _, c: ({k: v + 1 for k, v in c[0].items()}, c[1] * 3), ({"u": x}, x)
        )
        return (up * doubled).sum() + pair["u"].sum() + tripled.sum()

    program = jax.value_and_grad(f) if differentiated and isinstance(steps, int) else f
    run = watched(jax.jit(program), X)
    agrees(run["up"], X + 3)
    agrees(run["doubled"], X * 8)
    agrees(run["tripled"], X * 27)


def test_used_results_have_their_names_beside_unused_ones(watched, agrees):
    @jax.jit
    def halves(tree):
        return {"a": tree["a"] / 2, "b": tree["b"] / 4}, tree["a"].sum()

    @jax.jit
    def f(x):
        _up, doubled = lax.fori_loop(0, 3, lambda _, c: (c[0] + 1, c[1] * 2), (x, x))
        tree, _total = halves({"a": x, "b": doubled})
        tree, count = lax.while_loop(lambda c: c[1] < 2, lambda c: (jax.tree.map(jnp.sin, c[0]), c[1] + 1), (tree, 0))
        return tree["a"] + 1, tree["b"] + count

    run = watched(f, X, watch="*")
    agrees(run["doubled"], X * 8)
    agrees(run["count"], 2)
    assert "_total" not in run.values
    last = [name for name in run.values if name.startswith("tree['a']@")][-1]
    agrees(run[last], np.sin(np.sin(X / 2)))


def test_the_used_part_of_a_carry_keeps_its_own_name(watched):
    @jax.jit
    def f(x):
        def step(carry, t):
            left, kept = carry
            return (left + t, kept * 2), t

        (_, kept), _ = lax.scan(step, (x, x), x)
        return kept

    run = watched(f, X, watch="carry,left,kept")
    names = {value.site.watch.name for value in run.values.values()}
    assert names == {"kept"}


def test_the_parts_of_what_comes_with_a_gradient_by_what_is_returned(watched, agrees):
    def loss_fn(w, x, state):
        h = jnp.tanh(x * w)
        new = {"mean": state["mean"] * 0.9 + h.mean(), "max": state["max"] * 0.9 + h.max()}
        return (h**2).mean(), (new, (h > 0).mean())

    @jax.jit
    def step(w, x, state):
        (loss, (state, accuracy)), g = jax.value_and_grad(loss_fn, has_aux=True)(w, x, state)
        return w - g, state, {"loss": loss, "accuracy": accuracy}

    run = watched(step, X / 9, X, {"mean": X[0], "max": X[1]}, watch="loss,accuracy,state,g")
    _, state, told = step(X / 9, X, {"mean": X[0], "max": X[1]})
    agrees(run["loss"], told["loss"])
    agrees(run["accuracy"], told["accuracy"])
    values = [value for value in run.values.values() if value.site.watch.primitive != "argument"]
    leaves = {value.site.label: value["value"].item() for value in values if value.site.label.startswith("state")}
    assert leaves == {f"state['{name}']": value.item() for name, value in state.items()}


def test_the_state_that_a_module_of_flax_makes_unseen_is_no_part_of_what_it_returns(watched, agrees):
    class Normed(linen.Module):
        @linen.compact
        def __call__(self, x):
            normed = linen.BatchNorm(use_running_average=False)(x)
            return linen.relu(normed).sum()

    model, x = Normed(), jnp.arange(12.0).reshape(3, 4)
    variables = model.init(jax.random.key(0), x)
    run = watched(jax.jit(lambda v, x: model.apply(v, x, mutable=["batch_stats"])), variables, x)
    agrees(run["normed"], (x - x.mean(0, keepdims=True)) / jnp.sqrt(x.var(0, keepdims=True) + 1e-5))


def test_the_state_that_a_module_of_the_users_own_makes_unseen_is_no_part_of_what_it_returns(watched, agrees):
    class Normed(nnx.Module):
        def __init__(self, rngs):
            self.norm, self.head = nnx.BatchNorm(4, rngs=rngs), nnx.Linear(4, 2, rngs=rngs)

        def __call__(self, x):
            hidden = nnx.relu(self.norm(x))
            return self.head(hidden)

    model, x = Normed(nnx.Rngs(0)), np.arange(12, dtype=np.float32).reshape(3, 4)

    @nnx.jit
    def loss(model, x):
        logits = model(x)
        return (logits**2).mean()

    expected = nnx.clone(model)(x)
    agrees(watched(loss, model, x)["logits"], expected)


def layers_of(rng):
    shapes = {"one": {"w": (3, 3), "b": (3,)}, "two": {"w": (3, 3), "b": (3,)}}
    return jax.tree.map(
        lambda shape: rng.normal(size=shape).astype(np.float32), shapes, is_leaf=lambda x: type(x) is tuple
    )


def test_a_tree_with_the_structure_of_another_has_its_paths(watched, agrees):
    optimiser = optax.sgd(0.1, momentum=0.9)
    params, batch = layers_of(np.random.default_rng(0)), np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)

    def loss_of(params):
        h = jnp.tanh(batch @ params["one"]["w"] + params["one"]["b"][None])
        return ((h @ params["two"]["w"] + params["two"]["b"][None]) ** 2).mean()

    @jax.jit
    def step(params, state):
        loss, grads = jax.value_and_grad(loss_of)(params)
        halved = jax.tree.map(lambda g: g / 2, grads)
        updates, state = optimiser.update(halved, state, params)
        new = optax.apply_updates(params, updates)
        return new, state, loss

    state = optimiser.init(params)
    run = watched(step, params, state)
    grads = jax.grad(loss_of)(params)
    halved = jax.tree.map(lambda g: g / 2, grads)
    updates, after = optimiser.update(halved, state, params)
    new = optax.apply_updates(params, updates)
    for name, tree in {"grads": grads, "halved": halved, "updates": updates, "new": new}.items():
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            agrees(run[f"{name}{jax.tree_util.keystr(path)}"], leaf)
    values = [value for value in run.values.values() if value.site.label == "state[0].trace['two']['w']"]
    agrees(values[-1], after[0].trace["two"]["w"])


def test_a_tree_of_unknown_structure_does_not_get_the_paths_of_another(watched, agrees):
    params = layers_of(np.random.default_rng(0))

    def turned(params):
        return [leaf.T * 2 for leaf in reversed(jax.tree.leaves(params))]

    @jax.jit
    def f(params):
        rows = jax.tree.map(lambda leaf: leaf.sum(0), params)
        other = turned(params)
        return sum(leaf.sum() for leaf in (*jax.tree.leaves(rows), *other))

    run = watched(f, params)
    agrees(run["rows['one']['w']"], params["one"]["w"].sum(0))
    agrees(run["other[0]"], params["two"]["w"].T * 2)
    assert not [name for name in run.values if name.startswith("other['")]


RUN = {
    "jit": jax.jit,
    "cond": lambda f: lambda *args: lax.cond(args[0].sum() > 0, f, lambda a, b: (b, a), *args),
}


@pytest.mark.parametrize("run_as", RUN)
def test_an_unused_result_of_a_differentiated_function_is_left_out(run_as, watched, agrees):
    @RUN[run_as]
    def paired(a, b):
        u = a * 0.7 + b
        v = jnp.sin(u)
        return u, v

    def loss(x):
        r, q = paired(x, x)  # noqa: RUF059 - that is the case.
        return (jnp.tanh(q) * q).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X)
    agrees(run["q"], jnp.sin(X * 1.7))
    assert "r" not in run.values


@pytest.mark.parametrize("batch_size", [None, 2])
def test_the_stacked_result_of_map_has_its_name_and_no_index(batch_size, watched, agrees):
    @jax.jit
    def f(x):
        plain = lax.map(jnp.sin, x, batch_size=batch_size)
        both = lax.map(lambda one: (one * 2, {"w": one + 1}), x, batch_size=batch_size)
        a, b = lax.map(lambda one: (one * 3, {"w": one + 2}), x, batch_size=batch_size)
        return plain, both, a, b

    run = watched(f, X)
    agrees(run["plain"], jnp.sin(X))
    agrees(run["both[0]"], X * 2)
    agrees(run["a"], X * 3)
    if batch_size is None:
        agrees(run["both[1]['w']"], X + 1)
        agrees(run["b['w']"], X + 2)
    assert not {"plain[1]", "both[1][0]"} & {site.label for site in run.sites}


def moments(x):
    return x.mean(), (x.std(), x.max())


def test_tuples_in_tuples_that_a_function_returns_and_takes_apart(watched, agrees):
    def update(m, p):
        m, p = m + jnp.tanh(p), p * jnp.tanh(m)
        total = (m * p).sum()
        return (m, p), total

    def spread(x):
        centre, (width, top) = moments(x)
        return centre, width * top

    multiples = lambda t: ((t * 2, t * 3), t * 4)  # noqa: E731 - a lambda has no names of its own

    @jax.jit
    def f(x):
        (a, b), total = update(x, x * 2)
        mean, rest = moments(b)
        mid, size = spread(a)
        (c, d), e = multiples(mid)
        return a * b + total + mean + rest[0] * rest[1] ** 2 + mid * size + c * d**2 + e

    run = watched(f, X)
    a, b = X + jnp.tanh(X * 2), X * 2 * jnp.tanh(X)
    mid = a.mean()
    wanted = {"a": a, "b": b, "mean": b.mean(), "rest[0]": b.std(), "rest[1]": b.max(), "mid": mid, "c": mid * 2}
    wanted |= {"size": a.std() * a.max(), "d": mid * 3, "e": mid * 4, "width": a.std(), "top": a.max()}
    for name, value in wanted.items():
        agrees(run[name], value)


def test_names_unpacked_from_a_comprehension_or_map_are_in_order(watched, agrees):
    @jax.jit
    def f(x):
        a, b = (jnp.square(one) for one in (x, x + 1))
        c, d = map(jnp.tanh, (a, x))
        e, g = [jnp.cos(one) for one in (a, b)]
        return jnp.sin(b) * a + d * c + jnp.sin(g) + e

    run = watched(f, X)
    a, b = X**2, (X + 1) ** 2
    for name, value in {"a": a, "b": b, "c": jnp.tanh(a), "d": jnp.tanh(X), "e": jnp.cos(a), "g": jnp.cos(b)}.items():
        agrees(run[name], value)


def test_items_of_a_generator_in_a_loop_have_executions_and_gradients(watched, agrees):
    weights = (0.5, 2.0, 3.0)

    def loss(x):
        for _ in range(2):
            q, k, v = (jnp.sin(x * w) for w in weights)
            x = q * k + v**2
        return (x**2).sum()

    run = watched(jax.jit(jax.grad(loss)), X)

    def with_zeros(zeros):
        x, seen = X, []
        for own in zeros:
            q, k, v = (jnp.sin(x * w) + zero for w, zero in zip(weights, own, strict=True))
            x = q * k + v**2
            seen.append((q, k, v))
        return (x**2).sum(), seen

    gradients, seen = jax.grad(with_zeros, has_aux=True)(jnp.zeros((2, 3, len(X))))
    for number in range(2):
        for element, name in enumerate("qkv"):
            for full, wanted in {name: seen[number][element], f"grad/{name}": gradients[number][element]}.items():
                (found,) = [one for one in run.values if one.startswith(f"{full}@") and one.endswith(f"#{number + 1}")]
                agrees(run[found], wanted)


def test_stacked_results_of_a_vmapped_scan_are_numbered_by_leaf(watched, agrees):
    def roll(x):
        return lax.scan(lambda s, _: (s + 1, (s, s * 2, s.sum())), x, length=4)[1]

    @jax.jit
    def f(x):
        out = jax.vmap(roll)(x)
        return jax.tree.map(lambda one: one * 2, out[::-1])

    x = jnp.arange(6.0).reshape(2, 3)
    run = watched(f, x)
    for number, value in enumerate(jax.vmap(roll)(x)):
        agrees(run[f"out[{number}]"], value)


def test_a_starred_target_has_the_parts_of_a_literal(watched, agrees):
    @jax.jit
    def f(x):
        first, *rest, last = jnp.sin(x), jnp.cos(x), jnp.tanh(x), jnp.exp(x)
        return first * rest[0] + rest[1] * last

    run = watched(f, X)
    wanted = {"first": jnp.sin(X), "rest[0]": jnp.cos(X), "rest[1]": jnp.tanh(X), "last": jnp.exp(X)}
    for name, value in wanted.items():
        agrees(run[name], value)


def loss_of_layer(params, x):
    return (jnp.tanh(x @ params["w"] + params["b"]) ** 2).mean()


def scaled(tree, by):
    return jax.tree.map(lambda leaf: leaf * by, tree)


def derived(params, x):
    loss, grads = jax.value_and_grad(loss_of_layer)(params, x)
    return loss, grads


class Trainer:
    def step(self, params, x):
        def gradient():
            value, own = derived(params, x)
            return own, value

        g, loss = gradient()
        halved = scaled(g, by=0.5)
        new = jax.tree.map(lambda p, g: p - g, params, halved)
        return new, loss


LAYER = {"b": jnp.arange(3.0) / 5, "w": jnp.arange(12.0).reshape(4, 3) / 7}


def test_trees_that_inlined_functions_are_given_and_return_have_their_paths(watched, agrees):
    @jax.jit
    def train(params, x):
        once, _ = Trainer().step(params, x)
        twice, _ = Trainer().step(once, x)
        return twice, loss_of_layer(twice, x)  # This uses "w" before "b".

    run = watched(train, LAYER, X)
    params = [LAYER]
    for execution in (1, 2):
        grads = jax.grad(loss_of_layer)(params[-1], X)
        params.append(jax.tree.map(lambda p, g: p - g / 2, params[-1], grads))
        for key in ("b", "w"):
            for name, tree in {"g": grads, "own": grads, "new": params[-1], "halved": scaled(grads, 0.5)}.items():
                (found,) = (n for n in run.values if n.startswith(f"{name}['{key}']@") and n.endswith(f"#{execution}"))
                agrees(run[found], tree[key])
            agrees(run[f"{('once', 'twice')[execution - 1]}['{key}']"], params[-1][key])


@pytest.mark.skipif(jax.__version_info__ < (0, 9), reason="JAX has no paths of what a loop returns (docs/limits.md)")
def test_results_of_jitted_functions_and_loops_have_the_paths_that_jax_knows(watched, agrees):
    jitted = jax.jit(derived)

    @jax.jit
    def f(params, x):
        _, grads = jitted(params, x)
        turned = lax.fori_loop(0, 2, lambda _, tree: jax.tree.map(jnp.sin, tree), grads)
        (last, end), seen = lax.scan(lambda c, _: ((scaled(c[0], 2), c[1] + 1), c[0]), (turned, 0), None, length=2)
        return scaled(last, 3), end, scaled(seen, 2)

    run = watched(f, LAYER, X)
    grads = jax.grad(loss_of_layer)(LAYER, X)
    turned = jax.tree.map(lambda leaf: jnp.sin(jnp.sin(leaf)), grads)
    for key in ("b", "w"):
        agrees(run[f"turned['{key}']"], turned[key])
        agrees(run[f"last['{key}']"], turned[key] * 4)
        agrees(run[f"seen['{key}']"], jnp.stack([turned[key], turned[key] * 2]))
        (name,) = (
            n for n, v in run.values.items() if n.startswith(f"grads['{key}']") and v.site.function.endswith("f")
        )
        agrees(run[name], grads[key])


def weighed(tree):
    return tree["c"].sum() * 3 + tree["b"].sum() * 2 + tree["a"].sum()


TAKEN = {
    "by a loop": lambda tree: lax.fori_loop(0, 2, lambda _, own: jax.tree.map(jnp.sin, own), tree),
    "by a jitted function": jax.jit(weighed),
    "in turn": lambda tree: sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(tree)),
    "by jax.tree.map": lambda tree: jax.tree.map(jnp.sin, tree),
    "one by one": weighed,
}


@pytest.mark.parametrize("taken", TAKEN)
def test_leaves_of_one_type_have_their_paths_whatever_takes_them(taken, watched, agrees):
    def loss_of(params):
        return ((params["a"] * X) * jnp.sin(params["b"] * X) * params["c"]).sum()

    @jax.jit
    def f(params):
        grads = jax.grad(loss_of)(params)
        return TAKEN[taken](grads)

    params = {"a": X / 5, "b": X / 3, "c": X / 2}
    run = watched(f, params)
    for name, gradient in jax.grad(loss_of)(params).items():
        agrees(run[f"grads['{name}']"], gradient)


def test_mapped_leaves_keep_their_paths_if_they_are_used_in_another_order(watched, agrees):
    @jax.jit
    def f(params):
        moved = jax.tree.map(lambda leaf: leaf - 1, params)
        return weighed(moved)

    params = {"a": X / 5, "b": X[:2] / 3, "c": X / 2}
    run = watched(f, params)
    for name, leaf in params.items():
        agrees(run[f"moved['{name}']"], leaf - 1)


def test_a_function_is_not_called_what_it_holds(watched, agrees):
    def sampler(scale):
        root = jnp.sqrt(scale)
        return lambda x: x * root

    @jax.jit
    def f(scale, x):
        step = sampler(scale)
        scale = scale + 1
        return step(x) * scale

    run = watched(f, jnp.float32(4), X)
    agrees(run["root"], 2)
    agrees(run["x * root"], X * 2)
    assert "step" not in run.values


def cast(*arrays):
    return tuple(one.astype(jnp.bfloat16) for one in arrays)


def project(x, w):
    x, w = cast(x, w)
    return x * w


def attend(x, w):
    return project(x, w) + project(x, w * 2)


@pytest.mark.parametrize("count", [1, 3])
def test_a_call_that_repeats_its_first_operation_has_one_value_each_time(count, watched, agrees):
    def loss(x):
        for _ in range(count):
            a = attend(x, x + 1)
            x = x + a.astype(x.dtype)
        return (x * x).sum()

    for run in (watched(jax.jit(loss), X), watched(jax.jit(jax.grad(loss)), X)):
        values = [value for value in run.values.values() if value.site.label == "a"]
        assert len(values) == count
        x = X
        for value in values:
            a = attend(x, x + 1)
            agrees(value, a)
            x = x + a.astype(x.dtype)


def test_a_tree_map_in_a_python_loop_has_its_leaves_each_time(watched, agrees):
    @jax.jit
    def f(x):
        for _ in range(2):
            pair = jax.tree.map(lambda one: one * 2, (x, x + 1))
            x = jnp.tanh(pair[0] + pair[1])
        return x

    run, x = watched(f, X), X
    for number in (1, 2):
        for part, wanted in enumerate((x * 2, (x + 1) * 2)):
            (value,) = (v for n, v in run.values.items() if n.startswith(f"pair[{part}]@") and n.endswith(f"#{number}"))
            agrees(value, wanted)
        x = jnp.tanh(x * 2 + (x + 1) * 2)


def test_remaining_parts_of_a_tuple_in_a_differentiated_loop_are_not_identified_by_their_number(watched, agrees):
    def both(a, b):
        u = a * 0.7 + b
        return u, jnp.sin(u)

    def loss(x):
        @jax.jit
        def body(_, t):
            scaled = t * t.mean()  # The derivative adds one result, and leaves `q` out.
            h, q = jax.jit(both)(scaled, scaled)
            return q, h

        _, ys = lax.scan(body, x, jnp.stack([x, x * 0.5]))
        r = ys.sum(0)
        return (r * jnp.cos(x)).sum()

    x = jnp.linspace(-1, 2, 6).reshape(2, 3)
    run = watched(jax.jit(jax.grad(loss)), x)
    for step, t in enumerate((x, x * 0.5)):
        u = 1.7 * t * t.mean()
        for name, value in (("h", u), ("q", jnp.sin(u))):
            if name in run:
                agrees(run[name], value, step)
    agrees(run["scaled"], x * x.mean())


def four(x):
    doubled = x * 2
    return x + 1, jnp.sin(x), doubled, jnp.cos(x)


@pytest.mark.parametrize("call", [four, jax.jit(four), lambda x: jnp.split(jnp.concatenate(four(x)), 4)])
def test_the_rest_of_what_is_taken_apart(call, watched, agrees):
    @jax.jit
    def f(x):
        first, *rest, last = call(x)
        return first * last + sum(rest)

    x = jnp.linspace(0.0, 1.0, 3)
    run = watched(f, x, watch="first,rest,last")
    for name, value in zip(("first", "rest[0]", "rest[1]", "last"), four(x), strict=True):
        agrees(run[name], value)
    assert set(run.values) == {"first", "rest[0]", "rest[1]", "last"}


def test_a_rest_has_its_items(watched, agrees):
    @jax.jit
    def f(x):
        first, *rest = [one * 2 for one in x] if x.size else [x]
        return first + sum(rest)

    run = watched(f, jnp.arange(3.0))
    for number, name in enumerate(("first", "rest[0]", "rest[1]")):
        agrees(run[name], 2.0 * number)


def test_the_last_of_what_a_loop_has_made_and_collected(watched, agrees):
    def rnn(w, xs):
        h, hs = jnp.zeros(2), []
        for x in xs:
            h = jnp.tanh(h @ w + x)
            hs.append(h)
        return jnp.stack(hs), h

    def step(w, xs):
        seq, last = rnn(w, xs)
        return seq.sum() + (last**2).sum()

    w, xs = jnp.eye(2) * 0.5, jnp.arange(6.0).reshape(3, 2) / 5
    run = watched(jax.jit(jax.value_and_grad(step)), w, xs)
    seq, last = rnn(w, xs)
    agrees(run["seq"], seq)
    agrees(run["last"], last)
    agrees(run["grad/last"], 2 * last)


class Normed(linen.Module):
    @linen.compact
    def __call__(self, x):
        h = linen.Dense(4, use_bias=False)(x)
        y = linen.BatchNorm(use_running_average=False)(h * 3)
        z = linen.BatchNorm(use_running_average=False)(y)
        return z


def test_weights_of_a_module_do_not_get_the_names_of_unused_results(watched, agrees):
    net, x = Normed(), jnp.arange(12.0).reshape(4, 3)
    run = watched(jax.jit(net.init), jax.random.key(0), x)
    assert not {"h", "y", "z"} & {name.partition("[")[0] for name in run.values}
    weights = run.result
    run = watched(jax.jit(lambda weights: net.apply(weights, x, mutable=["batch_stats"])[1]), weights)
    agrees(run["h"], x @ weights["params"]["Dense_0"]["kernel"])
    assert "y" in run.values
    assert "z" not in {name.partition("[")[0] for name in run.values}
    run = watched(jax.jit(lambda weights: net.apply(weights, x, mutable=["batch_stats"])), weights)
    agrees(run["z"], run.result[0])


def _comprehension(x):
    parts = [jnp.sin(k * x) for k in range(1, 4)]
    return parts[0] * parts[2]


def _last(x):
    parts = [jnp.sin(k * x) for k in range(1, 4)]
    return parts[-1] * parts[1]


def _mapped(x):
    parts = jax.tree.map(jnp.sin, (x, x * 2, x * 3))
    return parts[1] * parts[2]


def _all_of_them(x):
    parts = [jnp.sin(k * x) for k in range(1, 4)]
    return sum(parts) + parts[0]


def _tuple_of(x):
    parts = tuple(jnp.sin(k * x) for k in range(1, 4))
    return parts[0] * parts[2]


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize(
    ("program", "items"),
    [(_comprehension, (0, 2)), (_last, (1, 2)), (_mapped, (1, 2)), (_all_of_them, (0, 1, 2)), (_tuple_of, (0, 2))],
)
def test_an_item_has_its_own_number_where_another_is_not_used(watched, agrees, program, items):
    """JAX leaves out unused items."""
    run = watched(jax.jit(program), X, watch="parts*")
    assert set(run.values) == {f"parts[{item}]" for item in items}
    for item in items:
        agrees(run[f"parts[{item}]"], jnp.sin((item % 3 + 1) * X))


def _one_of_rows(x):
    rows = [jnp.sin(row) for row in x]
    return rows[-1] * 2


def _one_in_a_dict(x):
    rows = {k: jnp.sin(row) for k, row in enumerate(x)}
    return rows[len(x) - 1] * 2


def _one_stacked(x):
    rows = jnp.stack([jnp.sin(row) for row in x])
    return rows * 2


@pytest.mark.parametrize("program", [_one_of_rows, _one_in_a_dict, _one_stacked])
def test_the_input_of_a_comprehension_is_not_named_as_its_result(watched, agrees, program):
    x = jnp.arange(9.0).reshape(3, 3) / 4
    run = watched(jax.jit(program), x, watch="rows*")
    (rows,) = run.values.values()
    agrees(rows, program(x) / 2)


def test_an_item_of_an_item_has_the_numbers_of_both(watched, agrees):
    def both(k, x):
        return jnp.sin(k * x), jnp.cos(k * x)

    def program(x):
        pairs = [both(k, x) for k in range(1, 4)]
        return pairs[0][1] + pairs[2][0]

    run = watched(jax.jit(program), X, watch="pairs*")
    assert set(run.values) == {"pairs[0][1]", "pairs[2][0]"}
    agrees(run["pairs[0][1]"], jnp.cos(X))
    agrees(run["pairs[2][0]"], jnp.sin(3 * X))


def test_an_item_that_is_taken_at_once_is_no_tree(watched, agrees):
    def both(x):
        return jnp.sin(x), jnp.cos(x)

    def program(x):
        y = both(x)[1].astype(jnp.float32)
        return y * 2

    run = watched(jax.jit(program), X, watch=True)
    agrees(run["y"], jnp.cos(X))
