"""The forms in which equations that make PRNG keys may be written: see `forms`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.literals import text_of

Operands = Sequence[str]


def seeded(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """A key made of a number."""
    yield f"jax.random.key({x[0]})"
    yield f"jax.random.key({x[0]}, impl={_impl(equation)!r})"


def wrapped(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """A key made of its numbers."""
    yield f"jax.random.wrap_key_data({x[0]})"
    yield f"jax.random.wrap_key_data({x[0]}, impl={_impl(equation)!r})"


def _impl(equation: core.JaxprEqn) -> str:
    return str(getattr(equation.params["impl"], "name", "threefry2x32"))


def split_keys(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """Keys made of a key."""
    shape = equation.params["shape"]
    if tuple(shape) == (2,):
        yield f"jax.random.split({x[0]})"
    yield f"jax.random.split({x[0]}, {text_of(shape[0] if len(shape) == 1 else tuple(shape))})"
