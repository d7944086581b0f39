"""Test `jdw.compare(f, x, against="float64")`: it names the line of a program that loses digits."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw


def normalised(x):
    mean = jnp.mean(x)
    square = jnp.mean(x * x)
    var = square - mean * mean
    return (x - mean) / jnp.sqrt(var + 1e-5)


FAR = jnp.asarray(1000 + np.random.default_rng(0).normal(size=32), jnp.float32)


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize(
    ("transform", "x"),
    [
        (jax.jit, FAR),
        (jax.vmap, jnp.stack([FAR, FAR])),
        (jax.checkpoint, FAR),
        (lambda f: jax.grad(lambda x: f(x).sum()), FAR),
    ],
    ids=["jit", "vmap", "checkpoint", "grad"],
)
def test_the_line_of_a_cancellation_is_named(transform, x):
    found = jdw.compare(transform(normalised), x, against="float64")
    assert not found.close
    assert found.worst.equation.names == ("var",)
    assert found.worst.equation.source.line == normalised.__code__.co_firstlineno + 3
    assert found.worst.born >= 1e5 and round(found.worst.digits) == 6
    assert "`var = square - mean * mean` loses 6 digits: relative error 0.078, × 1.3e+06" in str(found).splitlines()[0]


def overflowing(x):
    e = jnp.exp(x)
    return e / jnp.sum(e)


@pytest.mark.behaviour("G1")
def test_an_overflow_is_reported_with_what_float64_has():
    found = jdw.compare(overflowing, jnp.array([100.0, 1.0, 2.0]), against="float64")
    assert found.worst.equation.names == ("e",) and found.worst.growth == math.inf
    assert found.headline == "`e = jnp.exp(x)` gives inf where float64 has 2.69e+43"


def unguarded(x):
    mean = jnp.mean(x)
    var = jnp.mean(x * x) - mean * mean
    return (x - mean) / jnp.sqrt(var)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, lambda f: jax.grad(lambda x: f(x).sum())])
def test_a_nan_caused_by_lost_digits_names_the_line_that_loses_them(transform):
    x = jnp.array([10000.1, 10000.2, 10000.3], jnp.float32)
    found = jdw.compare(transform(unguarded), x, against="float64")
    assert found.worst.equation.names == ("var",)
    assert found.headline.startswith("`var = jnp.mean(x * x) - mean * mean` loses all digits: relative error ")
    assert "; from it `return (x - mean) / jnp.sqrt(var)` gives nan where float64 has 0.08" in found.headline
    assert found.broken.equation.primitive == "sqrt" and found.broken.follows


def test_lost_digits_elsewhere_are_not_the_cause_of_an_overflow():
    def f(x, y):
        lost = jnp.sum(x + 1e8) - 1e8 * 3
        return lost, jnp.exp(y), jnp.exp(100 * (y + lost))

    found = jdw.compare(f, jnp.ones(3), jnp.array(100.0), against="float64")
    assert found.headline == "`return lost, jnp.exp(y), jnp.exp(100 * (y + lost))` gives inf where float64 has 2.69e+43"
    assert found.worst is found.broken and found.worst.equation.primitive == "exp" and not found.worst.follows


def test_findings_and_equations_have_a_short_repr():
    found = jdw.compare(normalised, FAR, against="float64")
    assert repr(found.worst).startswith("<Rounding var: float32[] = sub square mul_")
    equations = jdw.graph(normalised, FAR).find("= sqrt ")
    assert len(equations) == 1 and repr(equations).startswith("[<Equation sqrt_1: float32[] = sqrt ")
    assert len(repr(found.worst)) < 200 and len(repr(equations)) < 200


def chaotic(x, times):
    def body(value, _):
        value = 3.9 * value * (1 - value)
        return value, value

    return lax.scan(body, x, length=times)


@pytest.mark.behaviour("G1")
def test_the_first_step_of_a_loop_beyond_the_tolerance_is_named():
    found = jdw.compare(lambda x: chaotic(x, 100), 0.3, against="float64")
    assert not found.close
    (step,), steps = found.first.first, 0
    narrow, wide, expected = np.float32(0.3), float(np.float32(0.3)), None
    while expected is None:
        rest, exact = np.float32(1) - narrow, 1 - wide
        expected = steps if abs(rest - exact) > 2 * 16 * 2.0**-23 * exact else None
        narrow, wide = np.float32(3.9) * narrow * rest, float(np.float32(3.9)) * wide * exact
        steps += 1
    assert step == expected
    assert "beyond the tolerance first, at step " in str(found)


@pytest.mark.behaviour("G1")
def test_float32_decides_for_both_and_what_float64_would_decide_is_counted():
    def decided(x):
        big = x + 1e8
        return jnp.where(big - 1e8 > 0.5, x, -x)

    found = jdw.compare(decided, jnp.array([1.0, 2.0, 300.0]), against="float64")
    assert found.close
    assert sum(one.otherwise for one in found.roundings) == 2
    assert "2 decided otherwise in float64" in str(found)


def mixed(x):
    h = (x @ x.T).astype(jnp.bfloat16)
    return jnp.sum(h.astype(jnp.float32))


def solved(x):
    return jnp.linalg.solve(x @ x.T + jnp.eye(4), x)


def branching(x):
    y = lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x)
    return lax.while_loop(lambda s: s[0, 0] < 2, lambda s: s * 1.5 + 0.1, y)


def drawn(x):
    return x * jax.random.normal(jax.random.key(0), x.shape) + jax.random.uniform(jax.random.key(1), x.shape)


def drawn_by_a_primitive(x):
    return x * jax.random.gamma(jax.random.key(0), jnp.float32(1.5), x.shape)


def looked_up(x):
    return jax.grad(lambda table: jnp.sum(jnp.sort(table[jnp.array([0, 2, 2])]) ** 2))(x)


def printing(x):
    jax.debug.callback(lambda _: None, x)
    return jnp.cumsum(x)


def activated(x):
    return jax.grad(lambda x: jax.nn.gelu(x).sum())(x)


X = jnp.asarray(np.random.default_rng(1).normal(size=(4, 3)), jnp.float32)


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("f", [solved, branching, drawn, drawn_by_a_primitive, looked_up, printing, activated])
def test_a_program_that_is_well_conditioned_is_close_and_all_of_it_is_followed(f):
    found = jdw.compare(f, X, against="float64")
    jax.effects_barrier()
    assert found.close, found
    assert found.headline == "the outputs are within the tolerance"
    assert not any("Not run in float64" in note for note in found.notes)
    assert {one.figures[0].verdict for one in found.roundings if one.figures} <= {"equal", "close"}


@pytest.mark.behaviour("G1")
def test_a_cast_to_bfloat16_is_the_line_that_loses_digits():
    found = jdw.compare(mixed, X, against="float64")
    assert found.worst.equation.primitive == "convert_element_type"
    assert found.headline.startswith("`h = (x @ x.T).astype(jnp.bfloat16)` loses 4 digits")


def test_a_loop_too_long_for_single_steps_runs_as_a_whole_and_that_is_reported():
    found = jdw.compare(lambda x: chaotic(x, 200_000)[0] * 0 + x, 0.5, against="float64")
    assert found.close
    assert any("ran as a whole" in note for note in found.notes)


def test_the_rows_are_a_frame_and_a_table():
    pytest.importorskip("pandas")
    found = jdw.compare(normalised, FAR, against="float64")
    frame = found.to_pandas()
    assert len(frame) == len(found.roundings)
    assert frame.loc[frame["born"].idxmax(), "name"] == "var"
    assert "var = square - mean * mean" in found._repr_html_()
    assert not jax.config.jax_enable_x64


@pytest.mark.behaviour("G1")
def test_the_magic_compares_one_function_with_float64(ours):
    ours.run("def f(x):\n    y = x + 1e6\n    return y - 1e6")
    shown = ours.run("%jaxdebug compare f -- jnp.full(3, 0.3) --against float64").value
    assert shown.splitlines()[0].startswith("f against float64: `return y - 1e6` loses")


def kept_in_a_ref(x):
    seen = jax.new_ref(jnp.zeros(3))

    def step(i, total):
        seen[i] = total * 2
        return total + seen[...].sum()

    total = lax.fori_loop(0, 3, step, x)
    return jnp.log1p(total), seen[...]


def test_a_ref_is_written_to_once_and_a_note_counts_its_uses():
    found = jdw.compare(jax.jit(kept_in_a_ref), jnp.float32(0.5), against="float64")
    assert found.close
    assert any("Not run in float64" in note and "new_ref (1), swap (3), get (4)" in note for note in found.notes)


@pytest.mark.parametrize("against", ["float64", "op-by-op"])
def test_a_function_that_turns_on_64_bits_by_itself_is_compared(against):
    def f(x):
        with jax.enable_x64(True):
            y = x.astype(jnp.float64)
            return lax.fori_loop(0, 3, lambda _, one: one * y, y), jnp.arange(3)

    assert "DIFFERS" not in str(jdw.compare(f, jnp.arange(3.0), against=against))
    assert not jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]


def residual(x):
    rest = jnp.sum(x - jnp.mean(x))
    return rest * 3, jnp.sqrt(rest**2)


@pytest.mark.behaviour("G1")
def test_an_error_where_float64_has_0_is_relative_to_the_numbers_that_cancel():
    found = jdw.compare(residual, jnp.linspace(0.1, 7.3, 1000), against="float64")
    assert found.close
    assert all(math.isfinite(one.error) and one.error < 1e-5 for one in found.roundings)
    assert "but where float64 has 0 the program has" in found.headline
    assert "of the numbers that cancel to 0" in str(found)


def test_a_number_made_of_a_zero_is_compared_as_itself():
    found = jdw.compare(
        lambda x: jnp.log(jnp.abs(residual(x)[0]) + 1e-30), jnp.linspace(0.1, 7.3, 1000), against="float64"
    )
    assert not found.close
    assert "jnp.log" in found.headline


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("mask", [-1e9, -np.inf])
def test_digits_that_were_lost_before_a_mask_are_not_lost_behind_it(mask):
    def f(q, k):
        scores = (q @ k.T + 1e4) - 1e4
        return jax.nn.softmax(jnp.where(jnp.tri(6, dtype=bool), scores, mask))

    found = jdw.compare(f, *np.float32(np.random.default_rng(0).normal(size=(2, 6, 4))), against="float64")
    assert found.worst.equation.names == ("scores",)
    assert all(one.growth < 10 for one in found.roundings if one is not found.worst), found


SUMS_TO_ZERO = {
    "scatter-add": lambda a, b: jnp.zeros(2).at[jnp.array([0, 0, 1])].add(jnp.stack([a, -b, 0.0 * a])),
    "reduce_window_sum": lambda a, b: lax.reduce_window(jnp.stack([a, -b]), 0.0, lax.add, (2,), (1,), "VALID"),
    "conv_general_dilated": lambda a, b: jnp.convolve(jnp.stack([a, b]), jnp.array([1.0, -1.0]), "valid"),
}


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("f", SUMS_TO_ZERO.values(), ids=SUMS_TO_ZERO)
def test_a_sum_that_is_zero_but_for_rounding_loses_no_digits(f):
    def both(x):
        return f(jnp.cumsum(x)[-1], jnp.cumsum(x[::-1])[-1])

    x = np.float32(np.random.default_rng(1).uniform(size=301))
    found = jdw.compare(both, x, against="float64")
    assert all(one.growth < 1e4 for one in found.roundings), found
