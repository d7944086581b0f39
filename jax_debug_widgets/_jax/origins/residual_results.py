"""Find out whether a program is the forward pass of an un-jitted derivative, and how many results are its own.

Such a program returns residuals for the backward pass after its own results, and does not contain where they begin.
JAX's function that made the program knows the number. Its frame is on Python's stack while the program is lowered.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import takewhile
from types import FrameType

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.origins.frames import is_users

_LINEARIZING = frozenset({"_pjit_linearize", "_scan_linearize"})
"""The functions of JAX that make a forward pass and run it."""

_DIFFERENTIATING = ("_jvp", "_linearize")
"""The ends of the names of JAX's rules that run the forward pass of a derivative: `_pjit_linearize`, `_pjit_jvp`."""

_TRANSPOSING = "backward_pass"
"""The beginning of the names of JAX's functions that run a backward pass."""

_COUNT = "num_primals_out"
"""The local variable of these functions with the number of the program's own results."""

_TRACING = "trace_to_jaxpr"
"""The beginning of the names of JAX's tracing functions; a program that runs un-jitted inside one is another program."""


def own_results_now() -> int | None:
    """Return how many of the first results of the program being lowered are its own, not residuals; None if unknown.

    If a function is differentiated twice, the residuals of the inner derivative are own results for the outer one.
    """
    if not features.available(features.KEPT):
        return None
    counts = [frame.f_locals.get(_COUNT) for frame in _linearizing(sys._getframe())]
    known = [count for count in counts if isinstance(count, int)]
    return min(known) if known and len(known) == len(counts) else None


def is_differentiated_now() -> bool:
    """Return whether the program being lowered is the forward pass of an un-jitted derivative.

    The program itself does not show it: the scope `jvp(...)` belongs to the call, and stays outside.
    """
    frames = _inside_of_tracing(sys._getframe())
    return any(
        frame.f_code.co_name.endswith(_DIFFERENTIATING) and frame.f_globals.get("__name__", "").startswith("jax.")
        for frame in frames
    )


def is_transposed_now() -> bool:
    """Return whether the program being lowered is a part of the backward pass of an un-jitted derivative.

    A function that the user's own derivative rule calls there is none.
    """
    frames = takewhile(lambda one: not is_users(one.f_code.co_filename), _inside_of_tracing(sys._getframe()))
    return any(
        frame.f_code.co_name.startswith(_TRANSPOSING) and frame.f_globals.get("__name__", "").startswith("jax.")
        for frame in frames
    )


def _linearizing(frame: FrameType | None) -> Iterator[FrameType]:
    return (one for one in _inside_of_tracing(frame) if one.f_code.co_name in _LINEARIZING)


def _inside_of_tracing(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None and not frame.f_code.co_name.startswith(_TRACING):
        yield frame
        frame = frame.f_back
