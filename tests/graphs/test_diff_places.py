"""Test how `jdw.diff` matches code that was moved, repeated or edited, inside and outside of loops."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw

W = {"q": jnp.eye(3), "k": jnp.full((3, 3), 2.0), "v": jnp.ones((3, 3))}
X = jnp.arange(3.0)


def product_first(w, x):
    q = x @ w["q"]
    k = x @ w["k"]
    return q * jnp.sin(k)


def sine_first(w, x):
    k = x @ w["k"]
    q = x @ w["q"]
    return q * jnp.sin(k)


def other(w, x):
    q = x @ w["v"]
    k = x @ w["k"]
    return q * jnp.sin(k)


LOOPS = {
    "scan": lambda f: lambda w, x: lax.scan(lambda c, _: (f(w, c), None), x, length=3)[0],
    "while": lambda f: lambda w, x: lax.while_loop(lambda c: c.sum() < 9.0, lambda c: f(w, c), x),
    "cond": lambda f: lambda w, x: lax.cond(x[0] > 0, lambda: f(w, x), lambda: x),
    "nested": lambda f: LOOPS["scan"](LOOPS["cond"](f)),
}


@pytest.mark.behaviour("G6")
@pytest.mark.parametrize("loop", LOOPS)
def test_lines_in_another_order_in_a_loop_are_the_same_program_in_another_order(loop):
    one, other = (LOOPS[loop](f) for f in (product_first, sine_first))
    found = jdw.diff(one, other, W, X)
    assert found.is_same and not found.is_in_order and "1 of them in another order" in found.headline, found
    jdw.assert_same_program(one, other, W, X)
    assert jdw.diff(one, one, W, X).is_in_order


@pytest.mark.behaviour("G6")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_different_array_in_a_loop_is_named_where_the_loop_uses_it(loop):
    found = jdw.diff(LOOPS[loop](product_first), LOOPS[loop](other), W, X)
    assert not found.is_same and "1 changed (inside: 1 changed)" in found.headline, found
    assert "w['q'] → w['v']" in str(found)
    assert all(not change.differences for change in found), "of the loop itself nothing differs"


@pytest.mark.behaviour("G6")
def test_a_repeated_computation_may_serve_as_either_operand():
    def twice(x):
        a, b = jnp.exp(x), jnp.exp(x)
        return lax.scan(lambda c, y: (c * a + y * b, None), x, x)[0], jnp.sin(x) * a

    def once(x):
        a = jnp.exp(x)
        return lax.scan(lambda c, y: (c * a + y * a, None), x, x)[0], jnp.sin(x) * a

    found = jdw.diff(twice, once, X)
    assert found.counts == {"same": 4, "removed": 1}, found


@pytest.mark.behaviour("G6")
def test_the_use_that_an_edited_line_has_lost_is_the_one_that_is_removed():
    def indexed(x, i):
        a = x[i]
        b = a + 1.0
        c = (x * 2.0)[i]
        return b * c

    def edited(x, i):
        b = x[0] + 1.0
        c = (x * 2.0)[i]
        return b * c

    found = jdw.diff(indexed, edited, X, jnp.int32(1))
    line = indexed.__code__.co_firstlineno
    assert {getattr(getattr(one.before, "source", None), "line", 0) - line for one in found.of_kind("removed")} == {
        1
    }, found
    assert not found.of_kind("moved"), found


@pytest.mark.behaviour("G6")
def test_two_operations_that_have_changed_places_keep_their_numbers():
    found = jdw.diff(lambda x: 0.5 * (x[0] / 3.0), lambda x: (0.5 * x[0]) / 3.0, X)
    assert not found.of_kind("added") and not found.of_kind("removed"), found
    assert "mul → div" not in str(found) and "div → mul" not in str(found)


@pytest.mark.behaviour("G6")
def test_only_the_operand_that_differs_is_reported_of_an_operation_that_commutes():
    (changed,) = jdw.diff(lambda x, y: jnp.sin(x) * y, lambda x, y: y * x, X, X).of_kind("changed")
    assert changed.what == ("sin_1 → x",)


def test_two_values_of_one_name_and_kind_are_reported_by_their_lines():
    def crossed(w, x):
        q = x @ w["k"]
        k = x @ w["q"]
        return q * jnp.sin(k)

    line, its = product_first.__code__.co_firstlineno, crossed.__code__.co_firstlineno
    told = str(jdw.diff(product_first, crossed, W, X))
    assert f"q (dot_general, :{line + 1}) → q (dot_general, :{its + 1})" in told, told


def scaled(by):
    return lambda x: jax.jit(lambda x, s: x * s)(x, by)


def test_a_number_that_is_cast_on_its_way_is_reported_as_it_is_written():
    (changed,) = jdw.diff(scaled(0.2), scaled(0.1), X).of_kind("changed")
    assert changed.what == ("0.2 → 0.1",)


def test_the_dtype_of_a_number_is_that_of_its_operation():
    half, brain = (X.astype(one) for one in (jnp.float16, jnp.bfloat16))
    (changed,) = jdw.diff(lambda x: x * 2, lambda x: x * 2, half, other_args=(brain,))
    assert changed.what == ("float16[3] → bfloat16[3]",) and " 2.0" in repr(changed.after)


def test_an_edited_copy_of_a_function_is_paired_by_its_columns():
    def f(x):
        y = jnp.tanh(x).astype(jnp.float16)
        return jnp.sum(y * y) + jnp.max(y)

    def g(x):
        y = jnp.tanh(x).astype(jnp.bfloat16)
        return jnp.sum(y * y) + jnp.max(y)

    found = jdw.diff(f, g, X)
    assert set(found.counts) == {"same", "changed"}, found


@pytest.mark.behaviour("G6")
def test_two_values_of_one_name_and_line_are_told_by_the_name_that_one_has_in_the_other_program():
    def of(parts):
        def f(x):
            a, b = parts(x)
            return jnp.sin(a) + 2.0 * b

        return f

    one, other = of(lambda x: (x * 2.0, x * 3.0)), of(lambda x: (x * 3.0, x * 2.0))
    found = jdw.diff(one, other, X)
    texts = {str(difference) for change in found for difference in change.differences}
    assert texts, found
    assert all(before != after for before, _, after in (one.partition(" → ") for one in texts)), found
