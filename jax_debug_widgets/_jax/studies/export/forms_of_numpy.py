"""The forms of high-level primitives, which jax 0.12 has for some functions of `jax.numpy`: see `forms`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

import jax.numpy as jnp

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.literals import text_of, tuple_of


def high_level(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    """The function of `jax.numpy` of that name, with the parameters that it takes."""
    operation = versions.high_level(equation)
    name = type(operation).__name__.lower()
    function = getattr(jnp, name, None)
    if operation is None or not callable(function):
        return
    taken = inspect.signature(function).parameters
    given = [f"{key}={text_of(value)}" for key, value in operation.params.items() if key in taken]
    if name == "nonzero" and len(x) > 1:  # What stands for missing indices are operands.
        x, given = x[:1], [*given, f"fill_value={x[1] if len(x) == len(_ONE_FILL) else tuple_of(x[1:])}"]
    yield f"jnp.{name}({', '.join([*x, *given])})"
    each = f"lambda x: jnp.{name}({', '.join(['x', *given])})"
    for _ in equation.invars[0].aval.shape:  # pyright: ignore[reportAttributeAccessIssue]
        each = f"jax.vmap({each})"
        yield f"{each}({x[0]})"


def stopped(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    """`lax.stop_gradient` of a number, which JAX gives back un-jitted: an array is needed there."""
    if isinstance(equation.invars[0], core.Literal):
        yield f"lax.stop_gradient(jnp.asarray({x[0]}))"


_ONE_FILL = ("array", "fill value")
