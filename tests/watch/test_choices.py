"""Test that a NaN which a choice may mask is distinguished from one that reaches the results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.passes.choices import left_out_by

X = jnp.arange(-2.5, 3.5)


def logarithm(x):
    h = jnp.log(x)
    y = jnp.where(x > 0, h, 0.0)
    return y.sum()


def further_computed(x):
    h = jnp.sqrt(x)
    scaled = 2 * h + 1
    return jnp.where(x < 0, 0.0, scaled).sum()


def in_a_branch(x):
    def root(x):
        h = jnp.sqrt(x)
        return h

    return jax.vmap(lambda one: lax.cond(one > 0, root, lambda one: one * 0, one))(x)


def in_a_loop(x):
    def step(c, one):
        h = jnp.log(one)
        return jnp.where(one > 0, c + h, c), one

    return lax.scan(step, 0.0, x)


def left_out_of_a_mean(x):
    h = jnp.log(x)
    return jnp.nanmean(h)


def chosen_in_a_jitted_function(x):
    h = jnp.log(x)
    return jax.jit(lambda h: jnp.where(h > 0, h, 0.0))(h)


def chosen_in_a_checkpointed_function(x):
    h = jnp.log(x)
    return jax.checkpoint(lambda h: jnp.where(h > 0, h, 0.0))(h)


def first_of_two_choices(x):
    h = jnp.log(x)
    y = jnp.where(x > 0, h, 0.0)
    return jnp.where(x > 2, y, 1.0)


def also_compared(x):
    h = jnp.log(x)
    return jnp.where(h > 0, h, 0.0), (h < 0).sum(), jnp.argmax(h)


WHERE = "jnp.where(h > 0, h, 0.0)"
MASKED = [
    (logarithm, "jnp.where(x > 0, h, 0.0)"),
    (further_computed, "jnp.where(x < 0, 0.0, scaled)"),
    (in_a_branch, "lax.cond(one > 0, root, lambda one: one * 0, one)"),
    (in_a_loop, "jnp.where(one > 0, c + h, c)"),
    (left_out_of_a_mean, "jnp.nanmean(h)"),
    (chosen_in_a_jitted_function, f"jax.jit(lambda h: {WHERE})(h)"),
    (chosen_in_a_checkpointed_function, f"jax.checkpoint(lambda h: {WHERE})(h)"),
    (first_of_two_choices, "jnp.where(x > 0, h, 0.0)"),
    (also_compared, WHERE),
]


@pytest.mark.parametrize(("program", "choice"), MASKED)
def test_a_finding_about_a_maskable_nan_names_the_choice(watched, program, choice):
    run = watched(jax.jit(program), X, watch="h")
    found = [one for root in run.findings for one in (root, *root.followed_by)]
    messages = [one.message for one in found if one.kind == "nonfinite"]
    assert all("They may be masked: they reach a result only through " in one for one in messages)
    assert any(f" {choice} at test_choices.py:" in one for one in messages)
    assert " may mask>" in repr(run)
    for leaf in jax.tree.leaves(program(X)):
        assert np.isfinite(leaf).all()


def used_beside(x):
    h = jnp.log(x)
    return jnp.where(x > 0, h, 0.0).sum() + h[0]


def in_all_cases(x):
    h = jnp.log(x)
    return jnp.where(h > 0, h, 0.1 * h)


def in_cases_that_another_choice_joins(x):
    h = jnp.log(x)
    chosen = jnp.where(x > 1, h, 2 * h)
    return chosen.sum()


def kept_for_a_gradient(x):
    def loss(x):
        h = jnp.sqrt(x)
        return jnp.where(x > 0, h, 0.0).sum()

    return jax.value_and_grad(loss)(x)


def carried_on(x):
    def step(c, one):
        h = jnp.log(one)
        return h, jnp.where(one > 0, c, 0.0)

    return lax.scan(step, 0.0, x)


def branch_that_is_taken(x):
    def root(x):
        h = jnp.sqrt(x)
        return h

    return lax.cond(x.sum() > -1, root, lambda x: x, x)


NOT_MASKED = [
    used_beside, in_all_cases, in_cases_that_another_choice_joins, kept_for_a_gradient, carried_on, branch_that_is_taken,
]  # fmt: skip


@pytest.mark.parametrize("program", NOT_MASKED)
def test_a_nan_that_also_reaches_a_result_is_not_called_masked(watched, program):
    run = watched(jax.jit(program), X, watch="h")
    (found,) = (one.message for one in run.findings if one.kind == "nonfinite")
    assert "NaN among its values" in found
    assert "masked" not in found
    assert "may mask" not in repr(run)
    assert not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(program(X)))


def test_the_first_nan_is_one_that_no_choice_masks(watched):
    @jax.jit
    def f(x):
        def step(c, one):
            masked = jnp.log(one)
            c = jnp.where(one > 0, c + masked, c)
            grown = jnp.exp(jnp.where(one > 2, 99 * c, 1.0))
            return c, grown

        return lax.scan(step, jnp.float32(5), x)[1]

    run = watched(f, X, watch=True)
    assert "first NaN or infinite: test_choices.py" in repr(run)
    assert "  grown, step 5" in repr(run)
    assert next(one.site.label for one in run.findings) == "grown"


def test_a_nan_that_a_choice_takes_is_reported_at_the_line_that_made_it(watched):

    @jax.jit
    def f(x):
        h = jnp.log(x)
        y = jnp.where(x < 1, h, 0.0)
        return y

    run = watched(f, X, watch=True)
    born = f.__wrapped__.__code__.co_firstlineno + 2
    assert f"first NaN or infinite: test_choices.py:{born}  h>" in repr(run)


def test_choices_are_by_the_equation_that_makes_the_first():
    jaxpr = jax.make_jaxpr(lambda x: lax.select(x > 1, lax.select(x > 0, lax.log(x), x), lax.exp(x)))(X).jaxpr
    numbers = {one.primitive.name: number for number, one in enumerate(jaxpr.eqns)}
    found = left_out_by(jaxpr)
    log, exp = jaxpr.eqns[numbers["log"]].outvars[0], jaxpr.eqns[numbers["exp"]].outvars[0]
    first, last = (number for number, one in enumerate(jaxpr.eqns) if one.primitive.name == "select_n")
    assert (found[log], found[exp]) == (first, last)
    assert not left_out_by(jax.make_jaxpr(lambda x: lax.select(x > 0, x, x))(X).jaxpr)
