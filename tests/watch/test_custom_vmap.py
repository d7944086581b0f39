"""Test functions with a `vmap` rule: values in the functions, values in their rules, and their results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.custom_batching import custom_vmap, sequential_vmap

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets.session import current_session

XS = np.linspace(-1.0, 2.0, 12, dtype=np.float32).reshape(3, 4)
SHIFTED = np.stack([XS, XS + np.float32(1)])


def sine(x):
    h = jnp.sin(x * np.float32(2))
    t = h.sum()
    return t * t


by_hand, through_vmap, one_by_one = custom_vmap(sine), custom_vmap(sine), sequential_vmap(sine)


@by_hand.def_vmap
def _rule(_axis_size, _in_batched, xs):
    r = jnp.sin(xs * np.float32(2))
    u = r.sum(-1)
    return u * u, True


@through_vmap.def_vmap
def _rule_with_vmap(_axis_size, _in_batched, xs):
    return jax.vmap(sine)(xs), True


def model(f):
    def run(x):
        y = f(x + np.float32(1))
        return y * np.float32(3)

    return run


def repeated(f):
    return lambda x: lax.scan(lambda x, _: (x + np.float32(1), f(x)), x, length=2)


def inner(x):
    return np.sin((x + np.float32(1)) * np.float32(2))


FUNCTIONS = {"by hand": by_hand, "through vmap": through_vmap, "one by one": one_by_one}

UNMAPPED = {
    "jit": jax.jit,
    "loop": lambda f: jax.jit(repeated(f)),
    "checkpoint": lambda f: jax.jit(jax.checkpoint(f)),
    "jvp": lambda f: jax.jit(lambda x: jax.jvp(f, (x,), (x,))),
}

MAPPED = {
    "jit of vmap": lambda f: jax.jit(jax.vmap(f)),
    "vmap of jit": lambda f: jax.vmap(jax.jit(f)),
    "vmap of loop": lambda f: jax.jit(jax.vmap(repeated(f))),
    "vmap of jvp": lambda f: jax.jit(jax.vmap(lambda x: jax.jvp(f, (x,), (x,)))),
}


@pytest.mark.parametrize("around", UNMAPPED)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_in_a_custom_vmap_function_are_watched(name, around, watched, agrees, same_bits):
    program = UNMAPPED[around](model(FUNCTIONS[name]))
    plain = program(XS[0])
    run = watched(program, XS[0], watch="h,t,y")
    assert same_bits(run.result, plain)
    for step in range(2 if around == "loop" else 1):
        h = inner(XS[0] + np.float32(step))
        agrees(run["h"], h, step)
        agrees(run["t"], h.sum(), step)
        agrees(run["y"], h.sum() ** 2, step)


@pytest.mark.parametrize("around", MAPPED)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_of_a_custom_vmap_function_are_recorded_by_lane(name, around, watched, same_bits, monkeypatch):
    monkeypatch.setattr(current_session().capture.lanes, "_found", {})  # Forgets lanes of other tests.
    program = MAPPED[around](model(FUNCTIONS[name]))
    plain = program(XS)
    run = watched(program, XS, watch="lanes/y")
    assert same_bits(run.result, plain)
    for step in range(2 if "loop" in around else 1):
        wanted = inner(XS + np.float32(step)).sum(1) ** 2
        np.testing.assert_allclose(run["y"].lanes["value"][step], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested_vmaps_of_a_custom_vmap_function_have_all_lanes(name, watched):
    run = watched(jax.jit(jax.vmap(jax.vmap(model(FUNCTIONS[name])))), SHIFTED, watch="lanes/y")
    assert run["y"].site.watch.lanes == (2, 3)
    np.testing.assert_allclose(run["y"].lanes["value"][0], inner(SHIFTED).sum(2) ** 2, rtol=1e-4, atol=1e-5)


since_9 = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="JAX 0.8 says that all that a rule computes comes from the call"
)


@pytest.mark.parametrize(
    "around", [name if name == "jit of vmap" else pytest.param(name, marks=since_9) for name in MAPPED]
)
def test_values_in_a_vmap_rule_are_watched(around, watched, agrees):
    run = watched(MAPPED[around](model(by_hand)), XS, watch="r,u")
    for step in range(2 if "loop" in around else 1):
        agrees(run["r"], inner(XS + np.float32(step)), step)
        agrees(run["u"], inner(XS + np.float32(step)).sum(1), step)


@pytest.mark.parametrize("around", ["jit of vmap", pytest.param("vmap of jit", marks=since_9)])
def test_values_that_a_vmap_rule_maps_have_lanes(around, watched):
    run = watched(MAPPED[around](model(through_vmap)), XS, watch="lanes/h,lanes/t")
    np.testing.assert_allclose(run["h"].lanes["mean"][0], inner(XS).mean(1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(run["t"].lanes["value"][0], inner(XS).sum(1), rtol=1e-4, atol=1e-6)


def test_values_mapped_one_by_one_have_a_step_for_each_lane(watched, agrees):
    run = watched(jax.jit(jax.vmap(model(one_by_one))), XS, watch="h")
    for step, x in enumerate(XS):
        agrees(run["h"], inner(x), step)
