"""Test `custom_jvp` around a host function: each host call names the derivative that asked for it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions

Z = np.float32(2.5)


def host_jv(v, z):
    return special.jv(np.asarray(v), np.asarray(z)).astype(np.float32)


@jax.custom_jvp
def jv(v, z):
    """Return the Bessel function of the first kind and order v."""
    return jax.pure_callback(
        host_jv, jax.ShapeDtypeStruct(jnp.shape(z), jnp.float32), v, z, vmap_method="broadcast_all"
    )


@jv.defjvp
def _(primals, tangents):
    (v, z), (_, t) = primals, tangents
    return jv(v, z), t * (jv(v - 1, z) - jv(v + 1, z)) / 2


def j1(z):
    return jv(np.float32(1), z)


def orders(run):
    """Return for each host call the order of the Bessel function, and the derivative that asked for it."""
    return [(int(np.ravel(event.args[0])[0]), run.callbacks.call_of(event).asked.derivative) for event in run.events]


PROGRAMS = {
    "the function": (lambda: j1, [(1, 0)]),
    "grad": (lambda: jax.grad(j1), [(0, 1), (1, 1), (2, 1)]),
    "value and grad": (lambda: jax.value_and_grad(j1), [(0, 1), (1, 1), (2, 1)]),
    "jit of grad": (lambda: jax.jit(jax.grad(j1)), [(0, 1), (2, 1)]),
    "jit of hessian": (lambda: jax.jit(jax.hessian(j1)), [(-1, 2), (1, 2), (1, 2), (3, 2)]),
    "jit of vmap of grad": (lambda: jax.jit(lambda z: jax.vmap(jax.grad(j1))(z[None])[0]), [(0, 1), (2, 1)]),
}


@pytest.mark.behaviour("C5")
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_host_call_and_the_derivative_that_asked_for_it(program, same_bits):
    make, expected = PROGRAMS[program]
    plain = make()(Z)
    with jdw.capture() as run:
        captured = make()(Z)
    assert same_bits(plain, captured)
    assert sorted(orders(run)) == expected


EAGER = pytest.param(
    lambda f: f,
    id="eager",
    marks=pytest.mark.xfail(
        versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="who asked for an un-jitted call is not told apart there"
    ),
)


@pytest.mark.behaviour("C5")
@pytest.mark.parametrize("wrap", [EAGER, pytest.param(jax.jit, id="jit")])
def test_a_call_says_which_line_of_the_rule_asked_for_it(wrap):
    with jdw.capture() as run:
        wrap(jax.grad(j1))(Z)
    asked = {int(event.args[0]): run.callbacks.call_of(event).asked.asked_by for event in run.events}
    assert asked[0][0].endswith("in _: jv(v - 1, z)")
    assert asked[2][0].endswith("in _: jv(v + 1, z)")
    assert asked[2][1].endswith("in j1: jv(np.float32(1), z)")
    assert all("jax.pure_callback(" in event.site.source for event in run.events)


@pytest.mark.behaviour("C5")
def test_the_second_derivative_goes_through_the_rule_twice():
    with jdw.capture() as run:
        second = jax.jit(jax.hessian(j1))(Z)
    assert second == pytest.approx(special.jvp(1, float(Z), 2), rel=1e-5)
    rules = [sum("in _: " in line for line in call.asked.asked_by) for call in run.callbacks.calls]
    assert rules == [2, 2, 2, 2]


@pytest.mark.behaviour("C5")
def test_the_inventory_counts_the_calls_of_a_derivative_that_the_compiler_keeps():
    with jdw.capture() as run:
        jax.jit(jax.grad(j1))(Z)
    # One line, called from the function and from its derivative rule: a site for each caller.
    counts = [(one.staged, one.kept, one.calls) for one in run.callbacks]
    assert [sum(column) for column in zip(*counts, strict=True)] == [3, 2, 2], counts


def host_cos(z):
    return np.cos(np.asarray(z))


@jax.custom_vjp
def sin(z):
    return jnp.sin(z)


def backward(z, cotangent):
    return (cotangent * jax.pure_callback(host_cos, z, z),)


sin.defvjp(lambda z: (jnp.sin(z), z), backward)


@pytest.mark.behaviour("C5")
@pytest.mark.parametrize("wrap", [jax.grad, lambda f: jax.grad(jax.jit(f)), lambda f: jax.jit(jax.grad(jax.jit(f)))])
def test_a_call_in_a_backward_rule_is_reported_at_its_own_line(wrap):
    with jdw.capture() as run:
        wrap(sin)(Z)
    (site,) = run.sites
    assert (site.function, site.line) == ("backward", backward.__code__.co_firstlineno + 1)
    assert site.phase == "backward"
