"""Test how operations are distinguished by their origin."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun

from jax_debug_widgets._jax.origins.origins import operation_of


def test_operations_are_distinguished_that_one_line_has_made():
    def f(x):
        for _ in range(2):
            x = jnp.sin(x)
        return x

    first, second = jax.make_jaxpr(f)(1.0).eqns
    assert first.source_info.traceback == second.source_info.traceback, "frame by frame"
    assert operation_of(first) != operation_of(second)
    assert len({operation_of(one) for one in (first, second, first)}) == 2


def test_an_operation_is_known_again_in_what_jax_makes_of_it():
    traced = jax.make_jaxpr(jax.jit(jnp.sin))(1.0)
    (inner,) = traced.eqns[0].params["jaxpr"].jaxpr.eqns
    batched = jax.make_jaxpr(jax.vmap(jaxpr_as_fun(traced)))(jnp.ones(3))
    assert operation_of(inner) in {
        operation_of(one) for call in batched.eqns for one in call.params["jaxpr"].jaxpr.eqns
    }
