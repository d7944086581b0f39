"""Test that a stop by `--break-on` shows all known values of its step: values, gradients, callers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw


def unit(z):
    n2 = (z**2).sum(-1, keepdims=True)
    norm = jnp.where(n2 > 0, jnp.sqrt(n2), 1.0)
    return z / norm


def spread(a, b):
    ua, ub = unit(a), unit(b)
    logits = ua @ ub.T
    return logits.mean()


A, B = np.float32([[3, 4], [0, 0], [6, 8]]), np.float32([[5, 12], [8, 6]])


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize("options", [{}, {"values": True}, {"lanes": True, "histograms": True}], ids=str)
def test_a_stop_by_a_gradient_has_the_values_of_its_frame_and_of_its_callers(stopped, options):
    def user(page):
        stop = page.stop()
        assert stop["reason"] == "gradient of n2 is not finite: 1 NaN, at [1, 0]"
        assert [frame["function"] for frame in stop["frames"]] == ["unit", "spread"]
        names = [[one["name"] for one in frame["locals"]] for frame in stop["frames"]]
        assert names[0][:3] == ["grad/n2", "n2", "norm"]
        assert {"ua", "ub", "logits", "grad/logits"} <= {*names[1]}
        own = next(one for one in stop["frames"][0]["locals"] if one["name"] == "n2")
        assert (own["stats"]["nan"], own["stats"]["zero"], own["stats"]["max"]) == (0, 1, 100)
        # Of two calls, the value is that of the stopped one.
        assert page.say(stop, "n2.ravel().tolist()") == "[25.0, 0.0, 100.0]"
        assert page.say(stop, "jnp.isnan(grad('n2')).ravel().tolist()") == "[False, True, False]"
        assert page.say(stop, "grad.norm.shape") == page.say(stop, 'grad("norm").shape') == "(3, 1)"
        assert page.say(stop, "logits.shape") == "(3, 2)"
        missing = page.say(stop, "grad('nothing')")
        assert "no gradient of 'nothing' is known at this stop; there are" in missing and "namespace.py" not in missing
        shown = page.ask("local", stop=stop["id"], frame=0, name="grad/n2")
        assert (shown["type"], shown["shape"]) == ("array", [3, 1])
        assert "in spread" in page.say(stop, "bt") and "unit(a), unit(b)" in page.say(stop, "u")
        assert page.say(stop, "logits.ndim, n2.ndim") == "(2, 2)"
        page.go_on(stop, "all")

    f = jax.jit(jax.value_and_grad(spread))
    _, run = stopped(f, A, B, user=user, watch=True, break_on="nonfinite", **options)
    kept = "value" in run["n2@test_known_values.py:15#1"].site.values
    assert kept == ("values" in options), "what a stop has shown is not kept"


def in_a_scan(x):
    def step(x, _):
        low = x - 1
        return low, jnp.log(low).sum()

    return lax.scan(step, x, length=3)


def in_a_branch(x):
    def negative(x):
        low = x - 3
        return jnp.log(low)

    return lax.cond(x.sum() > 0, negative, lambda x: x, x)


def under_vmap(x):
    def f(x):
        low = x - 3
        return jnp.log(low)

    return jax.vmap(f)(x)


def in_a_checkpoint(x):
    @jax.checkpoint
    def f(x):
        low = x - 3
        return jnp.log(low).sum()

    return jax.value_and_grad(f)(x)


def in_a_while(x):
    def body(x):
        low = x - 1
        return jnp.where(low > -1, jnp.log(low), low)

    return lax.while_loop(lambda x: jnp.isfinite(x).all(), body, x)


@pytest.mark.parametrize("function", [in_a_scan, in_a_branch, under_vmap, in_a_checkpoint, in_a_while])
@pytest.mark.parametrize("condition", ["nonfinite", "(low < 0).any()"])
@pytest.mark.each
def test_the_value_that_causes_a_stop_is_a_whole_array(function, condition, stopped, same_bits):
    x, seen = jnp.float32([2.5, 2.0, 1.5]), []

    def user(page):
        stop = page.stop()
        seen.append(page.say(stop, "jnp.stack([low, jnp.log(low)]).shape"))
        seen.append(page.say(stop, "bool((low < 0).any()) or bool(jnp.isnan(jnp.log(low)).any() | (low == 0).any())"))
        page.go_on(stop, "all")

    f = jax.jit(function)
    given, run = stopped(f, x, user=user, watch=True, break_on=condition)
    assert seen == ["(2, 3)", "True"]
    assert same_bits(given, f(x))
    assert not [note for note in run.notes if "unwatched" in note], run.notes


def nested(x):
    def outer(x, _):
        def inner(low, _):
            low = low - 0.25
            return low, None

        low, _ = lax.scan(inner, x, length=2)
        last = jnp.log(low)
        return low, last

    return lax.scan(outer, x, length=4)


@pytest.mark.parametrize(("condition", "step", "said"), [
    ("nan", [2], {"float(low), bool(jnp.isnan(last))": "(-0.25, True)"}),
    ("low <= 0", [2, 0], {"float(low)": "0.0", "last": "NameError"}),  # That value is of the previous step.
])  # fmt: skip
def test_a_stop_knows_values_of_other_loops_of_the_same_step_and_nothing_older(stopped, condition, step, said):
    def user(page):
        stop = page.stop()
        assert stop["step"] == step
        assert all(answer in page.say(stop, text) for text, answer in said.items())
        page.go_on(stop, "all")

    stopped(jax.jit(nested), jnp.float32(1.25), user=user, watch=True, break_on=condition)


def test_a_large_value_has_its_statistics_at_a_stop(stopped):
    def user(page):
        stop = page.stop()
        assert page.say(stop, "h.nan") == "1"
        assert "--values" in page.say(stop, "h.sum()")
        page.go_on(stop, "all")

    def f(x):
        h = jnp.log(x)
        return h.sum()

    x = jnp.ones((1 << 20) + 1).at[7].set(-1)
    stopped(jax.jit(f), x, user=user, watch="h", break_on="nan")


def test_a_nested_function_sees_what_the_function_around_it_has_computed(stopped):
    def outer(x):
        low = x - 3
        other = low * 2

        def inner(y):
            high = jnp.log(y) + low.sum()
            return -high

        def hiding(low):
            top = low + other
            return top + 0

        return inner(hiding(x))

    def user(page):
        stop = page.stop()
        assert stop["frames"][0]["function"].endswith("hiding")
        assert page.say(stop, "other.tolist()") == "[-2.0, 2.0]"
        assert "no value at this stop" in page.say(stop, "low"), "an argument of its own"
        page.go_on(stop)
        stop = page.stop()
        assert stop["frames"][0]["function"].endswith("inner")
        assert page.say(stop, "low.tolist(), float(high[0])") == "([-1.0, 1.0], -inf)"
        assert "low" in [one["name"] for one in stop["frames"][0]["locals"]]
        page.go_on(stop, "all")

    x = jnp.float32([2, 4])
    stopped(jax.jit(outer), x, user=user, watch=True, break_on=["top < 10", "high < 10"])


REFUSED = [
    "jnp.isnan(low)", "low + 1", "1 - low", "low == 0", "low > 0", "low[0]", "-low", "low @ low", "np.isnan(low)", "low.sum()",
    "low.mean()", "low.T", "[*low]", "float(low)", "len(low)", "jnp.stack([low])", "jax.vmap(jnp.sin)(low)",
    "jnp.dot(low, low)", "grad('low') * 2", "jnp.abs(grad.low)", "jnp.exp(low).sum()",
]  # fmt: skip


def test_using_an_array_that_was_not_kept_says_what_to_do(stopped):
    def f(x):
        low = x - 3
        return jnp.sin(low).sum()

    def user(page):
        stop = page.stop()
        said = {text: page.say(stop, text) for text in REFUSED}
        assert [text for text, one in said.items() if "--values" not in one or "Traceback" in one] == [], said
        assert page.say(stop, "low.min, low.nan, low.shape") == "(-2.0, 0, (3,))"
        assert "ZeroDivisionError" in page.say(stop, "low.min / 0")
        page.go_on(stop, "all")

    x = jnp.float32([1, 2, 3])
    stopped(jax.jit(jax.grad(f)), x, user=user, watch=True, break_on="low")


def test_quitting_at_a_stop_skips_later_stops_of_the_same_step(stopped):
    def f(x):
        h = jnp.log(x)
        g = h * 2
        return g + h

    runs = []

    def user(page):
        runs.append(page.run)
        page.go_on(page.stop(), "quit")

    with pytest.raises(jdw.Stopped):
        stopped(jax.jit(f), jnp.float32([-1, 1]), user=user, watch=True, break_on="nan")
    (point,) = runs[0].status().breakpoints
    assert point.hits == 1
