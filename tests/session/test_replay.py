"""Test that a call is replayed with its inputs, with a result equal to the bit."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from tests.archive.programs import bits


@partial(jax.jit, donate_argnums=0, static_argnames="scale")
def train_step(params, key, x, *, scale):
    h = jnp.where(jax.random.bernoulli(key, 0.9, (8, 4)), jnp.tanh(x @ params["w"]), 0.0)
    ratio = h.sum() / (params["count"] - 7.0)  # At call 7 the ratio is infinite, and 0 times infinity is NaN.
    loss = (ratio * 0.0 + h**2).mean() * scale
    jax.debug.print("loss {loss}", loss=loss)
    return {"w": params["w"] - 0.1 * loss, "count": params["count"] + 1.0, "half": params["half"]}, loss


def trained(**options: Any):
    loss, params = (
        jnp.float32(0),
        {"w": jnp.full((4, 4), 0.3), "count": jnp.float32(0), "half": jnp.ones(3, jnp.bfloat16)},
    )
    key, x = jax.random.key(0), jnp.arange(32.0).reshape(8, 4) / 32
    with jdw.capture(**options) as run:
        for _ in range(20):
            key, own = jax.random.split(key)
            params, loss = train_step(params, own, x, scale=2)
            if not np.isfinite(loss):
                break
    return run, params, loss


@pytest.mark.behaviour("R5")
def test_the_call_that_gave_nan_gives_it_again_and_the_watch_says_where_it_began():
    plain, *expected = trained()
    run, *result = trained(keep_inputs=2)
    assert bits(jax.tree.leaves(result)) == bits(jax.tree.leaves(expected)), "what is kept changes nothing"
    assert [*run.inputs] == [6, 7] and len(run.calls) == len(plain.calls) == 8 and not plain.inputs
    again = jdw.replay(run, 7, watch="h,ratio,loss")
    assert bits(jax.tree.leaves(again.result)) == bits(jax.tree.leaves(result))
    assert np.isposinf(again.run["ratio"]["value"]).all()
    assert "loss nan" in [event.text for event in again.run.events]
    earlier = jdw.replay(run, 6)
    assert np.isfinite(earlier.result[1]) and bits(jax.tree.leaves(earlier.result[0])) == bits(
        jax.tree.leaves(run.inputs[7].args[0])
    ), "what call 6 gives is what call 7 was given"
    assert any("Those of `train_step` have " in note and "copied before each call" in note for note in run.notes)


def test_replay_takes_another_function_and_refuses_calls_whose_inputs_are_not_kept():
    run, *_ = trained(keep_inputs=1)
    mended = jdw.replay(run, f=lambda params, _key, x, scale: (x @ params["w"]).sum() * scale, watch=None)
    assert np.isfinite(mended.result)
    with pytest.raises(LookupError, match=r"call 3 are not kept; those of 7 are"):
        jdw.replay(run, 3)
    with jdw.capture() as other:
        jax.debug.print("x")
    with pytest.raises(LookupError, match="no inputs of calls are kept: capture with keep_inputs=2"):
        jdw.replay(other)


def test_the_next_run_that_keeps_inputs_lets_go_of_those_before():
    first, *_ = trained(keep_inputs=2)
    second, *_ = trained(keep_inputs=2)
    assert not first.inputs and len(second.inputs) == 2


def test_a_negative_keep_inputs_is_refused():
    with pytest.raises(ValueError, match="keep_inputs must be"):
        jdw.capture(keep_inputs=-1)


def test_replay_refuses_arguments_of_a_wrong_type():
    with pytest.raises(TypeError, match=r"replay\(run, call=N\) takes a run"):
        jdw.replay(3)  # pyright: ignore[reportArgumentType]
    run, *_ = trained(keep_inputs=1)
    with pytest.raises(TypeError, match=r"takes the number of a call, not <PjitFunction.*; f= is the function"):
        jdw.replay(run, train_step)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"f= takes the function to call with these inputs, not 3"):
        jdw.replay(run, f=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"like=\(state,\), not a dict"):
        jdw.replay(run, like={"w": 1})  # pyright: ignore[reportArgumentType]


def doubling(**options: Any):
    @partial(jax.jit, **options)
    def double(p):
        h = p * 2
        return h + 0.0

    return double


@pytest.mark.parametrize("watch", [True, "h"])
@pytest.mark.parametrize("options", [{}, {"donate_argnums": 0}])
@pytest.mark.parametrize("is_warm", [False, True])
def test_the_call_that_compiles_what_is_watched_has_its_own_inputs(watch, options, is_warm):
    double = doubling(**options)
    if is_warm:
        double(jnp.ones(3))
    with jdw.capture(watch=watch, break_on="nonfinite") as run:
        double(jnp.arange(3.0))
        double(jnp.arange(3.0) + 1)
    assert [inputs.args[0].tolist() for inputs in run.inputs.values()] == [[0, 1, 2], [1, 2, 3]]
    assert jdw.replay(run, 0).result.tolist() == [0, 2, 4]
    assert jdw.replay(run, 0, f=lambda p: p * 3).result.tolist() == [0, 3, 6]


def test_inner_calls_and_traces_are_no_inputs_of_the_recorded_call():
    ahead, inner = jax.jit(lambda x: x * 5), jax.jit(lambda x: x + 1)

    @jax.jit
    def outer(x):
        with jax.ensure_compile_time_eval():
            one = inner(jnp.zeros(()))
        jax.debug.print("{}", x)
        return x * one

    with jdw.capture(keep_inputs=2) as run:
        ahead.lower(jnp.ones(7))
        outer(jnp.float32(3))
    assert [inputs.args for inputs in run.inputs.values()] == [(3.0,)]


@pytest.mark.parametrize(
    ("call", "options"),
    [
        (lambda: doubling()(jnp.ones(3)), {"keep_inputs": 2}),
        (lambda: doubling()(jnp.ones(3)), {"break_on": "nonfinite"}),
        (lambda: jax.grad(lambda p: doubling()(p).sum())(jnp.ones(3)), {"keep_inputs": 2, "watch": "h"}),
    ],
)
def test_replay_says_how_to_keep_inputs_if_the_program_was_not_captured(call, options):
    with jdw.capture(**options) as run:
        call()
    assert any("add a print, or watch=True" in note or "was never checked" in note for note in run.notes)
    with pytest.raises(LookupError, match="print, are watched or call the host: add a print") as caught:
        jdw.replay(run)
    assert "capture with keep_inputs" not in str(caught.value)


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: lambda p: f(p) + 0.0])
def test_a_function_that_gives_its_arguments_away_leaves_those_that_are_kept(wrap):
    x = jnp.arange(3.0)
    with jdw.capture(watch="h", keep_inputs=1) as run:
        doubling()(x)
    for _ in range(2):
        assert jdw.replay(run, f=wrap(doubling(donate_argnums=0))).result.tolist() == [0, 2, 4]
    assert x.tolist() == [0, 1, 2]
    doubling(donate_argnums=0)(x)
    with pytest.raises(LookupError, match="deleted or donated"):
        jdw.replay(run)


def test_the_inputs_of_a_watched_twin_are_those_of_the_call():
    double = doubling()
    with jdw.capture(watch="h", exact=True, keep_inputs=2) as run:
        for i in range(3):
            double(jnp.arange(3.0) + i)
    assert [inputs.args[0].tolist() for inputs in run.inputs.values()] == [[1, 2, 3], [2, 3, 4]]
    assert jdw.replay(run).result.tolist() == [4, 6, 8]


def test_a_function_that_equinox_has_jitted_is_called_with_its_own_arguments(tmp_path):
    equinox = pytest.importorskip("equinox")

    class Model(equinox.Module):
        w: jax.Array
        act: Any

        def __call__(self, x):  # noqa: ANN204
            return self.act(self.w * x)

    @equinox.filter_jit
    def step(model, x):
        y = model(x)
        jax.debug.print("y {y}", y=y)
        return y

    models = [Model(jnp.full(2, float(number)), jnp.tanh) for number in range(2)]
    with jdw.capture(keep_inputs=2, record=tmp_path / "run.jdw") as run:
        results = [step(model, jnp.arange(2.0)) for model in models]
    jax.effects_barrier()
    again = jdw.replay(run, 1, step)
    np.testing.assert_array_equal(again.result, results[1])
    assert repr(again).startswith("<Replay: result of ArrayImpl with float32[2]; run: <Run 'replay of step': done")
    loaded = jdw.load(tmp_path / "run.jdw")
    with pytest.raises(ValueError, match=r"give an example of each.*replay\(run, call, step, like=\(model, x\)\)"):
        jdw.replay(loaded, 1, step)
    with pytest.raises(
        ValueError,
        match=r"was given the arrays float32\[2\], float32\[2\]\. Those in like= are float32\[2\], float32\[3\]",
    ):
        jdw.replay(loaded, 1, step, like=(models[0], jnp.zeros(3)))
    for number, result in enumerate(results):
        np.testing.assert_array_equal(jdw.replay(loaded, number, step, like=(models[0], jnp.zeros(2))).result, result)
