"""Test `verify`: whether watching changes a bit of the results, and what it will cost."""

from __future__ import annotations

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.studies.verification import differences_of
from jax_debug_widgets.watch.choosing.price import expected_slowdown
from tests.benchmarks import gpu

X = jnp.asarray(np.random.default_rng(0).normal(size=(32, 16)).astype(np.float32))


@jax.jit
def layer(w, x):
    h = jnp.tanh(x @ w)
    total = (h**2).sum()
    return h, total


def test_a_call_is_verified_against_the_unwatched_program():
    w = X[:16] / 4
    found = jdw.verify(layer, w, x=X)
    assert found.equal and found.arrays == 2 and found.slowdown > 0
    np.testing.assert_array_equal(found.result[0], layer(w, X)[0])
    assert found.run["h"]["l2"].size == 3  # the first call compiles, two are measured
    # Measured costs are shown instead of an estimate.
    notes = found.run.status().notes
    assert str(found) in notes and not any("are expected to take" in note for note in notes)
    assert "all 2 arrays of the result are bitwise equal" in str(found)


def test_the_report_of_verify_explains_its_three_calls():
    assert "The run has three watched calls: the first compiles" in str(jdw.verify(layer, X[:16], X))


def test_prints_are_captured_on_both_sides_of_the_comparison_of_times(capsys):
    @jax.jit
    def f(x):
        y = x * 2
        jax.debug.print("y {y}", y=y.sum())
        jax.debug.callback(lambda y: print("called", y), y.sum())
        return y

    found = jdw.verify(f, X)
    out = capsys.readouterr().out
    # The user's functions run in all programs; prints go to the run, also in the comparison with plain JAX.
    assert "y " not in out and out.count("called") == 7
    assert [event.kind for event in found.run.events].count("print") == 3
    assert len(found.run.calls) == 3


def test_verify_keeps_no_unread_firings():
    @jax.jit
    def f(x):
        y = jax.pure_callback(np.sin, x, x)
        jax.debug.print("y {y}", y=y)
        return y

    assert jdw.verify(f, X[0]).equal
    with pytest.raises(RuntimeError, match="not now"):
        jdw.verify(lambda x: (f(x), jax.effects_barrier(), _refuse()), X[0])
    capture = current_session().capture
    for box in (capture.box(number) for number in capture.boxes if number < 0):
        assert not box.firings and not box.outcomes.inbox and not box.outcomes.staged


def _refuse():
    raise RuntimeError("not now")


def test_donated_arguments_and_keys_stay():
    step = jax.jit(lambda x, key: (x + jax.random.normal(key, x.shape), jax.random.split(key)[0]), donate_argnums=0)
    x, key = X * 1, jax.random.key(0)
    found = jdw.verify(step, x, key, options={"watch": "*"})
    assert found.equal and found.arrays == 2
    assert not x.is_deleted()


def test_verify_reports_that_a_program_is_not_deterministic():
    numbers = iter(range(100))

    @jax.jit
    def f(x):
        number = jax.pure_callback(lambda: np.float32(next(numbers)), jax.ShapeDtypeStruct((), jnp.float32))
        y = x + number
        return {"first": x * 1, "y": y}

    found = jdw.verify(f, X[0])
    assert not found.equal and not found.repeats
    assert [one.path for one in found.differences] == ["['y']"]
    assert "did not give the same twice either" in str(found)


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (np.float32([1, 2, 4]), np.nextafter(np.float32([1, 2, 4]), np.float32([1, 9, 4])), (1, 3, 2.0**-22, 1)),
        (np.float32([0.0]), np.float32([-0.0]), (1, 1, 0.0, 0)),
        (np.float32([-1e-45]), np.float32([1e-45]), (1, 1, 2.8e-45, 2)),
        (np.int32([5, 6]), np.int32([5, 9]), (1, 2, 3.0, None)),
        (np.float32([np.nan, 1]), np.float32([0, 1]), (1, 2, np.nan, None)),
        (jnp.bfloat16([1.0]), jnp.bfloat16([1.0078125]), (1, 1, 0.0078125, 1)),
    ],
)
def test_the_difference_of_results_has_count_size_and_ulps(one, other, wanted):
    (found,) = differences_of([np.zeros(2), one], [np.zeros(2), other])
    assert found.path == "[1]"
    assert (found.count, found.size, found.ulp) == (wanted[0], wanted[1], wanted[3])
    np.testing.assert_allclose(found.largest, wanted[2], rtol=0.02)
    assert not differences_of([one], [one])


def test_tokens_are_not_compared():
    one, other = lax.create_token(), lax.create_token()
    assert not differences_of([one, X], [other, X])
    assert [found.path for found in differences_of([one, X], [other, X + 1])] == ["[1]"]


@pytest.mark.parametrize("sign", [np.float32(-1), np.complex128(-1), np.float64(-1)])
def test_a_nan_is_a_nan_whatever_its_bits(sign):
    one = np.array([np.nan, 1], sign.dtype)
    other = one.copy()
    other.view(f"u{one.real.itemsize}")[0] ^= 1  # This changes the payload of a NaN.
    assert one.tobytes() != other.tobytes() and not differences_of([one], [other])
    assert not differences_of([one[0]], [other[0]])
    (found,) = differences_of([one], [other + sign])
    assert (found.count, found.largest) == (1, 1.0)
    (found,) = differences_of([one], [np.ones_like(one)])
    assert "1 of 2 elements differ, some of them NaN in one of the two only" in str(found)


def test_results_that_differ_are_reported_with_the_first():
    """The watched program is made to differ: which real programs XLA changes depends on its version."""

    @jax.jit
    def f(x):
        y = x * 3
        return x, y

    is_watched = iter([False, False, True, False, True, False, True])

    def moved_when_watched(x):
        x, y = f(x)
        return x, np.nextafter(np.asarray(y), np.inf) if next(is_watched) else np.asarray(y)

    found = jdw.verify(moved_when_watched, X)
    assert not found.equal and found.repeats
    assert str(found).startswith(
        "Not bitwise equal to the unwatched program. First result[1]: 512 of 512 elements differ"
    )
    assert "1 ulp" in str(found) and str(found) in found.run.status().notes


@pytest.mark.behaviour("W3")
def test_the_cost_of_watching_is_estimated_before_the_program_runs():
    """Watching costs little beside matrix products, and more beside elementwise operations."""

    def products(x):
        def step(c, _):
            c = jnp.tanh(c @ c)
            return c, None

        return lax.scan(step, x, length=50)[0]

    def elements(x):
        def step(c, _):
            c = c * 1.01
            return c, None

        return lax.scan(step, x, length=50)[0]

    large = jnp.zeros((256, 256))
    told = {}
    for name, f, every in (("products", products, 1), ("elements", elements, 1), ("tenth", elements, 10)):
        began = []

        def program(x, f=f, began=began):
            jax.debug.callback(lambda: began.append(list(run.status().notes)))
            return f(x)

        with jdw.capture(watch=True, every=every) as run:
            jax.block_until_ready(jax.jit(program)(large))
        (note,) = [note for note in began[0] if "are expected to take" in note]
        assert "kB a step" in note and "an estimate" in note
        watch = run.options.watch
        assert watch is not None
        seen = run.watch_seen()
        assert seen is not None
        told[name] = expected_slowdown({seen.works[site.id] for site in run.watched})
        assert f" {told[name]:.2g} times as long" in note
    assert 1 < told["products"] < told["elements"]
    assert 1 < told["tenth"] < told["elements"]


@pytest.mark.behaviour("W3")
def test_the_estimated_cost_without_numba_is_higher_and_names_the_extra(monkeypatch):
    price = importlib.import_module("jax_debug_widgets.watch.choosing.price")
    large = jnp.zeros((256, 256))
    notes, expected = [], []
    for target in ("a custom call", None):
        monkeypatch.setattr(price, "native_target", lambda target=target: target)
        with jdw.capture(watch=True) as run:
            jax.jit(lambda x: layer(x, x))(large)
        seen = run.watch_seen()
        assert seen is not None
        expected.append(expected_slowdown({seen.works[site.id] for site in run.watched}))
        notes += [note for note in run.status().notes if "are expected to take" in note]
    assert 1 < expected[0] < expected[1]
    assert ["jax-debug-widgets[fast]" in note for note in notes] == [False, True]


def add_and_keep(add, made):
    """`CostEstimate.add` that also keeps the estimate."""

    def kept(self, *args):
        made.append(self)
        return add(self, *args)

    return kept


@pytest.mark.parametrize(
    ("options", "measured"), [({"watch": True}, 1.14), ({"ops": True}, 2.0), ({"watch": "h"}, 1.03)]
)
def test_on_a_gpu_the_estimate_is_near_what_was_measured(options, measured, monkeypatch):
    """An H200 has measured these ratios, for the unrolled transformer of the benchmark."""
    price = importlib.import_module("jax_debug_widgets.watch.choosing.price")
    monkeypatch.setattr(price, "cuda_target", lambda: "a custom call")
    of_h200 = price._rates_of_gpu(4.3e12)
    monkeypatch.setattr(price, "_rates_of_cpu", lambda: of_h200)
    step, weights, batch = gpu.trained(gpu.LARGE["C"])
    made = []
    monkeypatch.setattr(price.CostEstimate, "add", add_and_keep(price.CostEstimate.add, made))
    with jdw.capture(**options):
        step.lower(weights, batch)
    works = set(made)
    assert measured / 1.5 < expected_slowdown(works) < measured * 1.5
    assert 2.7e6 / 1.5 < max(one.plain for one in works) < 2.7e6 * 1.5, "nanoseconds of a plain step"
