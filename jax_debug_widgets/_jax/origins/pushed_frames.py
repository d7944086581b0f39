"""Find out from frames which derivatives have pushed an equation forward.

These are derivatives in forward mode, rules, and linear functions.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from types import CodeType
from typing import Any

from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.compat.private import xla_client
from jax_debug_widgets._jax.origins.frames import PUSHES, Level

_TRACES = ("LinearizeTrace.process_", "JVPTrace.process_")
"""The beginnings of the names of JAX's functions that push tangents forward."""


def asked_outside(derived: Sequence[bool], levels: Sequence[Level]) -> int:
    """Return how many derivatives of an equation are requested outside its frames.

    See `VariableUses.derived`.
    """
    return max(len(derived) - sum(level.derivatives for level in levels), 0)


def pushes_in(traceback: Any) -> int:
    """Return how many calls of `jax.jvp`, `jacfwd` and `jax.linearize` are in a traceback.

    Each computes tangents beside the equation.
    """
    codes, _ = traceback.raw_frames() if traceback is not None else ((), ())
    return sum(code.co_name in PUSHES and code.co_filename.endswith("api.py") for code in codes)


def pushed_at(levels: Sequence[Level], traceback: Any) -> int | None:
    """Return the number of the frame that calls `jax.linearize`, if an equation is part of the linear function.

    Else return None.

    Args:
      levels: the user's frames of the traceback.
      traceback: the traceback of the equation.
    """
    at = next((number for number, level in enumerate(levels) if level.differentiates == "linearize"), None)
    if at is None:
        return None
    codes, offsets = traceback.raw_frames()
    # The outermost derivative is the innermost here, because it runs the others.
    ways = [
        (code, offset)
        for code, offset in zip(codes, list(offsets), strict=True)
        if code.co_qualname.startswith(_TRACES) and code.co_filename.endswith("ad.py")
    ]
    outside = sum(level.derivatives for level in levels[:at])
    return at if len(ways) > outside and _computes_tangents(*ways[outside]) else None


@cached_by_identity
def _computes_tangents(code: CodeType, offset: int) -> bool:
    """Return whether such a function calls the linear function of an operation's rule there, not the rule itself."""
    line = xla_client.Traceback.code_addr2line(code, offset)
    return "linearized(" in linecache.getline(code.co_filename, line)


def is_pushed_by_rule(traceback: Any) -> bool:
    """Return whether JAX made an equation while it pushed tangents through a function called by a primitive's rule."""
    codes, _ = traceback.raw_frames() if traceback is not None else ((), ())
    return any(code.co_name == "linearize_from_jvp" and code.co_filename.endswith("ad.py") for code in codes)


def is_pushed_now() -> bool:
    """Return whether `jax.jvp` or `jacfwd` is on the Python stack."""
    return pushes_in(xla_client.Traceback.get_traceback()) > 0
