"""Test that a finding of NaN or infinity names the lane in which it came first."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session import snapshot_of
from jax_debug_widgets.watch.choosing import lane_ranks
from jax_debug_widgets.watch.choosing.lane_ranks import LaneValue, first_bad_lanes


def root(x):
    n2 = jnp.sqrt(x)
    return n2 * 2


def in_loop(x):
    def step(h, _):
        h = h - 1
        n2 = jnp.sqrt(h)
        return h, n2.sum()

    return lax.scan(step, x, length=4)[1]


def slope(x):
    def loss(x):
        n2 = (x * x).sum()
        return jnp.sqrt(n2)

    return jax.grad(loss)(x)


def product(x):
    n2 = jnp.log(x @ jnp.eye(3))
    return n2.sum()


def slope_of_constants(x):
    def loss(x):
        ref = jax.new_ref(jnp.zeros_like(x))
        n2 = jnp.sin(x)
        ref[...] = n2
        return (ref[...] * np.float32(np.nan)).sum()

    return jax.grad(loss)(x)


LANES = np.full((5, 3), 9, np.float32)
LANES[3, 1] = -1
ZEROS = np.where(LANES < 0, 0, LANES) * (np.arange(5) != 3)[:, None]
BOTH = np.full((4, 5, 3), 9, np.float32)
BOTH[2, 3, 1] = -1
CASES = {
    "a number a lane": (jax.vmap(root), LANES[:, 1], (3,), 0),
    "an array a lane": (jax.vmap(root), LANES, (3,), 0),
    "lanes that come last": (jax.vmap(root, 1, 1), LANES.T, (3,), 0),
    "several at once": (jax.vmap(root), np.float32([1, -1, 4, -1]), (1,), 0),
    "nested": (jax.vmap(jax.vmap(root)), BOTH, (2, 3), 0),
    "nested the other way": (jax.vmap(jax.vmap(root), 1, 1), BOTH[:, :, :2], (3, 2), 0),
    "in a loop": (jax.vmap(in_loop), np.where(LANES < 0, 2.5, LANES), (3,), 2),
    "a loop around": (lambda x: lax.map(jax.vmap(root), x), BOTH, (3,), 2),
    "a gradient": (jax.vmap(slope), ZEROS, (3,), 0),
    "jitted inside": (jax.vmap(jax.jit(root)), LANES, (3,), 0),
    "checkpointed": (jax.vmap(jax.checkpoint(root)), LANES, (3,), 0),
    "matrix products": (jax.vmap(product), LANES, (3,), 0),
    "bfloat16": (lambda x: jax.vmap(root)(x.astype(jnp.bfloat16)), LANES, (3,), 0),
    "complex": (jax.vmap(lambda x: root(jnp.where(x < 0, jnp.nan, x).astype(jnp.complex64))), LANES, (3,), 0),
    "computed of constants": (jax.vmap(slope_of_constants), np.ones(5, np.float32), (0,), 0),
    "no lanes": (root, LANES, (), 0),
}


MORE = {"lanes": True, "values": True, "histograms": True}
TRIED = [*((case, {}) for case in CASES), ("an array a lane", MORE), ("nested", MORE), ("a gradient", MORE)]


@pytest.mark.parametrize(("case", "options"), TRIED, ids=str)
def test_a_finding_names_the_lane(case, options, watched):
    function, x, lane, step = CASES[case]
    run = watched(jax.jit(function), x, **options)
    (finding,) = [one for one in run.findings if one.kind == "nonfinite"]
    assert finding.lane == lane, finding
    (site,) = {event.site.id: event.site for event in run.events if event.seq == finding.event}.values()
    assert site.watch.name in ("n2", "x") and run.events[finding.event].step in ((), (step,))
    words = f"lane {lane[0]}" if len(lane) == 1 else f"lane {lane}"
    named = f", {words} (event" if lane and step else words
    assert (named in finding.message) == bool(lane)
    assert run.status().first_nonfinite.lane == lane


def test_the_overview_and_the_saved_notebook_name_the_lane(watched):
    run = watched(jax.jit(jax.vmap(in_loop)), np.where(LANES < 0, 2.5, LANES))
    (fact,) = [fact for fact in snapshot_of(run).facts if fact.label == "First NaN"]
    assert fact.note.endswith("step 2, lane 3")
    assert "lane 3" in run.panel.bundle()["text/html"] and "lane 3" in run.report()


def test_the_lane_of_a_check_is_a_field():
    with jdw.capture(check="nonfinite") as run:
        jax.jit(jax.vmap(root))(LANES)
    assert [finding.lane for finding in run.findings] == [(3,)]


def test_a_lane_of_nested_vmaps_is_called_alike_everywhere():
    with jdw.capture(watch=True, check="nonfinite") as run:
        jax.jit(jax.vmap(jax.vmap(root)))(jnp.ones((2, 3)).at[1, 2].set(-1))
    jax.effects_barrier()
    bad = next(event for event in run.events if event.seq == run.status().first_nonfinite.event)
    for text in (run.findings[0].message, snapshot_of(run).first_nonfinite, bad.text):
        assert "lane (1, 2)" in text, text
    assert all("bad" not in event.text for event in run.events if event.site.label == "x")


def test_the_lane_of_a_print_is_a_field():
    def told(x):
        jax.debug.print("{x}", x=jnp.sqrt(x))
        return x

    with jdw.capture() as run:
        jax.vmap(told)(LANES[:, 1])
    assert [finding.lane for finding in run.findings] == [(3,)]


def test_an_intended_infinity_has_no_finding_with_a_lane(watched):
    def masked(x):
        scores = jnp.where(x > 5, x, -jnp.inf)
        worst = jnp.log(x)
        return scores, worst

    x = np.float32([[9, 9], [9, 1], [9, 9], [0, 9]])
    run = watched(jax.jit(jax.vmap(masked)), x)
    assert [(finding.site.watch.name, finding.lane) for finding in run.findings] == [("worst", (3,))]
    np.testing.assert_array_equal(run["worst"]["bad lane"], [3])


def test_results_are_the_same_to_the_bit(same_bits):
    x = jax.random.normal(jax.random.key(0), (16, 40))
    f = jax.jit(jax.vmap(lambda x: jnp.tanh(in_loop(x * x + 9)) / root(x * x).sum()))
    plain = f(x)
    with jdw.capture(watch=True):
        assert same_bits(f(x), plain)


def lane_by_numpy(value):
    """Return the number of the first lane with a NaN, else with an infinity that is not intended, else -1."""
    array = np.moveaxis(np.asarray(value.array).astype(np.complex128), value.axes, range(len(value.axes)))
    array = array.reshape(np.prod(array.shape[: len(value.axes)]), -1)
    infinite = np.isinf(array)
    for name, sign in (("posinf", np.inf), ("neginf", -np.inf)):
        infinite &= (array != sign) if name in value.intended else True
    bad = [np.flatnonzero(kind.any(1)) for kind in (np.isnan(array), infinite)]
    return next((one[0] for one in bad if len(one)), -1)


def test_the_lanes_of_many_values_are_those_of_each(monkeypatch):
    monkeypatch.setattr(lane_ranks, "_SMALL", 1000)  # Some lanes are then examined one by one.
    rng = np.random.default_rng(0)
    shapes = [
        ((7,), (0,)),
        ((5, 60), (1,)),
        ((3, 4, 50), (0, 2)),
        ((4, 3, 6), (2, 0)),
        ((130,), (0,)),
        ((50, 60), (0,)),
    ]
    values, dtypes = [], itertools.cycle([np.float32, jnp.bfloat16, np.float32, np.complex64, np.float64])
    for (shape, axes), bad in itertools.product(shapes, [[], [np.nan], [np.inf, -np.inf], [np.nan, np.inf]]):
        array = (1e-10 + rng.normal(size=shape)).astype(dtype := next(dtypes))
        array = array * 1e300 if dtype == np.float64 else array  # float32 has no such number.
        array.reshape(-1)[rng.integers(array.size, size=3 * len(bad))] = np.array(bad * 3)
        values.append(LaneValue(array, axes, ("neginf",) if dtype == jnp.bfloat16 else ()))
    with jax.enable_x64(True):
        arrays = [one.array for one in values]
        found = jax.jit(
            lambda *arrays: first_bad_lanes(
                [one._replace(array=array) for one, array in zip(values, arrays, strict=True)]
            )
        )
        assert found(*arrays).tolist() == [lane_by_numpy(one) for one in values]


def test_many_small_values_take_as_many_reductions_as_two():
    def reductions(count):
        arrays = [jnp.ones((8, 3 + number)) for number in range(count)]
        program = jax.make_jaxpr(lambda *arrays: first_bad_lanes([LaneValue(one, (0,), ()) for one in arrays]))(*arrays)
        return [one.primitive.name for one in program.eqns if one.primitive.name.startswith("reduce")]

    assert len(reductions(20)) == len(reductions(2)) == 2


def until_small(x):
    def body(c):
        root = jnp.sqrt(c - 1.5)
        return c - 1 + 0 * jnp.where(c > 1.5, root, 0)

    return lax.while_loop(lambda c: c > 1.6, body, x)


def four_times(x):
    def body(carry):
        i, c = carry
        root = jnp.sqrt(c)
        return i + 1, root - 9

    return lax.while_loop(lambda carry: carry[0] < 4, body, (0, x))[1]


@pytest.mark.parametrize(
    ("function", "x", "has_ended"),
    [
        (jax.vmap(until_small), np.float32([2.4, 6]), True),
        (until_small, np.float32(np.nan), False),
        (jax.vmap(four_times), np.float32([2.4, 6]), False),  # Here all lanes end together.
    ],
)
def test_a_finding_says_that_it_counts_lanes_that_have_left_their_loop(function, x, has_ended, watched):
    run = watched(jax.jit(function), x)
    assert any("root" in note and "have left their loop" in note for note in run.notes) == has_ended
    told = [finding.message for finding in run.findings if finding.kind == "nonfinite"]
    assert told and all(("lanes that had already left the `while_loop`" in one) == has_ended for one in told)
