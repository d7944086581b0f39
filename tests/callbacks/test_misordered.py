"""Test the finding about callbacks that arrived in another order than the program has them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw


def opened(_):
    pass


def closed():
    pass


def train(x, *, ordered=False):
    jax.debug.callback(opened, x.sum(), ordered=ordered)
    x = jax.lax.fori_loop(0, 4, lambda _, y: y @ y / 10, x)
    jax.debug.callback(closed, ordered=ordered)
    return x


def notes_of(function):
    with jdw.capture() as run:
        jax.jit(function)(jnp.ones((8, 8))).block_until_ready()
        jax.effects_barrier()
    order = [event.site.format.rpartition(".")[2] for event in run.events]
    return order, [note for note in run.status().notes if "was called before" in note]


@pytest.mark.cpu("XLA's CPU backend calls what waits for nothing first")
def test_a_callback_that_overtakes_another_is_named():
    order, notes = notes_of(train)
    assert order == ["closed", "opened"]
    (note,) = notes
    assert "closed (test_misordered.py:23) was called before opened (test_misordered.py:21)" in note


def test_ordered_callbacks_overtake_nothing():
    assert notes_of(lambda x: train(x, ordered=True)) == (["opened", "closed"], [])
