"""Test that values of elementwise operations, which are recomputed natively, equal those of the program."""

from __future__ import annotations

import operator
import re
from collections import Counter
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax.extend import core

import jax_debug_widgets as jdw
from jax_debug_widgets.watch.statistics import statistics
from jax_debug_widgets.watch.statistics.recompute_plan import chains_of
from jax_debug_widgets.watch.statistics.statistics import STATISTICS, stacked
from tests.benchmarks.watch import forward, trained
from tests.tapped import tapped

ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 3e38, -2.5, 1.0], np.float32)
LONG = 2500
"""Elements: more than are made at a time, and no multiple of that."""

MUCH = 300_001
"""Elements: more than one thread's work, and no multiple of that."""


def op_by_op(function, *arrays):
    """Return the program of a function that keeps only sums, and JAX's value of each variable, computed one by one."""
    program = jax.make_jaxpr(lambda *arrays: [one.sum() for one in jax.tree.leaves(function(*arrays))])(*arrays).jaxpr
    values = dict(zip(program.invars, arrays, strict=True))
    for equation in program.eqns:
        operands = [one.val if isinstance(one, core.Literal) else values[one] for one in equation.invars]
        if equation.primitive is lax.div_p:  # XLA multiplies by the reciprocal of an operand that it broadcasts.
            operands = jnp.broadcast_arrays(*operands)
        results = equation.primitive.bind(*operands, **equation.params)
        values.update(zip(equation.outvars, results if equation.primitive.multiple_results else [results], strict=True))
    return program, values


def check(function, *arrays, tolerance=2e-7):
    """Assert that recomputed values equal those of JAX; return the number of recomputed values."""
    program, values = op_by_op(function, *arrays)
    wanted = [*program.invars, *(one for equation in program.eqns for one in equation.outvars)]
    made = 0
    for chain in chains_of(program, wanted):
        sources = [values[one] for one in chain.sources]
        rows = range(len(sources), len(sources) + len(chain.watched))
        table = jax.jit(lambda *arrays, rows=rows, chain=chain: stacked(arrays, rows, [(chain, range(len(arrays)))]))
        for row, variable in zip(np.asarray(table(*sources)), chain.watched, strict=True):
            agree(dict(zip(STATISTICS, row, strict=True)), np.asarray(values[variable]), tolerance)
            made += variable not in chain.sources
    return made


def agree(told, array, tolerance):
    """Assert that these are the statistics of float32[...].

    The counts are equal; the extremes are within `tolerance` of the largest.
    """
    finite = array[np.isfinite(array)].astype(np.float64)
    if len(finite):
        scale = np.abs(finite).max()
        extremes = [finite.min(), finite.max()]
        np.testing.assert_allclose([told["min"], told["max"]], extremes, rtol=0, atol=tolerance * scale)
        np.testing.assert_allclose(told["mean"], finite.mean(), rtol=1e-5, atol=1e-6 * scale)
    counts = {"zeros": array == 0, "nan": np.isnan(array), "posinf": array == np.inf, "neginf": array == -np.inf}
    assert {name: told[name] for name in counts} == {name: which.sum() for name, which in counts.items()}


@pytest.fixture(params=["natively", "by XLA"])
def _way(request, monkeypatch):
    if request.param == "by XLA":
        monkeypatch.setattr(statistics, "native_target", lambda: None)


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, jnp.maximum, jnp.minimum]
UNARY = [operator.neg, jnp.abs, lax.sqrt, lax.rsqrt, lax.square, *(partial(lax.integer_pow, y=n) for n in range(2, 9))]


EXACT = [*BINARY, operator.neg, jnp.abs, lax.sqrt, lax.square]
"""What XLA and we compute to the same bit; it multiplies high powers in another order, and has a reciprocal root of its own."""


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("operation", BINARY, ids=lambda one: one.__name__)
@pytest.mark.each
def test_binary_operations_are_recomputed_exactly(operation):
    x, y = np.meshgrid(ODD, ODD)
    assert check(operation, x, y) == 1
    assert check(lambda x: (operation(x, 3.0), operation(-0.0, x)), x) == 2
    generator = np.random.default_rng(0)
    x, y = (generator.normal(size=LONG).astype(np.float32) for _ in range(2))
    assert check(operation, x, y) == 1


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("operation", UNARY)
@pytest.mark.each
def test_operations_of_one_array(operation):
    assert check(operation, ODD) == 1
    assert check(operation, np.random.default_rng(0).normal(size=LONG).astype(np.float32)) == 1


@pytest.mark.parametrize("odd", [0.0, np.nan, 3e38])
def test_arrays_that_are_the_work_of_several_threads(odd):
    generator = np.random.default_rng(0)
    x, y = (generator.normal(size=MUCH).astype(np.float32) for _ in range(2))
    x[-2] = odd
    assert check(lambda x, y: (x * 2 + y, x - y, jnp.maximum(x, 0.5)), x, y) == 4


@pytest.mark.usefixtures("_way")
def test_operations_with_literals_are_recomputed_exactly():
    def f(x):
        return (x * 2 + 3) * -0.5, (x + 2) * np.nan, x - 0.0, x / 7

    assert check(f, np.random.default_rng(0).normal(size=LONG).astype(np.float32)) == 7


@pytest.mark.usefixtures("_way")
def test_operations_with_broadcast_operands_are_recomputed_exactly():
    generator = np.random.default_rng(0)
    x, row, column, middle = (
        generator.normal(size=shape).astype(np.float32) for shape in ((30, 7, 40), (40,), (30, 1, 1), (1, 7, 1))
    )
    number = np.float32(0.3)

    def f(x, row, column, middle, number):
        bare = jnp.broadcast_to(middle, x.shape)
        return x * row[None, None] + column, x - middle, bare * number, jnp.broadcast_to(number, x.shape) + x

    assert check(f, x, row, column, middle, number) == 7


@pytest.mark.usefixtures("_way")
def test_operands_broadcast_along_separate_axes_are_not_recomputed():
    x, apart = np.ones((3, 5, 4), np.float32), np.arange(12, dtype=np.float32).reshape(3, 1, 4)
    assert check(lambda x, apart: x * apart, x, apart) == 0


@pytest.mark.usefixtures("_way")
def test_transposed_arrays_are_recomputed_only_if_all_operands_are_transposed():
    x = np.random.default_rng(0).normal(size=(30, 50)).astype(np.float32)
    y = x[::-1].copy()

    def both(x, y):
        return (x.T * 2 + y.T).reshape(-1) - x.T.reshape(-1)

    def mixed(x, y):
        turned = x.T * 2
        return turned.reshape(30, 50) + y, turned.T + y

    assert check(both, x, y) == 3
    assert check(mixed, x, y) == 1


def test_values_that_the_program_stores_are_read_and_not_recomputed():
    """The operand of a matrix product and the result of the program are in memory."""
    x = np.random.default_rng(0).normal(size=(40, 40)).astype(np.float32)

    def f(x):
        operand = x * 2 + 1
        return (operand @ x) * 3

    program, _ = op_by_op(f, x)
    results = [one.outvars[0] for one in program.eqns]
    made = [one for chain in chains_of(program, results) for one in chain.watched]
    names = {variable: one.primitive.name for one in program.eqns for variable in one.outvars}
    assert [names[one] for one in made] == ["mul", "dot_general", "mul"]


def test_a_product_is_made_of_exponentials_that_nobody_reads():
    """Writing the product would round it before the following addition; writing the exponentials changes no bit."""
    program, _ = op_by_op(lambda x, y: jnp.exp(x) * jnp.exp(y), jnp.ones(5), jnp.ones(5))
    first, second, product = (one.outvars[0] for one in program.eqns[:3])
    (chain,) = chains_of(program, [product])
    assert (set(chain.sources), chain.watched) == ({first, second}, (product,))
    (chain,) = chains_of(program, [first, second, product])
    assert set(chain.sources) == {first, second} and set(chain.watched) == {first, second, product}


def test_a_value_with_unstored_operands_is_read_and_not_recomputed():
    """To recompute it, its operands would have to be written: they are sums that XLA may contract."""
    program, _ = op_by_op(lambda x, y: jnp.sort(x.cumsum() * y) * jnp.floor(x + y), jnp.ones(5), jnp.ones(5))
    last = program.eqns[-1].outvars[0]
    assert chains_of(program, [last]) == []


def test_a_value_that_is_made_of_many_more_arrays_than_are_watched_is_read_itself():
    program, _ = op_by_op(lambda x, y, z: (x - y) * z * 2, jnp.ones(5), jnp.ones(5), jnp.ones(5))
    difference, product, doubled = (one.outvars[0] for one in program.eqns[:3])
    assert chains_of(program, [product]) == []
    (chain,) = chains_of(program, [product, doubled])
    assert chain.watched == (product, doubled)
    (chain,) = chains_of(program, [difference])
    assert chain.watched == (difference,)


ACTIVATIONS = [
    jax.nn.gelu,
    partial(jax.nn.gelu, approximate=False),
    jax.nn.silu,
    jax.nn.mish,
    lambda x: x * jax.nn.softplus(x),
    lambda x: x / (1 + jnp.abs(x)) * 0.5 * (1 + jnp.tanh(x)),
]


@pytest.mark.cpu("chains are the CPU's")
@pytest.mark.parametrize("watch", [True, "x", "error"])
@pytest.mark.parametrize("act", ACTIVATIONS, ids=["gelu", "exact gelu", "silu", "mish", "softplus", "own"])
def test_watching_what_an_activation_gives_changes_no_bit(act, watch):
    """XLA contracts its product with the following sum, which it could not do with a product that it writes."""

    def loss_of(params, x, y):
        for w in params:
            h = x @ w
            x = act(h)
        error = x - y
        return (error * error).mean()

    def train(params, x, y):
        def step(params, _):
            loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss

        return jax.lax.scan(step, params, length=3)

    keys = jax.random.split(jax.random.key(0), 3)
    params, x = [jax.random.normal(key, (48, 48)) / 7 for key in keys[1:]], jax.random.normal(keys[0], (32, 48))
    run_it = jax.jit(train)
    plain = run_it(params, x, jnp.sin(x))
    with jdw.capture(watch=watch) as run:
        watched = run_it(params, x, jnp.sin(x))
    assert run.watched
    jax.tree.map(np.testing.assert_array_equal, plain, watched)


@pytest.mark.parametrize("act", ACTIVATIONS, ids=["gelu", "exact gelu", "silu", "mish", "softplus", "own"])
@pytest.mark.parametrize("transform", [lambda f: f, jax.grad, jax.vmap], ids=["jit", "grad", "vmap"])
def test_results_of_activations_equal_the_unjitted_ones(act, transform):
    def f(x):
        h = x @ jnp.eye(6) * 3
        out = act(h)
        return ((out - x) ** 2).sum()

    x = jax.random.normal(jax.random.key(1), (3, 5, 6) if transform is jax.vmap else (5, 6))
    with jdw.capture(watch="out") as run:
        jax.jit(transform(f))(x)
    wanted = np.asarray(act(3 * x))
    for name, number in (("mean", wanted.mean()), ("l2", np.linalg.norm(wanted)), ("min", wanted.min())):
        np.testing.assert_allclose(run["out"][name][0], number, rtol=1e-5, atol=1e-6)


@st.composite
def programs(draw):
    """Draw a random program of operations on arrays of three shapes."""
    steps = draw(
        st.lists(
            st.tuples(st.sampled_from(EXACT), st.integers(0, 30), st.integers(0, 30)),
            min_size=1,
            max_size=25,
        )
    )

    def program(*arrays):
        values = list(arrays)
        for operation, first, second in steps:
            x, y = values[first % len(values)], values[second % len(values)]
            values.append(operation(x, y) if operation in BINARY else operation(x))
        return values

    return program


@pytest.mark.cpu("other backends round what they fuse otherwise")
@settings(deadline=None, max_examples=15)
@given(programs())
def test_random_chains_of_operations_are_recomputed_exactly(program):
    """The bits must be equal, because cancellation can make any other difference arbitrarily large."""
    generator = np.random.default_rng(1)
    arrays = [generator.normal(size=shape).astype(np.float32) for shape in ((3, 400), (1, 400), (3, 1), (3, 400))]
    with np.errstate(all="ignore"):
        check(program, *arrays, tolerance=0)


@pytest.mark.cpu("chains are the CPU's")
def test_reading_all_of_a_training_loop_leaves_its_kernels_and_its_results_as_they_are():
    keys = jax.random.split(jax.random.key(0), 5)
    params, x = [jax.random.normal(key, (64, 64)) / 8 for key in keys[1:]], jax.random.normal(keys[0], (128, 64))
    train = jax.jit(trained(forward, 5))
    arguments = params, x, jnp.sin(x)
    plain = train(*arguments)
    with jdw.capture(ops=True) as run:
        watched = train(*arguments)
        text = tapped(train.lower(*arguments)).compile().as_text()
    assert statistics.CHAIN in text
    jax.tree.map(np.testing.assert_array_equal, plain, watched)
    assert len(run.watched) > 100


def test_the_gradients_of_weights_are_read_as_xla_writes_them():
    """XLA multiplies in the other order if only the transposed product is used, to avoid a kernel that transposes."""
    keys = jax.random.split(jax.random.key(0), 4)
    params, x = [jax.random.normal(key, (64, 64)) / 8 for key in keys[1:]], jax.random.normal(keys[0], (128, 64))
    train = jax.jit(trained(forward, 5))
    arguments = params, x, jnp.sin(x)

    def kernels():
        lines = tapped(train.lower(*arguments)).compile().as_text().splitlines()
        return Counter(found[1] for line in lines if (found := re.search(r" (dot|transpose|copy)\(", line)))

    plain = kernels()
    with jdw.capture(watch="gradients") as run:
        watched = kernels()
        train(*arguments)
    assert plain["dot"] and watched == plain
    gradients = jax.grad(lambda params: ((forward(params, x) - jnp.sin(x)) ** 2).mean())(params)
    for number, gradient in enumerate(gradients):
        np.testing.assert_allclose(run[f"gradients[{number}]"]["l2"][0], np.linalg.norm(gradient), rtol=1e-5)
