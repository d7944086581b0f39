"""Test that a value which is traced with several types is one value."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw


def make_step():
    @jax.jit
    def step(w, xb):
        logits = xb @ w
        return w * 0.9, (logits**2).mean()

    return step


def test_a_smaller_last_batch_is_of_the_same_value_with_the_steps_of_all_calls():
    step, w = make_step(), jnp.ones(3)
    with jdw.capture(watch="logits") as run:
        for count in (4, 4, 2, 4, 4, 2):
            w, _ = step(w, jnp.ones((count, 3)))
    assert list(run) == ["logits"]
    assert run["logits"].steps.tolist() == [event.call for event in run.events] == list(range(6))
    np.testing.assert_allclose(run["logits"]["mean"], 3 * 0.9 ** np.arange(6), rtol=1e-6)
    shapes = [event.site.watch.shape for event in run.events if event.site.watch]
    assert shapes == [(4,), (4,), (2,), (4,), (4,), (2,)]
    assert "float32[2] or float32[4], 6 steps" in repr(run["logits"])


@pytest.mark.parametrize("other", [jnp.float16, jnp.bfloat16])
def test_a_value_of_another_dtype_stays_one_value_if_a_condition_skips_calls(other):
    step = make_step()
    with jdw.capture(watch="logits", when="logits.max() > 3.5") as run:
        for number, dtype in enumerate((jnp.float32, other, jnp.float32, other)):
            step(jnp.full(3, 1 + number, dtype), jnp.ones((4, 3), dtype))
    assert list(run) == ["logits"]
    assert run["logits"].steps.tolist() == [1, 2, 3]
    assert run.series("logits.mean")[1].tolist() == [6.0, 9.0, 12.0]


def test_gradients_stay_with_their_values():
    def loss(w, xb):
        logits = xb @ w
        return (logits**2).sum()

    step = jax.jit(jax.value_and_grad(loss))
    with jdw.capture(watch="logits,grad/logits") as run:
        for count in (4, 2, 4):
            step(jnp.ones(3), jnp.ones((count, 3)))
    assert sorted(run) == ["grad/logits", "logits"]
    gradient = run["logits"].gradient
    assert gradient.steps.tolist() == run["logits"].steps.tolist() == [0, 1, 2]
    assert gradient["mean"].tolist() == [6.0, 6.0, 6.0]


def test_a_layer_of_another_width_in_one_program_is_another_value():
    def layer(x, w):
        hidden = x @ w
        return hidden

    with jdw.capture(watch="hidden") as run:
        jax.jit(lambda x: layer(layer(x, jnp.ones((3, 5))), jnp.ones((5, 2))))(jnp.ones(3))
    assert [one["mean"].tolist() for one in run.values.values()] == [[3.0], [15.0]]


def test_each_call_and_each_entry_of_the_sites_says_the_type_that_the_value_had_then():
    @jax.jit
    def double(x):
        doubled = x * 2
        return doubled

    with jdw.capture(watch="doubled") as run:
        for argument in (jnp.ones(3), jnp.ones(5, jnp.bfloat16), jnp.ones(3)):
            double(argument)
    jax.effects_barrier()
    of_events = [(event.site.watch.shape, event.site.watch.dtype) for event in run.events]
    assert of_events == [((3,), "float32"), ((5,), "bfloat16"), ((3,), "float32")]
    assert {(site.watch.shape, site.watch.dtype) for site in run.sites} == set(of_events)
    assert len({site.id for site in run.sites}) == len(repr(run.sites).splitlines()) == 1


@pytest.mark.parametrize("reverse", [False, True])
def test_steps_are_counted_by_the_loops_that_each_call_had(reverse):
    @jax.jit
    def summed(rows):
        def row(total, columns):
            def column(total, x):
                partial = total + x
                return partial, None

            return jax.lax.scan(column, total, columns)[0], None

        return jax.lax.scan(row, 0.0, rows, reverse=reverse)[0]

    shapes = [(2, 4), (3, 2), (2, 4)]
    with jdw.capture(watch="partial") as run:
        for shape in shapes:
            summed(jnp.ones(shape))
    jax.effects_barrier()
    wanted, begin = [], 0
    for rows, columns in shapes:
        wanted += [begin + row + column / columns for row in range(rows) for column in range(columns)]
        begin += rows
    np.testing.assert_allclose(run["partial"].steps, wanted)
