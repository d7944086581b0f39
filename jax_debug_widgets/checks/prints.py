"""Make findings of Python's `print` in a function that JAX traces."""

from __future__ import annotations

from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.events import Finding

_ADVICE = 'jax.debug.print shows them at each call: jax.debug.print("x {x}", x=x).'


def print_found(file: str, line: int, where: str, function: str, count: int, *, is_jitted: bool) -> Finding:
    """Make the finding of a `print` at a line, which has run `count` times."""
    headline = f"Python's print in `{function}` shows no values"
    why = (
        "It runs while JAX traces the function, once a trace and not once a call; what it is given has no values then."
        if is_jitted
        else "The transformation calls the function with tracers, which have no values."
    )
    span = line, -1, line, -1
    return Finding.at(Kind.PRINT.word, where, headline, why, (), _ADVICE, file=file, span=span, seen=count)
