"""Test prints of interpreted Pallas kernels, with the program of the grid that printed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl

import jax_debug_widgets as jdw

XS = np.arange(4, dtype=np.float32)


def kernel(x_ref, o_ref):
    row, column = pl.program_id(0), pl.program_id(1)
    pl.debug_print("row {} column {}", row, column)
    jax.debug.print("{row} {column} {x}", row=row, column=column, x=x_ref[0])
    jax.debug.print("constant")

    def body(i, total):
        jax.debug.print("inner {row} {column} {i}", row=row, column=column, i=i)
        return total + x_ref[i]

    o_ref[0] = lax.fori_loop(0, 2, body, column.astype(jnp.float32))

    @pl.when(row == 1)
    def _():
        jax.debug.print("second {column}", column=column)


def blocks(x):
    halves, rows = pl.BlockSpec((2,), lambda i, _: i), pl.BlockSpec((1,), lambda i, _: i)
    out = jax.ShapeDtypeStruct((2,), jnp.float32)
    call = pl.pallas_call(kernel, out, grid=(2, 3), in_specs=[halves], out_specs=rows, interpret=True)
    return call(x)


def twice(x):
    return lax.fori_loop(0, 2, lambda _, x: jnp.repeat(blocks(x), 2), x)


WRAPS = {
    "eager": lambda: blocks(XS),
    "jit": lambda: jax.jit(blocks)(XS),
    "loop": lambda: jax.jit(twice)(XS),
    "vmap": lambda: jax.jit(jax.vmap(blocks))(np.stack([XS, XS + 1])),
}


@pytest.mark.behaviour("P1")
@pytest.mark.parametrize("wrap", WRAPS)
def test_a_kernel_prints_what_jax_prints(wrap, capfd, same_bits):
    plain = WRAPS[wrap]()
    jax.effects_barrier()
    lines = capfd.readouterr().out.splitlines()
    with jdw.capture() as run:
        captured = WRAPS[wrap]()
    assert same_bits(plain, captured)
    assert sorted(event.text for event in run.events) == sorted(lines)
    assert lines
    assert capfd.readouterr().out == ""
    assert run.findings == []
    assert run.status().notes == ()


def test_the_step_is_the_place_in_the_grid():
    with jdw.capture() as run:
        WRAPS["jit"]()
    grid = list(np.ndindex(2, 3))
    for prefix in ("row", "constant"):
        assert [event.step for event in run.events if event.text.startswith(prefix)] == grid
    told = [tuple(map(int, event.text.split()[1:])) for event in run.events if event.text.startswith("inner")]
    assert told == [event.step for event in run.events if event.text.startswith("inner")]
    assert [event.step for event in run.events if event.text.startswith("second")] == [()] * 3


def test_a_kernel_prints_nothing_with_debug_off(capfd):
    with jdw.capture(debug=False) as run:
        WRAPS["jit"]()
    assert (len(run.events), capfd.readouterr().out) == (0, "")
