"""G4: what JAX traces of its functions is written, equal to the bit: pooling, searching, solving, reductions, rules."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.ad_checkpoint import checkpoint_name

import jax_debug_widgets as jdw

IMAGES = np.random.default_rng(0).normal(size=(2, 6, 6, 3)).astype(np.float32)
MATRIX = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)
DEFINITE = MATRIX @ MATRIX.T + 4 * np.eye(4, dtype=np.float32)
VECTOR = np.array([0.3, 0.1, 0.7, 0.5], np.float32)
WHOLE = np.array([[3, 1, 2], [0, 5, 7]])


def pool(x, choose=lax.max, first=-np.inf):
    return lax.reduce_window(x, first, choose, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def pooling(x):
    def least(x):
        return (pool(x, lax.min, np.inf) ** 2).sum()

    return (
        jax.grad(lambda x: (pool(x) ** 2).sum())(x),
        jax.grad(least)(x),
        jax.jvp(pool, (x,), (x,))[1],
        jax.vmap(jax.grad(lambda x: pool(x[None]).sum()))(x),
        pool(x, lax.mul, 1.0),
    )


def searching(whole, values):
    return (
        jnp.nonzero(whole > 1, size=3, fill_value=-1),
        jnp.nonzero(values > 0.2, size=2)[0],
        jnp.unique(whole, size=4, return_inverse=True),
        jnp.searchsorted(jnp.sort(values), values, side="right"),
        jnp.searchsorted(jnp.sort(values), values, method="sort"),
        lax.sort((values, values * 2), num_keys=1),
        jnp.quantile(values, 0.3),
    )


def numbers(values):
    return (
        jnp.frexp(values),
        jnp.ldexp(values, 3),
        jax.grad(lambda x: jnp.frexp(x)[0].sum())(values),
        jnp.var(values),
        jax.grad(lambda x: jnp.cumprod(x).sum())(values),
        jnp.where(values > 0.4, values, np.array([np.nan, np.inf, -np.inf, 1], np.float32)),
        values.astype(np.complex64) * np.complex64(complex(np.nan, 1)),
    )


def solving(matrix, vector):
    def solve(x):
        return lax.custom_linear_solve(lambda v: x @ v, vector, lambda _, b: jnp.linalg.inv(x) @ b, symmetric=True)

    return (
        jnp.linalg.solve(matrix, vector),
        jax.grad(lambda x: jnp.linalg.slogdet(x)[1])(matrix),
        solve(matrix),
        jax.scipy.sparse.linalg.cg(lambda x: matrix @ x, vector)[0],
        jax.scipy.stats.multivariate_normal.logpdf(vector, jnp.zeros(4), matrix),
    )


def reductions(x):
    def both(one, other):
        return one[0] + other[0], jnp.minimum(one[1], other[1])

    return (
        lax.reduce(x, np.float32(0), lambda one, other: one + other * 2.0, (0,)),
        lax.reduce((x, x), (np.float32(0), np.float32(np.inf)), both, (1,)),
        lax.reduce_window(x, np.float32(0), lambda one, other: one + other * 2.0, (2, 2), (1, 1), "VALID"),
        x.at[1].apply(jnp.sin),
    )


def rules(x):
    return jax.scipy.special.i0(x), jax.scipy.special.expit(x), jax.nn.relu(x)


def others(key, x):
    return (
        jax.random.normal(jax.random.clone(key)),
        jax.grad(lambda x: checkpoint_name(jnp.sin(x), "sine").sum())(x),
        jax.device_put((x, x * 2)),
        jax.device_put(x, may_alias=False),
        jax.random.rayleigh(key, 2.0, (2,)),
    )


PROGRAMS = [
    (pooling, (IMAGES,)),
    (searching, (WHOLE, VECTOR)),
    (numbers, (VECTOR,)),
    (solving, (DEFINITE, VECTOR)),
    (reductions, (MATRIX,)),
    (rules, (VECTOR,)),
    (others, (jax.random.key(0), VECTOR)),
]


@pytest.mark.behaviour("G4")
@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=[one.__name__ for one, _ in PROGRAMS])
def test_what_jax_traces_of_its_functions_is_equal_to_the_bit(function, args, tmp_path):
    jdw.to_folder(function, *args, path=tmp_path / "written").check()


def test_the_written_pooling_has_the_same_derivative(tmp_path):
    written = jdw.to_folder(pool, IMAGES, path=tmp_path / "written").function
    expected, found = (jax.grad(lambda x, one=one: (one(x) ** 2).sum())(IMAGES) for one in (pool, written))
    np.testing.assert_array_equal(found, expected)


def weighted(x):
    weights = jnp.linspace(1.0, 2.0, 4) * 2

    @jax.custom_vjp
    def total(y):
        return (y * weights).sum()

    total.defvjp(lambda y: (total(y), None), lambda _, slope: (slope * weights * 10,))
    return total(x)


def untraceable(x):
    @jax.custom_vjp
    def double(y):
        return y * 2

    def back(_, _slope):
        raise ValueError("no derivative")

    double.defvjp(lambda y: (double(y), None), back)
    return double(x)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (weighted, "total is not written: it closes over a value that is computed outside it"),
        (untraceable, "double is not written: ValueError when it is traced by itself"),
    ],
)
def test_a_rule_that_cannot_be_written_is_left_out_and_said(function, why, tmp_path):
    written = jdw.to_folder(function, VECTOR, path=tmp_path / "written")
    written.check()
    assert f"the derivative rule of {why}" in written.notes


@pytest.mark.behaviour("G6")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: jnp.searchsorted(x, x), lambda x: jnp.searchsorted(x, x, side="right")),
        (lambda x: x.at[1].apply(jnp.sin), lambda x: x.at[1].apply(jnp.cos)),
    ],
)
def test_programs_that_differ_in_a_parameter_only_are_not_the_same(one, other):
    assert not jdw.diff(one, other, VECTOR).is_same
    assert jdw.diff(one, one, VECTOR).is_same


def test_a_number_that_is_cast_to_its_own_type_is_that_number(tmp_path):
    def noise(key):
        return jax.random.uniform(key, (3,)) * jnp.float32(2)

    assert jdw.to_folder(noise, jax.random.key(0), path=tmp_path / "written").is_same
