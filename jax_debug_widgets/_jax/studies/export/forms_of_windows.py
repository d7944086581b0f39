"""The forms of derivatives of `lax.reduce_window` by its largest or least element (max pooling): see `forms`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.literals import text_of


def pulled_back(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    """The gradient by the operand: each window's cotangent goes to the element that was chosen."""
    cotangent, operand = x
    yield f"jax.vjp({_pooling(equation, equation.invars[1])}, {operand})[1]({cotangent})[0]"


def pushed_forward(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    """The tangent of each window: that of the element that was chosen."""
    tangent, operand = x
    yield f"jax.jvp({_pooling(equation, equation.invars[1])}, ({operand},), ({tangent},))[1]"


def _pooling(equation: core.JaxprEqn, operand: Any) -> str:
    params, dtype = equation.params, operand.aval.dtype
    is_largest = params["select_prim"].name == "ge"
    if jnp.issubdtype(dtype, jnp.inexact):
        first = "-jnp.inf" if is_largest else "jnp.inf"
    else:
        first = text_of(int(jnp.iinfo(dtype).min if is_largest else jnp.iinfo(dtype).max))
    dilations = [key for key in ("base_dilation", "window_dilation") if any(one != 1 for one in params.get(key, ()))]
    given = [
        "x",
        first,
        "lax.max" if is_largest else "lax.min",
        *(text_of(tuple(params[key])) for key in ("window_dimensions", "window_strides", "padding")),
        *(f"{key}={text_of(tuple(params[key]))}" for key in dilations),
    ]
    return f"lambda x: lax.reduce_window({', '.join(given)})"
