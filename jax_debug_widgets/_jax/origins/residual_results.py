"""How many results of a program are its own, where it is the forward pass of what is differentiated un-jitted.

JAX has such a program give what its backward pass needs as well, after its own results, and says of neither which it is.
What has made the program knows, and is on Python's stack when it is lowered: its line is that which runs the program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

from jax_debug_widgets._jax.compat import features

_LINEARIZING = frozenset({"_pjit_linearize", "_scan_linearize"})
"""JAX's functions that make a forward pass and run it."""

_COUNT = "num_primals_out"
"""Their local variable with the number of the program's own results."""

_TRACING = "trace_to_jaxpr"
"""How the names of JAX's tracing functions begin: a program that runs un-jitted inside one is another program."""


def own_results_now() -> int | None:
    """How many of the first results of the program being lowered are its own, and no residuals; None if that is unknown.

    If a function is differentiated twice, the residuals of the inner derivative are own results for the outer one.
    """
    if not features.available(features.KEPT):
        return None
    counts = [frame.f_locals.get(_COUNT) for frame in _linearizing(sys._getframe())]
    known = [count for count in counts if isinstance(count, int)]
    return min(known) if known and len(known) == len(counts) else None


def _linearizing(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None and not frame.f_code.co_name.startswith(_TRACING):
        if frame.f_code.co_name in _LINEARIZING:
            yield frame
        frame = frame.f_back
