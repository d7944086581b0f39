"""Find the equations that a program computes in its forward pass."""

from __future__ import annotations

from collections.abc import Iterator

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Frame, frames_in_body
from jax_debug_widgets._jax.passes.checked import Checker, DerivativePart

InForward = tuple[str, Frame, str]
"""The name of a check, the line of a checked equation in a forward pass, and the primitive of this equation."""


def forward_of(
    jaxpr: core.Jaxpr, checkers: dict[str, Checker], around: tuple[Frame, ...], part: DerivativePart
) -> Iterator[InForward]:
    """Yield the equations of a program's forward pass that these checkers check."""
    for equation in jaxpr.eqns:
        own = (*frames_in_body(equation.source_info.traceback, jaxpr, around), *around)
        here = part.of(equation)
        if own and not here.is_backward:
            primitive = equation.primitive.name
            yield from ((name, own[0], primitive) for name, one in checkers.items() if one.is_for(equation))
        for inner in core.jaxprs_in_params(equation.params):
            yield from forward_of(getattr(inner, "jaxpr", inner), checkers, own, here)
