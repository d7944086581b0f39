"""Test that a finding of NaN shows the operands of its line, and none rather than a wrong one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw

X = jnp.float32([2.0, 3.0, 1.0, 5.0])


def scalar(x, y):
    d = x[0] - 2.0
    h = y / d
    return h + 0.0


def array(x, y):
    d = x - 3.0
    w = y + x
    h = w / d
    return h + 0.0


def by_attribute(x, y):
    p = {"d": x[0] - 2.0, "n": y + 1.0}
    h = p["n"] / p["d"]
    return h + 0.0


def assigned_anew(x, y):
    d = x[0] + 2.0
    d = d - 4.0
    h = y / d
    return h + 0.0


def itself(x, y):
    h = x[0] - 2.0
    h = y / h
    return h + 0.0


def assigned_after(x, y):
    h = y / (x[0] - 2.0)
    d = h + 1.0
    return h + d


def assigned_to_a_number(x, y):
    d = x[0] - 2.0
    s = y + d
    d = 5.0
    h = jnp.log(y - 7.0) / d
    return h * s


def unrolled(x, y):
    d = y * 1.0
    h = y
    for i in range(3):
        h = h / d
        d = x[i] - 2.0
    return h + 0.0


def in_scan(x, y):
    def body(c, one):
        d = jnp.log(one)
        h = c / d
        return h * 0 + c, h

    return lax.scan(body, y, x)[1]


def by_exponents(x, y):
    logits = x * 30.0
    h = jnp.exp(logits) / jnp.exp(logits).sum()
    return h + y


def by_small_exponents(x, y):
    d = y - 7.0
    h = jnp.exp(d) / d
    return h + x


def by_half_exponents(x, y):
    halves = (x * 3.0).astype(jnp.float16)
    h = jnp.exp(halves)
    return h.astype(y.dtype) + y


def given(x, y):
    def inner(e, f):
        h = f / e
        return h + 0.0

    return inner(x[0] - 2.0, y)


def lanes(x, y):
    def one_of(e):
        d = e - 1.0
        h = y / d
        return h + 0.0

    return jax.vmap(one_of)(x)


@pytest.mark.each
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (scalar, "`y` is 7, `d` is 0."),
        (array, "`w` is from 8 to 12, `d` is from -2 to 2 (1 zero)."),
        (by_attribute, "`p['n']` is 8, `p['d']` is 0."),
        (assigned_anew, "`y` is 7, `d` is 0."),
        (itself, "`y` is 7, `h` is 0."),
        (assigned_after, "`y` is 7, `x` is from 1 to 5."),
        (assigned_to_a_number, "`y` is 7."),
        (unrolled, ""),
        (in_scan, "`d` is 0."),
        (by_exponents, "`logits` is from 30 to 150 (`exp` of more than 88.72 is infinite in float32)."),
        (by_small_exponents, "`d` is 0."),
        (by_half_exponents, "`halves` is from 3 to 15 (`exp` of more than 11.09 is infinite in float16)."),
        (given, ""),
        (lanes, ""),
    ],
)
def test_a_nan_says_what_the_variables_of_its_line_were(function, said):
    with jdw.capture(watch=True) as run:
        jax.jit(function)(X, jnp.float32(7.0))
    (finding, *_) = run.findings
    assert finding.kind == "nonfinite" and finding.where.startswith("test_operands.py:")
    assert finding.why.partition(" There ")[2] == said, finding.why
    assert f" There {said}" in finding.message or not said


def looped_loss(w, x):
    def body(c, one):
        n2 = (one * w) ** 2
        norm = jnp.sqrt(n2)
        return c + norm, None

    return lax.scan(body, 0.0, x)[0]


def test_the_gradient_of_a_loop_has_the_value_of_its_own_step():
    x = jnp.float32([4.0, 3.0, 0.0, 2.0])
    with jdw.capture(watch=True) as run:
        jax.jit(jax.grad(looped_loss))(jnp.float32(1.0), x)
    (finding, *_) = run.findings
    assert finding.headline == "the gradient of `n2` becomes infinite"
    assert "There `n2` is 0." in finding.why and "step 2" in finding.why


def test_the_operands_are_those_of_the_call_with_the_nan():
    @jax.jit
    def step(y, d):
        h = y / d
        return h + 0.0

    with jdw.capture(watch=True) as run:
        for number in (3.0, 2.0, 0.0, 1.0):
            step(jnp.float32(number + 1), jnp.float32(number))
    (finding, *_) = run.findings
    assert "There `y` is 1, `d` is 0." in finding.why and "call 2" in finding.why
