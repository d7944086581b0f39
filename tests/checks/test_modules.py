"""Side effects, stale values and stored tracers in the modules of flax and equinox, at the line of the user's class."""

from __future__ import annotations

import functools
import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest
from flax import linen, nnx
from flax.training.train_state import TrainState

import jax_debug_widgets as jdw

X = jnp.ones((2, 3))
log: list = []
gain = 1.0


@pytest.fixture(autouse=True)
def _as_at_first():
    yield
    globals().update(gain=1.0)
    log.clear()


class Inner(linen.Module):
    def setup(self):
        self.dense = linen.Dense(3)

    def __call__(self, x: jax.Array) -> jax.Array:
        log.append(x.shape)
        return self.dense(x)

    def encode(self, x):
        log.append("encode")
        return self.dense(x)


class Outer(linen.Module):
    @linen.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return Inner().encode(x)


class Scaled(linen.Module):
    @linen.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return linen.Dense(3)(x) * gain


class Net(nnx.Module):
    def __init__(self) -> None:
        self.linear = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        self.dropout = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
        self.factor = 1.0

    def __call__(self, x: jax.Array) -> jax.Array:
        log.append("called")
        return self.linear(x)

    def scaled(self, x):
        return self.linear(x) * self.factor * gain

    def kept(self, x):
        self.last = self.linear(x)
        return self.last

    def dropped(self, x):
        return self.dropout(self.linear(x))


def timed(function):
    @functools.wraps(function)
    def wrapper(self, x):
        log.append(function.__name__)
        return function(self, x)

    return wrapper


class Timed(eqx.Module):
    weight: jax.Array

    @timed
    def __call__(self, x: jax.Array) -> jax.Array:
        return x * self.weight


class Layer(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self) -> None:
        self.linear = eqx.nn.Linear(3, 3, key=jax.random.key(0))

    def __call__(self, x: jax.Array) -> jax.Array:
        log.append("called")
        return self.linear(x)

    def scaled(self, x):
        return self.linear(x) * gain


def scaled(net, x):
    return net.scaled(x)


def line_of(function, offset):
    return f":{function.__code__.co_firstlineno + offset}"


def by_linen():
    model = Outer()
    params = model.init(jax.random.key(0), X)
    log.clear()
    return jax.jit(model.apply), (params, X), line_of(inspect.unwrap(Inner.encode), 1)


def by_linen_in_a_state():
    model = Outer()
    state = TrainState.create(apply_fn=model.apply, params=model.init(jax.random.key(0), X), tx=optax.sgd(0.1))
    log.clear()
    step = jax.jit(jax.grad(lambda p, s, x: s.apply_fn(p, x).sum()))
    return step, (state.params, state, X), line_of(inspect.unwrap(Inner.encode), 1)


def by_nnx():
    return nnx.jit(lambda net, x: net(x)), (Net(), X), line_of(Net.__call__, 1)


def by_nnx_split():
    graph, state = nnx.split(Net())
    return jax.jit(lambda state, x: nnx.merge(graph, state)(x)), (state, X), line_of(Net.__call__, 1)


def by_equinox():
    return eqx.filter_jit(lambda layer, x: jax.vmap(layer)(x)), (Layer(), X), line_of(Layer.__call__, 1)


def by_equinox_itself():
    return eqx.filter_jit(Layer()), (X[0],), line_of(Layer.__call__, 1)


def by_a_decorator():
    return eqx.filter_jit(Timed(jnp.ones(3))), (X[0],), line_of(timed, 3)


@pytest.mark.behaviour("S1")
@pytest.mark.parametrize(
    "make", [by_linen, by_linen_in_a_state, by_nnx, by_nnx_split, by_equinox, by_equinox_itself, by_a_decorator]
)
def test_a_side_effect_in_a_module_is_reported_where_it_is(make):
    function, arguments, where = make()
    with jdw.capture(check="all") as run:
        function(*arguments)
        function(*arguments)
    (finding,) = run.findings
    assert finding.where.endswith(where)
    assert finding.headline.startswith("`log` changed while ")


@pytest.mark.behaviour("S2")
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: (jax.jit(Scaled().apply), (Scaled().init(jax.random.key(0), X), X)), "pass `gain` as an argument."),
        (lambda: (nnx.jit(scaled), (Net(), X)), "pass `gain` as an argument: `scaled(net, x, gain)`."),
        (lambda: (eqx.filter_jit(lambda one, x: one.scaled(x)), (Layer(), X[0])), "pass `gain` as an argument."),
    ],
    ids=["linen", "nnx", "equinox"],
)
def test_a_global_that_a_module_reads_and_that_has_changed_is_reported(make, says):
    function, arguments = make()
    with jdw.capture(check="all") as run:
        function(*arguments)
        globals().update(gain=3.0)
        function(*arguments)
    (finding,) = run.findings
    assert "cached value 1.0 was used although `gain` is now 3.0" in finding.message
    assert says in finding.message


@pytest.mark.behaviour("S2")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda net: setattr(net, "factor", 3.0), "cached value 1.0 was used although `self.factor` is now 3.0"),
        (
            lambda net: setattr(net.linear, "kernel", nnx.Param(net.linear.kernel[...] * 2)),
            "cached value float32[3, 3] was used although `self.linear.kernel.value` is now another",
        ),
    ],
    ids=["setting", "weights"],
)
def test_a_module_in_a_closure_that_has_changed_is_reported(change, says):
    net = Net()
    function = jax.jit(net.scaled)
    with jdw.capture(check="all") as run:
        function(X)
        change(net)
        function(X)
    (finding,) = run.findings
    assert says in finding.message


@pytest.mark.behaviour("S3")
@pytest.mark.parametrize(
    ("use", "method", "headline"),
    [
        (lambda net, x: net.kept(x), Net.kept, "`self.last` changes a `Net` that was made outside of this trace"),
        (lambda net, x: net.dropped(x), Net.dropped, "changes a `Rng"),
    ],
)
@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())])
def test_a_module_of_another_trace_that_is_changed_is_explained(use, method, headline, transform):
    net = Net()
    with pytest.raises(Exception, match="different trace level"), jdw.capture() as run:
        transform(lambda x: use(net, x))(X)
    (finding,) = run.findings
    assert finding.where.endswith(line_of(method, 1))
    assert headline in finding.headline
    assert "nnx.jit(f)(model, x)" in finding.message


class Cell(eqx.Module):
    weight: jax.Array

    def step(self, carry, x):
        return carry + x * self.weight, None


def test_what_jax_refuses_as_well_is_no_fault_of_ours():
    with pytest.raises(TypeError, match="unhashable"), jdw.capture() as run:
        jax.jit(lambda cell, xs: jax.lax.scan(cell.step, jnp.zeros(3), xs))(Cell(jnp.ones(3)), X)
    assert [finding.kind for finding in run.findings] == ["hashed"]
    assert not any("may be incomplete" in note for note in run.notes)
