"""Test an impure host function under `vmap`: its calls are recorded in their order, lane by lane."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

import jax_debug_widgets as jdw

SHAPE = jax.ShapeDtypeStruct((), jnp.float32)


class Generator:
    """A stream of random numbers: host state that JAX does not know of."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.drawn = []

    def __call__(self, lane) -> np.float32:
        self.drawn.append((int(lane), np.float32(self.rng.normal())))
        return self.drawn[-1][1]


CALLS = {
    "io_callback": lambda draw: lambda lane: io_callback(draw, SHAPE, lane),
    "pure_callback": lambda draw: lambda lane: jax.pure_callback(draw, SHAPE, lane, vmap_method="sequential"),
    "unrolled": lambda draw: lambda lane: jax.pure_callback(draw, SHAPE, lane, vmap_method="sequential_unrolled"),
}


@pytest.mark.behaviour("C4")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("call", CALLS)
def test_the_calls_are_reported_in_order_with_the_lane_and_number_that_each_drew(call, wrap):
    plain, captured = Generator(), Generator()
    expected = wrap(jax.vmap(CALLS[call](plain)))(jnp.arange(4)).tolist()
    with jdw.capture() as run:
        numbers = wrap(jax.vmap(CALLS[call](captured)))(jnp.arange(4)).tolist()
        jax.effects_barrier()
    assert numbers == expected
    assert captured.drawn == plain.drawn
    assert [int(event.args[0]) for event in run.events] == [lane for lane, _ in plain.drawn]
    assert [one.result[0].item() for one in run.callbacks.calls] == [number.item() for _, number in plain.drawn]
    starts = [one.started_ns for one in run.callbacks.calls]
    assert starts == sorted(starts)
    if call != "unrolled":
        assert [(event.lane, event.step) for event in run.events] == [((lane,), ()) for lane in range(4)]
        assert run.to_pandas().lane.tolist() == [(0,), (1,), (2,), (3,)]


@pytest.mark.behaviour("C4")
@pytest.mark.parametrize("call", ["io_callback", "pure_callback"])
def test_lanes_that_jax_calls_for_one_by_one_are_lanes_and_no_steps(call):
    draw = CALLS[call](np.float32)

    def of_row(x):
        return lax.scan(lambda total, y: (total + draw(x + y), None), 0.0, jnp.arange(3.0) * 100)[0]

    with jdw.capture() as run:
        jax.jit(jax.vmap(jax.vmap(of_row), in_axes=1))(jnp.arange(6.0).reshape(2, 3))
        jax.effects_barrier()
    assert len(run.events) == 18
    for event in run.events:
        step, (column, row) = int(event.args[0]) // 100, event.lane
        assert event.args[0] == step * 100 + row * 3 + column
        assert (event.step, event.occurrence) == ((step,), step)
    assert run.to_pandas().lane.tolist() == [event.lane for event in run.events]
    assert run.calls[0].state == "drained" and not run.findings


@pytest.mark.behaviour("C4")
@pytest.mark.parametrize("call", ["io_callback", "pure_callback"])
def test_unmapped_calls_under_vmap_have_no_lanes_and_keep_their_steps(call):
    """A `vmap` over tangents, as in `jacfwd`, does not map the values of `jax.jvp`: one call serves all lanes."""
    draw, called = CALLS[call], []

    @jax.custom_jvp
    def host(x):
        return draw(lambda x: (called.append(float(x)), np.float32(x) / 2)[1])(x)

    @host.defjvp
    def _(primals, tangents):
        return host(*primals), tangents[0] / 2

    def halved(x):
        return lax.scan(lambda c, _: (jnp.sin(host(c)), None), x, length=3)[0]

    with jdw.capture() as run:
        jax.jit(jax.jacfwd(halved))(4.0)
        jax.effects_barrier()
    assert [float(event.args[0]) for event in run.events] == called
    assert [(event.step, event.lane) for event in run.events] == [((i,), ()) for i in range(3)]


@pytest.mark.behaviour("C4")
def test_two_generators_in_one_vmap_do_not_mix():
    one, two = Generator(), Generator()

    def f(lane):
        return io_callback(one, SHAPE, lane) + io_callback(two, SHAPE, lane)

    with jdw.capture() as run:
        jax.jit(jax.vmap(f))(jnp.arange(3))
        jax.effects_barrier()
    lanes = {site.id: [int(e.args[0]) for e in run.events if e.site == site] for site in run.sites}
    assert len(run.sites) == 2
    assert list(lanes.values()) == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.behaviour("C4")
@pytest.mark.parametrize("method", ["sequential", "expand_dims"])
def test_calls_in_the_condition_of_a_vmapped_while_have_no_wrong_step(method):
    """JAX calls twice in an iteration, once for all lanes and once for each; the second call starts no iteration."""
    asked = []

    def host(x):
        asked.append(np.asarray(x).tolist())
        return np.float32(x)

    def f(x):
        return lax.while_loop(lambda y: jax.pure_callback(host, SHAPE, y, vmap_method=method) < 3, lambda y: y + 1, x)

    program = jax.jit(jax.vmap(f))
    plain = program(jnp.zeros(2)).tolist()
    expected, asked[:] = asked[:], []
    with jdw.capture() as run:
        assert program(jnp.zeros(2)).tolist() == plain
    assert asked == expected
    values = [(event.step, np.max(event.args[0])) for event in run.events]
    assert {step for step, _ in values if step} == {(number,) for number in range(4)}
    assert all(step in ((int(value),), ()) for step, value in values)


def sine(lane):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), jnp.float32), lane, vmap_method="sequential_unrolled")


X = jnp.arange(6.0).reshape(2, 3)
APART = {
    "one": (jax.vmap(sine), X[0]),
    "two": (jax.vmap(jax.vmap(sine)), X),
    "other axis": (jax.vmap(jax.vmap(sine), in_axes=1), X),
    "computed": (lambda x: jax.vmap(sine)(jnp.sin(x) + 1), X[0]),
    "called": (jax.jit(jax.vmap(sine)), X[0]),
    "scan": (lambda x: lax.scan(lambda c, row: (c, jax.vmap(sine)(row)), 0.0, x)[1], X),
}


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("name", APART)
def test_lanes_whose_calls_stand_beside_each_other_are_reported(name):
    function, x = APART[name]
    taken = {"computed": np.sin(x) + 1}.get(name, x)
    with jdw.capture() as run:
        result = jax.jit(function)(x)
    np.testing.assert_allclose(result.ravel().sum(), np.sin(taken).sum(), rtol=1e-5)
    lanes = [(float(event.args[0]), event.lane) for event in run.events]
    if name == "scan":
        assert sorted(lanes) == [(float(x[i, j]), (j,)) for i in range(2) for j in range(3)]
    else:
        order = np.moveaxis(taken, 0, 1) if name == "other axis" else np.asarray(taken)
        assert sorted(lanes, key=lambda one: one[1]) == [
            (pytest.approx(float(order[lane])), lane) for lane in np.ndindex(order.shape)
        ]


ALIKE = {
    "broadcast": lambda x: jnp.broadcast_to(x, (3,)),
    "constant": lambda _: jnp.ones(3),
    "of both": lambda x: jnp.broadcast_to(x, (3,)) + jnp.zeros(3),
    "doubled": lambda x: jnp.broadcast_to(x, (3,)) * 2,
}


@pytest.mark.parametrize("name", ALIKE)
def test_lanes_that_xla_may_merge_are_called_as_often_as_without_us_and_are_not_reported(name):
    calls = []

    def host(x):
        calls.append(float(x))
        return x

    def call(x):
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x, vmap_method="sequential_unrolled")

    function = jax.jit(lambda x: jax.vmap(call)(ALIKE[name](x)))
    jax.block_until_ready(function(jnp.float32(2.0)))
    plain, calls[:] = calls[:], []
    with jdw.capture() as run:
        jax.block_until_ready(function(jnp.float32(2.0)))
    assert calls == plain
    assert len(plain) == 1
    assert [event.lane for event in run.events] == [()]
