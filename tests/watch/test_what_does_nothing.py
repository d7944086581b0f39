"""Test an outermost call that changes nothing (`f(x).astype(float32)` of a float32): the inner value has the name."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

X = jnp.arange(4.0).reshape(2, 2) + 1


def cast(x):
    y = jnp.sin(x).astype(jnp.float32)
    return y * 3


def annotated(x):
    y: jax.Array = jnp.sin(x).reshape(2, 2)
    return y * 3


def walrus(x):
    z = (y := jnp.asarray(jnp.sin(x), jnp.float32)) * 2
    return z + y


def sliced(x):
    y = jnp.sin(x)[:2]
    return y * 3


def of_an_operator(x):
    y = (x * 2 + 1)[..., :].astype(x.dtype)
    return y * 3


def several(x):
    y = jnp.asarray(jnp.sin(x).squeeze()).reshape(2, 2)
    return y * 3


def around_one_that_does_something(x):
    """The cast changes nothing, the transposition does: `y` is its result."""
    y = jnp.sin(x).reshape(4).astype(jnp.float32)
    return y * 3


def between(x):
    """The outermost call changes the value, the call in the middle does not."""
    y = jnp.sin(x).astype(jnp.float32).reshape(4)
    return y * 3


def stopped(x):
    y = lax.stop_gradient(jnp.sin(x))
    return y * 3


def in_a_tuple(x):
    z, y = x + 1, jnp.sin(x)[:]
    return y * 3 * z


def in_a_loop(x):
    total = x
    for k in range(3):
        y = jnp.sin(total * k).astype(jnp.float32)
        total = total + y
    return y * 3


PROGRAMS = [
    cast,
    annotated,
    walrus,
    sliced,
    of_an_operator,
    several,
    around_one_that_does_something,
    between,
    stopped,
    in_a_tuple,
]


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: jax.value_and_grad(lambda x: f(x).sum())], ids=["jit", "grad"])
@pytest.mark.each
def test_the_name_belongs_to_the_inner_value_if_the_outer_call_does_nothing(program, wrap, watched, agrees):
    run = watched(jax.jit(wrap(program)), X, watch="y")
    agrees(run["y"], program(X) / 3 if program is not in_a_tuple else jnp.sin(X))


def test_each_execution_of_a_call_that_does_nothing_has_the_inner_value(watched, agrees):
    run = watched(jax.jit(in_a_loop), X, watch="y")
    total = X
    assert len(run.values) == 3
    for number, value in enumerate(run.values.values()):
        y = jnp.sin(total * number)
        agrees(value, y)
        total = total + y


def test_items_of_a_sliced_list_are_numbered_from_zero(watched, agrees):
    def both(x):
        return [jnp.sin(x), jnp.cos(x), jnp.tanh(x)]

    def program(x):
        y = both(x)[1:]
        return y[0] * y[1]

    run = watched(jax.jit(program), X, watch="y*")
    agrees(run["y[0]"], jnp.cos(X))
    agrees(run["y[1]"], jnp.tanh(X))


def test_the_inner_value_of_a_cast_that_does_nothing_has_its_gradient(watched):
    run = watched(jax.jit(jax.value_and_grad(lambda x: cast(x).sum())), X, watch="y", values=True)
    assert (run["y"].gradient["value"] == 3).all()


def test_tokens_are_made_and_given_back_beside_what_is_watched(watched):
    @jax.jit
    def called(x):
        return lax.create_token(x), x + 1

    def handed_on(x, token):
        made, y = called(x)
        return y * 3, lax.after_all(token, made)

    run = watched(jax.jit(handed_on), jnp.ones(3), lax.create_token())
    assert not any("unwatched" in note for note in run.notes) and run["y"]["mean"] == [2]
