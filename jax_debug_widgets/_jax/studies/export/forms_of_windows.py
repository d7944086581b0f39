"""The forms of `lax.reduce_window`, and of its derivative by the largest or least element (max pooling): see `forms`."""

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


def windowed(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    """The sum, the largest or the least element of each window."""
    kind = equation.primitive.name.removeprefix("reduce_window_")
    yield _of_windows(equation, equation.invars[0], x[0], "add" if kind == "sum" else kind)


def _pooling(equation: core.JaxprEqn, operand: Any) -> str:
    kind = "max" if equation.params["select_prim"].name == "ge" else "min"
    return f"lambda x: {_of_windows(equation, operand, 'x', kind)}"


def _of_windows(equation: core.JaxprEqn, operand: Any, x: str, kind: str) -> str:
    params = equation.params
    dilations = [key for key in ("base_dilation", "window_dilation") if any(one != 1 for one in params.get(key, ()))]
    given = [
        x,
        _first(operand.aval.dtype, kind),
        f"lax.{kind}",
        *(text_of(tuple(params[key])) for key in ("window_dimensions", "window_strides", "padding")),
        *(f"{key}={text_of(tuple(params[key]))}" for key in dilations),
    ]
    return f"lax.reduce_window({', '.join(given)})"


def _first(dtype: Any, kind: str) -> str:
    """What the reduction of a window begins with."""
    if kind == "add":
        return "0.0" if jnp.issubdtype(dtype, jnp.inexact) else "0"
    if jnp.issubdtype(dtype, jnp.inexact):
        return "-jnp.inf" if kind == "max" else "jnp.inf"
    return text_of(int(jnp.iinfo(dtype).min if kind == "max" else jnp.iinfo(dtype).max))
