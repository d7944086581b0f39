"""Test that programs which the user requests while watching are those of JAX, which other interpreters can read."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import print_saved_residuals
from jax.experimental import jet
from jax.experimental.roofline import roofline
from jax.extend.core import jaxpr_as_fun

import jax_debug_widgets as jdw
from tests.devices import PLATFORM

X = jnp.linspace(0.5, 1.0, 3)


def loss(x):
    h = jnp.sin(x)

    def step(carry, y):
        kept = carry * y
        return kept, kept

    total, _ = jax.lax.scan(step, h.sum(), h)
    return total + jax.jit(jnp.cos)(h).sum()


PROGRAMS = {
    "grad": jax.grad(loss),
    "jitted": jax.jit(jax.grad(loss)),
    "vmap": jax.vmap(jax.grad(lambda x: loss(x[None]))),
    "second": jax.grad(lambda x: jax.grad(loss)(x).sum()),
    "vjp": lambda x: jax.vjp(loss, x)[1](1.0),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_make_jaxpr_and_trace_show_no_primitive_of_ours_and_gradients_are_reported_all_the_same(program, watched):
    f = PROGRAMS[program]
    with jdw.capture(watch=True):
        shown = [jax.make_jaxpr(f)(X), jax.jit(f).trace(X).jaxpr]
    assert not any("named[" in str(one) for one in shown)
    wanted = f(X)
    for one in shown:
        np.testing.assert_allclose(jaxpr_as_fun(one)(X)[0], jax.tree.leaves(wanted)[0], rtol=1e-6)
    run = watched(jax.jit(f), X)
    assert any(name.startswith("grad/h") for name in run.values), list(run.values)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_jet_of_a_gradient_gives_what_it_gives_unwatched(wrap):
    f = wrap(jax.grad(lambda x: jnp.sin(jnp.exp(x) * 2)))

    def taylor(x):
        return jet.jet(f, (x,), ((1.0, 0.0),))

    wanted = jax.jit(taylor)(0.5)
    with jdw.capture(watch=True):
        given = jax.jit(taylor)(0.5), taylor(0.5)
    for one in given:
        # A watched program is fused differently, and GPUs then round differently.
        rtol = 1e-6 if PLATFORM == "cpu" else 1e-5
        np.testing.assert_allclose(jax.tree.leaves(one), jax.tree.leaves(wanted), rtol=rtol)


def test_a_roofline_of_a_gradient_is_that_of_the_unwatched_program():
    f = jax.grad(lambda x: (jnp.sin(x) * 2).sum())
    _, wanted = roofline(f)(X)
    with jdw.capture(watch=True):
        _, given = roofline(f)(X)
    assert given == wanted


def test_print_saved_residuals_names_the_lines_of_the_user(capsys):
    f = lambda x: jnp.sin(jnp.cos(x)).sum()  # noqa: E731
    print_saved_residuals(f, X)
    wanted = capsys.readouterr().out
    with jdw.capture(watch=True):
        print_saved_residuals(f, X)
    assert capsys.readouterr().out == wanted
