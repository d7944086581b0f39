"""Test where NaN and infinities arise under each transformation: line, operands and element."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw

X = jnp.array([4.0, 0.0, 1.0])


def divides(x):
    return x / x  # here


def roots(x):
    return jnp.sqrt(x)  # here


@jax.custom_vjp
def ruled(x):
    return x * 2.0


def _forward(x):
    return ruled(x), x


def _backward(x, cotangent):
    return (cotangent / x,)  # here


ruled.defvjp(_forward, _backward)


def scanned(function):
    return lambda x: lax.scan(lambda c, one: (c + 1.0, function(one)), 0.0, x)[1]


def chosen(function):
    return lambda x: lax.cond(x[0] > 1, function, lambda y: y, x)


def slope(function):
    return jax.grad(lambda x: function(x).sum())


NAN = ("`x / x` is NaN", "div(0, 0) = NaN")
ROOT = ("the derivative of `jnp.sqrt(x)` is infinite", "div(0.5, 0) = inf")

MATRIX = {
    "jit": (divides, divides, (*NAN, "at [1]")),
    "vmap": (jax.vmap(divides), divides, (*NAN, "lane 1")),
    "scan": (scanned(divides), divides, (*NAN, "step 1")),
    "vmap of scan": (lambda x: jax.vmap(scanned(divides))(jnp.stack([x + 1.0, x])), divides, (*NAN, "step 1, lane 1")),
    "cond": (chosen(divides), divides, (*NAN, "at [1]")),
    "remat": (jax.checkpoint(divides), divides, (*NAN, "at [1]")),
    "while": (lambda x: lax.fori_loop(0, x.shape[0], lambda _, y: divides(y), x), divides, (*NAN, "step 0")),
    "jit in jit": (jax.jit(divides), divides, (*NAN, "at [1]")),
    "grad": (slope(roots), roots, (*ROOT, "at [1]")),
    "grad of vmap": (slope(jax.vmap(roots)), roots, ROOT),
    "vmap of grad": (jax.vmap(jax.grad(roots)), roots, (*ROOT, "lane 1")),
    "grad of scan": (slope(scanned(roots)), roots, (*ROOT, "step 1")),
    "grad of cond": (slope(chosen(roots)), roots, (*ROOT, "at [1]")),
    "grad of remat": (slope(jax.checkpoint(roots)), roots, (*ROOT, "at [1]")),
    "grad of remat of scan": (slope(jax.checkpoint(scanned(roots))), roots, (*ROOT, "step 1")),
    "jvp": (lambda x: jax.jvp(roots, (x,), (jnp.ones_like(x),))[1], roots, ROOT),
}
"""A program, the function with the line, and what the finding says."""

if jax.__version_info__ >= (0, 10):  # An older JAX has, for a rule, the line of the call or of the loop around it.
    MATRIX["custom_vjp"] = (
        slope(ruled),
        _backward,
        ("`cotangent / x`, or its derivative, has inf", "div(1, 0) = inf at [1]"),
    )
    MATRIX["custom_vjp in scan"] = slope(scanned(ruled)), _backward, ("`cotangent / x`", "step 1")


@pytest.mark.behaviour("S11")
@pytest.mark.parametrize("name", MATRIX)
def test_the_line_the_operands_and_the_element_are_reported(name):
    program, where, says = MATRIX[name]
    with jdw.capture(check="nonfinite") as run:
        jax.jit(program)(X)
    finding = run.findings[0]
    lines, first = inspect.getsourcelines(where)
    assert finding.file == __file__
    assert finding.span[0] == first + next(number for number, line in enumerate(lines) if "# here" in line)
    assert all(word in finding.message for word in says), finding.message


SQRT_OF_0 = jnp.array([4.0, 0.0])

UNJITTED = {
    "grad": (jax.grad(jax.jit(lambda x: roots(x).sum())), SQRT_OF_0),
    "value_and_grad": (jax.value_and_grad(jax.jit(lambda x: roots(x).sum())), SQRT_OF_0),
    "vmap of grad": (jax.vmap(jax.grad(jax.jit(roots))), SQRT_OF_0),
    "vjp": (lambda x: jax.vjp(jax.jit(roots), x)[0], SQRT_OF_0),
    "jvp": (lambda x: jax.jvp(jax.jit(roots), (x,), (jnp.ones_like(x),)), SQRT_OF_0),
    "linearize": (lambda x: jax.linearize(jax.jit(roots), x)[0], SQRT_OF_0),
    "grad of a scan in a jitted function": (slope(jax.jit(scanned(roots))), SQRT_OF_0),
}


@pytest.mark.behaviour("S11")
@pytest.mark.parametrize("name", UNJITTED)
def test_an_unjitted_derivative_of_a_jitted_function_is_reported_as_one(name):
    program, x = UNJITTED[name]
    with jdw.capture(check="nonfinite") as run:
        program(x)
    finding = run.findings[0]
    assert all(word in finding.message for word in ROOT), finding.message


LENGTHS = {
    "norm": lambda x: 2.0 * jnp.linalg.norm(x),
    "norms of rows": lambda x: jnp.linalg.norm(x[None], axis=-1).sum(),
    "std": lambda x: 2.0 * jnp.std(x),
    "sqrt of a sum": lambda x: 3.0 * jnp.sqrt(jnp.sum(x**2)),
    "power of a sum": lambda x: (x**2).sum() ** 0.5,
    "chosen": lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0).sum(),
}


@pytest.mark.behaviour("S11")
@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("transform", [jax.grad, lambda one: jax.vmap(jax.grad(one))], ids=["grad", "vmap of grad"])
def test_the_nan_of_an_unjitted_backward_pass_belongs_to_the_finding_about_the_infinite_derivative(name, transform):
    function, x = jax.jit(LENGTHS[name]), jnp.zeros(3)
    slope = transform(function)
    with jdw.capture(check="nonfinite") as run:
        found = slope(x if transform is jax.grad else x[None])
    assert np.isnan(found).all()
    (finding,) = run.findings
    assert finding.headline.startswith("the derivative of `")
    assert "is infinite" in finding.headline
    assert "Then " in finding.why
    assert "is NaN" in finding.why
    assert finding.fix


@pytest.mark.behaviour("S11")
def test_an_infinity_of_a_function_that_a_derivative_rule_calls_is_not_called_a_derivative():
    @jax.jit
    def divides_by_zero(t):
        return t / (t - t)

    @jax.custom_vjp
    def double(x):
        return 2 * x

    double.defvjp(lambda x: (double(x), None), lambda _, t: (divides_by_zero(t),))
    with jdw.capture(check="nonfinite") as run:
        jax.grad(double)(0.0)
    (finding,) = run.findings
    assert finding.headline.endswith("` is inf")  # On jax 0.8 it is at the line of the call.
    assert "derivative" not in finding.headline


@pytest.mark.behaviour("S11")
@pytest.mark.parametrize("transform", [jax.grad, jax.value_and_grad], ids=lambda one: one.__name__)
def test_a_nan_of_the_function_is_not_called_one_of_its_unjitted_derivative(transform):
    with jdw.capture(check="nonfinite") as run:
        transform(jax.jit(lambda x: divides(x).sum()))(X)
        jax.jit(divides)(X)
    finding = run.findings[0]
    assert all(word in finding.message for word in NAN), finding.message
