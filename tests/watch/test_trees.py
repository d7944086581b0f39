"""Test that leaves of a tree have its paths if its structure is known, with the values of an unjitted run."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen, struct
from flax.training.train_state import TrainState
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions
from tests.watch.unjitted import assigned_un_jitted


def since_9(reason):
    return pytest.mark.skipif(versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason=f"{reason} on jax 0.8")


no_paths = since_9("what a loop returns has no paths (docs/limits.md)")
of_first_caller = since_9("what `jnp.where` computes inside says that it comes from where that was first called")
drawn_twice = since_9("what a second `jax.random.normal` computes says that it comes from the first")
X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
Y = np.random.default_rng(1).normal(size=(4, 1)).astype(np.float32)


@pytest.fixture(autouse=True, scope="module")
def quickly_compiled():
    """Compile without optimisation: programs run once, and names do not depend on it."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def assert_named(program, root, *, every=True):
    """Assert that each leaf that lines assign to `root` has its path and its unjitted value, each time."""
    with jax.numpy_dtype_promotion("standard"):  # optax relies on it
        if jax.__version_info__ < (0, 9):  # Such a JAX keeps the lines of the first caller.
            jax.clear_caches()
        with jdw.capture(watch="*") as run:
            jax.block_until_ready(program())
        expected = assigned_un_jitted(program, __file__, range(1, 10_000))
    jax.effects_barrier()
    sites: dict[tuple[int, str], list[Any]] = defaultdict(list)
    for value in run.values.values():
        watch = value.site.watch
        is_own = watch.role == "value" and watch.primitive != "argument" and value.site.file == __file__
        if is_own and re.split(r"[.\[]", watch.name, maxsplit=1)[0] == root:
            sites[value.site.line, watch.name.removeprefix(root)].append(value)
    assert sites
    for (line, path), values in sites.items():
        trees = expected[line, root]
        assert not every or path in trees[0], (line, path, list(trees[0]))
        if path not in trees[0]:
            continue
        for number, value in enumerate(values):
            own = trees[number :: len(values)]
            assert len(own) == len(value.steps), (line, path)
            for step, leaves in enumerate(own):
                array = np.asarray(leaves[path], np.float64)
                assert value.site.watch.shape == array.shape
                kind = "value" if array.size == 1 else "l2"
                np.testing.assert_allclose(
                    value[kind][step], np.linalg.norm(array) if array.size > 1 else array, rtol=1e-3
                )
    return run, {path for _, path in sites}


class Perceptron(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(1)(linen.relu(linen.Dense(8)(x)))


class Normed(TrainState):
    means: Any = None


def new_state():
    model = Perceptron()
    with jax.numpy_dtype_promotion("standard"):  # optax relies on it
        variables = jax.tree.map(
            lambda a: a + 0.1 * jnp.arange(a.size).reshape(a.shape), model.init(jax.random.key(2), X)
        )
        params = variables["params"]
        return Normed.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-2), means={"m": jnp.zeros(())})


STATE = jax.jit(new_state)()  # One program instead of one for each operation.


def gradients(state, x, y):
    def loss_of(params):
        return ((state.apply_fn({"params": params}, x) - y) ** 2).mean()

    return jax.value_and_grad(loss_of)(state.params)


def train_step(state, x, y):
    loss, grads = gradients(state, x, y)
    state = state.apply_gradients(grads=grads)
    return state, loss


@jax.jit
def used_after(state):
    _, grads = gradients(state, X, Y)
    state = state.apply_gradients(grads=grads)
    size = optax.tree.norm(state.params)
    return state, size


@jax.jit
def replaced_after(state):
    loss, grads = gradients(state, X, Y)
    state = state.apply_gradients(grads=grads)
    state = state.replace(means={"m": loss * 2})
    return state


@jax.jit
def in_part(state):
    _, grads = gradients(state, X, Y)
    state = state.apply_gradients(grads=grads)
    return state.params


@jax.jit
def by_a_helper(state):
    state, loss = train_step(state, X, Y)
    return {"state": state, "loss": loss}


@jax.jit
def by_a_helper_in_a_loop(state):
    def body(state, batch):
        state, loss = train_step(state, *batch)
        return state, loss

    state, losses = lax.scan(body, state, (jnp.stack([X, X + 1]), jnp.stack([Y, Y])))
    return state, losses


@jax.jit
def counted(state):
    def body(_, state):
        _, grads = gradients(state, X, Y)
        state = state.apply_gradients(grads=grads)
        return state

    state = lax.fori_loop(0, 3, body, state)
    return state


@jax.jit
def counted_by_a_lambda(state):
    return lax.fori_loop(0, 3, lambda _, state: train_step(state, X, Y)[0], state)


BATCHES = [(X, Y), (X + 1, Y), (X * 2, Y - 1)]


@jax.jit
def unrolled(state):
    for x, y in BATCHES:
        state, loss = train_step(state, x, y)
    return sum(map(jnp.sum, jax.tree.leaves(state)), loss)


@jax.jit
def unrolled_in_place(state):
    for x, y in BATCHES:
        _, grads = gradients(state, x, y)
        state = state.apply_gradients(grads=grads)
    return state


@struct.dataclass
class Momenta:
    params: Any
    mean: Any
    square: Any
    count: Any


def with_momenta(state, x, y):
    grads = jax.grad(lambda params: ((STATE.apply_fn({"params": params}, x) - y) ** 2).mean())(state.params)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, grads)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g**2, state.square, grads)
    params = jax.tree.map(lambda p, m, s: p - 0.1 * m / (1e-3 + jnp.sqrt(s)), state.params, mean, square)
    return state.replace(square=square, params=params, mean=mean, count=state.count + 1)


@jax.jit
def unrolled_momenta(state):
    for x, y in BATCHES:
        state = with_momenta(state, x, y)
    return optax.tree.norm(state.params)


@jax.jit
def unrolled_parameters(params):
    optimiser = optax.adam(1e-2)
    opt_state = optimiser.init(params)
    for x, y in BATCHES:
        grads = jax.grad(lambda params, x, y: ((STATE.apply_fn({"params": params}, x) - y) ** 2).mean())(params, x, y)
        updates, opt_state = optimiser.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
    return optax.tree.norm(params)


@jax.jit
def mapped_after(state):
    loss, grads = gradients(state, X, Y)
    before = state
    state = state.apply_gradients(grads=grads)
    kept = jax.tree.map(lambda new, old: jnp.where(jnp.isfinite(loss), new, old), state, before)
    return kept


@jax.jit
def mapped_with_what_is_given(before):
    loss, grads = gradients(before, X, Y)
    state = before.apply_gradients(grads=grads)
    kept = jax.tree.map(lambda new, old: jnp.where(jnp.isfinite(loss), new, old), state, before)
    return optax.tree.norm(kept)


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize(
    "step",
    [
        used_after,
        replaced_after,
        in_part,
        by_a_helper,
        by_a_helper_in_a_loop,
        pytest.param(counted, marks=no_paths),
        pytest.param(counted_by_a_lambda, marks=no_paths),
        pytest.param(mapped_after, marks=of_first_caller),
        pytest.param(mapped_with_what_is_given, marks=of_first_caller),
    ],
    ids=lambda one: one.__name__,
)
def test_a_train_state_has_the_paths_of_its_tree(step):
    _, paths = assert_named(lambda: step(STATE), "state")
    params = {f".params{jax.tree_util.keystr(path)}" for path, _ in jax.tree_util.tree_leaves_with_path(STATE.params)}
    assert params <= paths
    if step is not in_part:
        assert {".step", ".opt_state[0].count", ".opt_state[0].mu['Dense_0']['kernel']"} <= paths


def test_each_execution_in_a_python_loop_has_its_own_leaves():
    @jax.jit
    def fit(params):
        for _ in range(3):
            grads = jax.tree.map(jnp.sin, params)
            params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params["w"].sum() + params["b"].sum()

    params = {"w": X, "b": Y}
    for name in ("grads", "params"):
        run, paths = assert_named(lambda: fit(params), name)
        assert paths == {"['w']", "['b']"}
        assert len([one for one in run.values.values() if one.site.watch.name == f"{name}['w']"]) >= 3


def test_the_parts_of_a_mapped_tuple():
    @jax.jit
    def f(pair):
        for _ in range(2):
            first, second = jax.tree.map(lambda a: {"s": a * 2, "c": jnp.cos(a)}, pair)
            pair = (first["s"] + second["c"], second["s"] + first["c"])
        left, right = jax.tree.map(lambda a, b: a + b, pair, pair)
        return left @ right

    assert assert_named(lambda: f((X[0], X[1])), "first")[1] == {"['s']", "['c']"}
    assert assert_named(lambda: f((X[0], X[1])), "second")[1] == {"['s']", "['c']"}
    assert assert_named(lambda: f((X[0], X[1])), "right")[1] == {""}


def test_a_reduction_of_a_tree_is_not_named_after_its_leaves():
    @jax.jit
    def f(tree):
        total = jax.tree.reduce(lambda a, b: a + b.sum(), tree, jnp.zeros(()))
        return total * 2

    assert assert_named(lambda: f({"a": X, "b": Y}), "total")[1] == {""}


def test_reordered_trees_keep_their_own_paths():
    class Out(NamedTuple):
        state: Any
        size: Any

    def turned(tree):
        return {"a": tree["b"], "b": tree["a"]}

    def made(x):
        return {"a": x + 1, "b": x * 2}

    @jax.jit
    def f(x):
        tree = made(x)
        other = made(x - 1)
        third = made(x + 5)
        return turned(tree), Out(other, x.sum()), {"kept": third, "old": x}

    for name in ("tree", "other", "third"):
        _, paths = assert_named(lambda: f(X), name, every=False)
        assert paths <= {"['a']", "['b']", "[0]", "[1]"}
    assert assert_named(lambda: f(X), "other")[1] == {"['a']", "['b']"}


def test_the_fields_of_classes_that_are_written_in_a_function(watched, agrees):
    class State(NamedTuple):
        pos: Any
        vel: Any

    @struct.dataclass
    class Body:
        mass: Any
        spin: Any

    @jax.tree_util.register_pytree_node_class
    class Pair:
        def __init__(self, second, first):
            self.second, self.first = second, first

        def tree_flatten(self):
            return (self.first, self.second), None

        @classmethod
        def tree_unflatten(cls, _, leaves) -> Any:
            return cls(*reversed(leaves))

    @struct.dataclass
    class Odd:
        one: Any
        two: Any

        def __post_init__(self):
            object.__setattr__(self, "one", self.two)

    @jax.jit
    def f(x):
        state = State(x * 2, x + 1)
        body = Body(x * 3, jnp.sin(state.vel))
        pair = Pair(x - 1, x * 5)
        odd = Odd(x - 2, x - 3)
        return state, body, pair.first + pair.second, odd.one + odd.two

    assert assert_named(lambda: f(X), "state")[1] == {".pos", ".vel"}
    assert assert_named(lambda: f(X), "body")[1] == {".mass", ".spin"}
    run = watched(f, X)
    agrees(run["pair.second"], X - 1)
    agrees(run["pair.first"], X * 5)
    assert not {"odd.one", "odd.two"}.intersection(run.values)


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("root", ["state", "grads"])
@pytest.mark.parametrize("program", [unrolled, unrolled_in_place, unrolled_momenta], ids=lambda one: one.__name__)
@pytest.mark.each
def test_trees_used_only_in_the_next_iteration_have_their_paths(program, root):
    zeros = jax.tree.map(jnp.zeros_like, STATE.params)
    state = Momenta(STATE.params, zeros, zeros, jnp.zeros(())) if program is unrolled_momenta else STATE
    _, paths = assert_named(lambda: program(state), root)
    leaves = {jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(STATE.params)}
    if root == "grads":
        assert paths == leaves
    else:
        assert paths >= {f".params{path}" for path in leaves}


def test_parameters_that_only_the_next_round_takes_have_their_paths():
    _, paths = assert_named(lambda: unrolled_parameters(STATE.params), "params")
    assert paths == {jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(STATE.params)}


def test_rounds_that_take_turns_have_no_others_paths():
    @jax.jit
    def f(state):
        for number in range(3):
            kept = state["a"] if number % 2 else state["b"]
            state = jax.tree.map(lambda leaf, kept=kept: jnp.sin(leaf + kept), state)
        return state

    assert_named(lambda: f({"a": X, "b": X + 1}), "state")


class Particle(NamedTuple):
    pos: Any
    vel: Any
    mass: Any
    charge: Any


def sown(key):
    one, other = jax.random.split(key)
    return Particle(
        vel=jax.random.normal(one, (3,)), pos=jax.random.normal(other, (3,)), charge=jnp.zeros(()), mass=jnp.ones(())
    )


def sown_by_names(key):
    pos = jax.random.normal(key, (3,))
    mass = (pos**2).sum()
    return Particle(pos, jnp.tanh(pos), mass, charge=mass + 1)


def sown_by_a_helper(key):
    particle = sown_by_names(key)
    particle = particle._replace(vel=particle.vel * 2)
    return particle


def run_on(particle):
    def step(p, _):
        return p._replace(pos=p.pos + p.vel), (p.pos.sum(), p.mass)

    return lax.scan(step, particle, length=2)


def mapped_twice(particle):
    twice = jax.tree.map(lambda leaf: leaf * 2, particle)
    return optax.tree.norm(twice)


def taken_in_a_helper(particle):
    return particle.pos.sum() + (particle.vel.sum() * particle.mass + particle.charge).sum()


@pytest.mark.parametrize("use", [run_on, mapped_twice, taken_in_a_helper], ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    "sow",
    [pytest.param(sown, marks=drawn_twice), sown_by_names, sown_by_a_helper],
    ids=lambda one: one.__name__,
)
@pytest.mark.parametrize("over", [jax.vmap, lambda f: f], ids=["vmap", "one"])
@pytest.mark.each
def test_objects_that_a_function_builds_have_their_fields(over, sow, use):
    keys = jax.random.split(jax.random.key(3), 4)

    @jax.jit
    def program(keys):
        fresh = over(sow)(keys)
        return use(fresh)

    _, paths = assert_named(lambda: program(keys if over is jax.vmap else keys[0]), "fresh")
    constants = {".mass", ".charge"} if sow is sown and over is not jax.vmap else set()
    assert paths == {".pos", ".vel", ".mass", ".charge"} - constants  # Constants have no operations.


def test_classes_of_one_name_that_differ_have_no_fields(watched):
    def one(x):
        class Twin(NamedTuple):
            a: Any
            b: Any

        twin = Twin(x + 1, x + 2)
        return twin.a * twin.b

    def other(x):
        class Twin(NamedTuple):
            b: Any
            a: Any

        twin = Twin(x + 3, x + 4)
        return twin.a * twin.b

    run = watched(jax.jit(lambda x: one(x) + other(x)), X)
    assert not {"twin.a", "twin.b"}.intersection(name.partition("@")[0] for name in run.values)


def test_value_gradient_and_tangents_that_are_only_used_together():
    @jax.jit
    def f(x, t):
        def energy(x):
            return (jnp.sin(x) ** 2).sum()

        (v, d), (tv, td) = jax.jvp(jax.value_and_grad(energy), (x,), (t,))
        p, q = jax.jvp(jax.value_and_grad(energy), (x + 1,), (t * 2,))
        return (v + tv) * (d * td).sum() + (p[0] + q[0]) * (p[1] * q[1]).sum()

    for name in ("v", "d", "tv", "td", "p", "q"):
        assert_named(lambda: f(X, X * 3), name)


def test_parts_of_a_tree_that_are_taken_by_functions(watched, agrees):
    def energy(x):
        return (jnp.sin(x["a"]) ** 2).sum() + (x["b"] ** 3).sum()

    def f(x, t):
        (v, d), (tv, td) = jax.jvp(jax.value_and_grad(energy), (x,), (t,))
        return jnp.add(v, tv) * (jnp.add(d["a"], d["b"]) * jnp.add(td["a"], td["b"])).sum()

    tree = {"a": X, "b": X}
    run = watched(jax.jit(f), tree, tree)
    (v, d), (tv, td) = jax.jvp(jax.value_and_grad(energy), (tree,), (tree,))
    wanted = {"v": v, "tv": tv, "d['a']": d["a"], "d['b']": d["b"], "td['a']": td["a"], "td['b']": td["b"]}
    for name, value in wanted.items():
        agrees(run[name], value)


def test_parts_are_distinguished_by_the_sides_of_an_operator(watched, agrees):
    def energy(x):
        return (jnp.sin(x["a"]) ** 2).sum() + (x["b"] ** 3).sum()

    def f(x, t):
        (v, d), (tv, td) = jax.jvp(jax.value_and_grad(energy), (x,), (t,))
        return (v + tv) * ((d["a"] - d["b"]) * (td["a"] + td["b"])).sum()

    tree = {"a": X, "b": X}
    run = watched(jax.jit(f), tree, tree)
    (v, d), (tv, td) = jax.jvp(jax.value_and_grad(energy), (tree,), (tree,))
    wanted = {"v": v, "tv": tv, "d['a']": d["a"], "d['b']": d["b"], "td['a']": td["a"], "td['b']": td["b"]}
    for name, value in wanted.items():
        agrees(run[name], value)


@since_9("gradients in shard_map are missing (docs/limits.md)")
def test_results_of_a_shard_map_have_the_paths_of_the_names_inside(watched, agrees):
    from jax.sharding import AxisType
    from jax.sharding import PartitionSpec as P

    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Auto,))

    def loss_of(params, x):
        return ((x @ params["w"] + params["b"][None]) ** 2).mean()

    @jax.jit
    def f(params, x):
        def local(params, x):
            loss, grads = jax.value_and_grad(loss_of)(params, x)
            grads = lax.pmean(grads, "i")
            return loss[None], grads

        loss, grads = jax.shard_map(local, mesh=mesh, in_specs=(P(), P("i")), out_specs=(P("i"), P()))(params, x)
        return loss, jax.tree.map(lambda p, g: p - g, params, grads)

    params = {"w": Y[:3], "b": jnp.ones(1)}
    run = watched(f, params, X)
    line = next(value.site.line for value in run.values.values() if value.site.watch.primitive == "shard_map")
    expected = jax.grad(loss_of)(params, X)
    given = {one.site.watch.name: one for one in run.values.values() if one.site.line == line}
    assert {name for name in given if name.startswith("grads")} == {"grads['w']", "grads['b']"}
    agrees(given["grads['w']"], expected["w"])
    agrees(given["grads['b']"], expected["b"])


def test_leaves_do_not_get_the_path_of_the_one_known_leaf(watched):
    """Results of optax have the paths of another argument; the known leaf is not that of the first argument."""

    def program(p, old):
        params = optax.apply_updates(p, p)
        params["gamma"] = jnp.clip(params["gamma"], 0.0, 3.5)
        mean = optax.incremental_update(params, old, 0.1)
        return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(mean))

    p = {"w": jnp.full((2, 3), 2.0), "gamma": jnp.full(4, 3.0), "beta": jnp.full(4, 5.0)}
    old = {"w": jnp.ones((2, 3)), "gamma": jnp.ones(4), "beta": jnp.zeros(4)}
    run = watched(jax.jit(program), p, old, watch="mean*", values=True)
    told = {label: float(value["value"].mean()) for label, value in run.values.items()}
    assert told == pytest.approx({"mean['w']": 1.3, "mean['gamma']": 1.25, "mean['beta']": 1.0})


def _loss_of_tree(p):
    return jnp.sum(p["a"] * p["b"] ** 2) + p["c"]


@pytest.mark.parametrize("keys", ["ab", "ba", "ac", "cb"])
@pytest.mark.parametrize("asked", ["grad", "value_and_grad"])
def test_leaves_of_a_gradient_of_which_one_is_used(asked, keys, watched, agrees):
    def update(p):
        g = jax.grad(_loss_of_tree)(p)
        new = {k: p[k] - g[k] for k in keys}
        return new[keys[-1]]

    def update_with_loss(p):
        loss, g = jax.value_and_grad(_loss_of_tree)(p)
        new = {k: p[k] - g[k] for k in keys}
        return new[keys[-1]], loss

    p = {"a": jnp.arange(3.0), "b": jnp.array([0.5, 2.0, -1.0]), "c": jnp.float32(2)}
    run = watched(jax.jit(update if asked == "grad" else update_with_loss), p, watch="g")
    assert f"g['{keys[-1]}']" in run.values
    for name, value in run.values.items():
        (leaf,) = (leaf for leaf in p if name == f"g['{leaf}']")
        agrees(value, jax.grad(_loss_of_tree)(p)[leaf])
