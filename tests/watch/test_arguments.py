"""Test the names of several arguments of one operation after batching."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

ROWS = jnp.array([1.0, 2.0, 3.0])
COLUMNS = jnp.array([10.0, 20.0, 30.0, 40.0])
SCALE = jnp.float32(7.0)

TAKEN = {
    "outer": lambda rows, columns: jnp.outer(rows, columns).sum(),
    "product": lambda rows, columns: jax.vmap(lambda one: rows * one)(columns).sum(),
    "product of lanes": lambda rows, columns: jax.vmap(lambda a: jax.vmap(lambda b: a * b)(columns))(rows).sum(),
    "where": lambda rows, columns: jax.vmap(lambda one: jnp.where(rows > one, rows, one))(columns).sum(),
    "maximum": lambda rows, columns: jax.vmap(lambda one: jnp.maximum(rows, one))(columns).sum(),
    "power": lambda rows, columns: jax.vmap(lambda one: rows**2 + one)(columns).sum(),
}


def scanned(take, rows, columns, scale):
    return jax.lax.scan(lambda total, _: (total + take(rows, columns) * scale, None), 0.0, None, length=2)[0]


def jitted(take, rows, columns, scale):
    return jax.jit(lambda factor: take(rows, columns) * factor)(scale)


def repeated(take, rows, columns, scale):
    return jax.lax.while_loop(lambda total: total < scale, lambda total: total + take(rows, columns) + 1, 0.0)


def differentiated(take, rows, columns, scale):
    return jax.grad(lambda rows: scanned(take, rows, columns, scale))(rows)


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("around", [scanned, jitted, repeated, differentiated])
@pytest.mark.parametrize("take", TAKEN.values(), ids=TAKEN)
@pytest.mark.each
def test_two_arguments_of_one_operation_keep_their_names(watched, take, around):
    @jax.jit
    def program(rows, columns, scale):
        return around(take, rows, columns, scale)

    run = watched(program, ROWS, COLUMNS, SCALE, watch="rows,columns,scale", values=True)
    whole = {"rows": ROWS, "columns": COLUMNS, "scale": SCALE}
    line = program.__wrapped__.__code__.co_firstlineno + 1
    own = [value for value in run.values.values() if value.site.line == line and value.site.watch.role == "value"]
    found = {value.site.watch.name: value for value in own}
    assert found.keys() == whole.keys()
    for name, value in found.items():
        np.testing.assert_array_equal(value["value"][0], whole[name], err_msg=name)


def test_the_carry_and_the_rows_of_a_scan_have_their_own_names(watched, agrees):
    def step(weight, row):
        return weight + jnp.outer(weight.sum(0), row), None

    def program(weights, rows):
        return jax.lax.scan(step, weights, rows)[0]

    rows = jnp.arange(4.0).reshape(2, 2)
    run = watched(jax.jit(program), jnp.ones((2, 2)), rows)
    agrees(run["rows"], rows)
    agrees(run["weights"], np.ones((2, 2)))
    agrees(run["row"], rows[0], step=0)
    agrees(run["row"], rows[1], step=1)
