"""Test that a watched program has an equation for each named gradient, and an unwatched one is that of plain JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.extend import core

import jax_debug_widgets as jdw
from tests.tapped import tapped

X = jnp.linspace(-1.0, 1.0, 4)


def loss(x):
    o = jnp.sin(x) + x
    return (o * o).sum()


def inside(equation):
    found = [one for value in equation.params.values() for one in (value if isinstance(value, tuple) else (value,))]
    closed = [one.jaxpr if isinstance(one, core.ClosedJaxpr) else one for one in found]
    return [one for one in closed if isinstance(one, core.Jaxpr)]


def names_in(jaxpr):
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in inside(equation):
            yield from names_in(inner)


@pytest.mark.parametrize(("options", "has_them"), [({}, False), ({"watch": "o"}, True)])
def test_only_watched_programs_have_naming_equations_and_their_jaxprs_hide_them(options, has_them):
    with jdw.capture(**options):
        traced = jax.jit(jax.grad(loss)).trace(X)
        assert "named" not in names_in(traced.jaxpr.jaxpr)
    assert ("named" in names_in(traced._params["jaxpr"].jaxpr)) == has_them
    assert "named" not in names_in(jax.jit(jax.grad(loss)).trace(X)._params["jaxpr"].jaxpr)


def test_naming_equations_leave_the_lowered_program_unchanged():
    def text():
        return tapped(jax.jit(jax.grad(loss)).trace(X).lower()).as_text()

    plain = text()
    with jdw.capture(watch="nothing_is_called_so"):
        assert text() == plain


def test_an_unjitted_pullback_copies_no_array(monkeypatch):
    made = []
    monkeypatch.setattr(jax.lax.copy_p, "impl", lambda value: made.append(value) or value)
    with jdw.capture(watch="o"):
        _, pull_back = jax.vjp(jnp.sin, X)
        pull_back(X)
        jax.vmap(lambda x: jax.vjp(jnp.sin, x)[1](x))(X)
    assert not made


def slope(x_ref, o_ref):
    _, pull_back = jax.vjp(lambda x: jnp.sin(x) + x, x_ref[...])
    o_ref[...] = pull_back(jnp.ones(4))[0]


def plus(x_ref, o_ref):
    o_ref[...] = jnp.sin(x_ref[...]) + x_ref[...]


def test_kernels_of_pallas_have_no_naming_equations(watched, agrees):
    """Compilers of Pallas do not know the primitive."""

    def called(kernel, x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)

    def model(x):
        y, tangent = jax.jvp(lambda x: called(plus, x), (x,), (jnp.ones(4),))
        s = y + called(slope, x)
        return (s + tangent).sum()

    jitted = jax.jit(model)
    with jdw.capture(watch="s"):
        program = jitted.trace(X).jaxpr
    kernels = [one for one in program.jaxpr.eqns if one.primitive.name == "pallas_call"]
    assert len(kernels) == 2
    for kernel in kernels:
        assert not {"copy", "named"} & {name for inner in inside(kernel) for name in names_in(inner)}
    run = watched(jitted, X, watch="s")
    agrees(run["s"], np.sin(X) + X + np.cos(X) + 1)
