"""Test casts to integers that cannot represent the numbers, and `nanargmin` of NaNs alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.checks import Kind, device


def to_bytes(x):
    return x.astype(jnp.uint8)


def in_a_loop(x):
    return lax.scan(lambda c, _: (c * 2, c.astype(jnp.int8)), x, None, length=4)[1]


PROGRAMS = {
    "jit": (to_bytes, jnp.arange(254.0, 258.0), "2 values do not fit uint8, the first is 256"),
    "vmap": (jax.vmap(to_bytes), jnp.array([1.0, jnp.nan]), "1 value does not fit uint8, the first is NaN, lane 1"),
    "scan": (in_a_loop, jnp.float32(50.0), "2 values do not fit int8, the first is 200, step 2"),
    "negative": (to_bytes, jnp.float32(-1.0), "the first is -1"),
    "large": (lambda x: x.astype(jnp.int32), jnp.float32(2.0**31), "the first is 2.14748365e+09"),
}


@pytest.mark.behaviour("S13")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_lossy_cast_has_a_finding_with_count_and_first_value(name):
    program, argument, says = PROGRAMS[name]
    plain = jax.jit(program)(argument)
    with jdw.capture(check="casts") as run:
        checked = jax.jit(program)(argument)
    (finding,) = run.findings
    assert finding.kind == "casts"
    assert says in finding.message, finding.message
    np.testing.assert_array_equal(plain, checked)


@pytest.mark.parametrize("value", [-128.9, 127.9, 0.0])
def test_truncating_a_fraction_is_no_finding(value):
    with jdw.capture(check="casts") as run:
        jax.jit(lambda x: (x.astype(jnp.int8), jnp.floor(x).astype(jnp.int32)))(jnp.float32(value))
    assert run.findings == []


def test_small_integer_types_are_reported():
    with jdw.capture(check="all") as run:
        jax.jit(lambda x: x.astype(jnp.int4))(jnp.array([1.0, 500.0]))
    (finding,) = run.findings
    assert "1 value does not fit int4, the first is 500" in finding.headline
    assert finding.fix == ("jnp.clip(x, -8, 7).astype(jnp.int4)",)


def test_the_least_integer_fits():
    with jdw.capture(check="casts") as run:
        jax.jit(lambda x: x.astype(jnp.int32))(jnp.float32(-(2.0**31)))
    assert run.findings == []


def test_findings_are_called_as_their_checks_and_muted_by_former_names_too():
    assert all(kind.word == kind.option for kind in Kind if kind.option)
    with jdw.capture(check="casts") as run:
        jax.jit(lambda x: x.astype(jnp.int8))(jnp.float32(500.0))  # jdw: ok cast
        jax.jit(lambda x: x.astype(jnp.int4))(jnp.float32(500.0))  # jdw: ok oob
    (finding,) = run.findings
    assert finding.kind == "casts" and "int4" in finding.headline


@pytest.mark.behaviour("S15")
def test_nanargmin_of_nans_alone_is_found():
    with jdw.capture(check="numpy") as run:
        jax.jit(jnp.nanargmin)(jnp.array([1.0, jnp.nan]))
        jax.jit(lambda x: jnp.nanargmax(x))(jnp.array([jnp.nan, jnp.nan]))  # noqa: PLW0108 - a line of the user's.
    (finding,) = run.findings
    assert "nanargmax of NaNs alone gives -1" in finding.message


def test_a_check_that_cannot_say_what_it_found_says_where(monkeypatch):
    def broken(_seen, _name_file):
        raise ValueError("no words today")

    monkeypatch.setitem(device._MAKERS, "casts", broken)
    with jdw.capture(check="casts") as run:
        jax.jit(lambda x: x.astype(jnp.int8))(jnp.array([1.0, 500.0]))
    (finding,) = run.findings
    assert finding.kind == "casts" and finding.where.startswith("test_casts.py:")
    assert "ValueError: no words today" in finding.why and "casts" in finding.headline
    monkeypatch.delitem(device._MAKERS, "casts")
    (finding,) = run.findings
    assert finding.kind == "casts" and "the check casts has no row in `_MAKERS` of checks/device.py" in finding.why


@pytest.mark.parametrize(
    ("values", "new", "says"),
    [
        (np.array([300, 1], np.int32), jnp.int8, "300 becomes 44"),
        (np.array([-3, 1], np.int32), jnp.uint8, "-3 becomes 253"),
        (np.array([2**32 - 1], np.uint32), jnp.int16, "4294967295 becomes -1"),
    ],
)
def test_integers_that_do_not_fit(values, new, says):
    with jdw.capture(check="casts") as run:
        given = jax.jit(lambda x: x.astype(new))(values)
    assert says in run.findings[0].why
    np.testing.assert_array_equal(given, values.astype(new))


def test_integers_that_fit_or_keep_their_bits_are_silent():
    with jdw.capture(check="casts") as run:
        jax.jit(lambda x: (x.astype(jnp.int8), x.astype(jnp.uint32)))(np.array([-1, 127], np.int32))
    assert run.findings == []


DIVISORS = jnp.array([2, 0, 0])


def divided(x, n):
    return x // n


def floor_divided(x, n):
    return jnp.floor_divide(x, n)


@pytest.mark.behaviour("S15")
@pytest.mark.parametrize("jit", [jax.jit, lambda f: f], ids=["jit", "plain"])
@pytest.mark.parametrize("function", [divided, floor_divided])
def test_integers_that_are_divided_by_zero_are_found(function, jit):
    with jdw.capture(check="numpy") as run:
        jit(function)(jnp.arange(3), DIVISORS)
    (finding,) = run.findings
    assert finding.where.endswith(f":{function.__code__.co_firstlineno + 1}")
    assert "divides an integer by 0 at [1]" in finding.headline
    if function is divided:
        assert finding.fix == ("divisor = n", "x // jnp.where(divisor == 0, 1, divisor)")


def mean_where_there_is_one(total, n):
    return jnp.where(n == 0, 0, total // n)


@pytest.mark.parametrize(
    "function",
    [mean_where_there_is_one, lambda x, n: x // (n + 1), lambda x, _: x // 7, lambda x, n: x % n, lambda x, n: x / n],
    ids=["left out", "not 0", "a number", "a remainder", "of floats"],
)
def test_a_division_without_a_zero_or_whose_result_is_left_out_is_no_finding(function):
    with jdw.capture(check="numpy") as run:
        jax.jit(function)(jnp.arange(3), DIVISORS)
        key = jax.random.key(0)
        jax.jit(lambda k: jax.random.randint(k, (3,), 0, 2**31 - 1))(key)
    assert run.findings == []
