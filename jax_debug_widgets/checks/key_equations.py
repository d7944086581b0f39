"""Read from an equation what matters for PRNG keys: its loop, the `vmap`s around it, whether it is recomputed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets._jax.compat import versions

if TYPE_CHECKING:
    from jax.extend.core import Jaxpr


def vmaps_at(equation: Any) -> int:
    """Return how many `vmap`s of the user are around an equation.

    `jax.jacfwd` and `jax.hessian` push all tangents at once by a `vmap` of their own: the function that they
    differentiate has no lanes there.
    """
    count = str(equation.source_info.name_stack).count("vmap(")
    traceback = equation.source_info.traceback if count else None
    codes = traceback.raw_frames()[0] if traceback is not None else ()
    names = [code.co_name for code in codes if code.co_name != "reraise_with_filtered_traceback"]
    return max(count - sum(pair == ("vmap_f", "jacfun") for pair in pairwise(names)), 0)


def calls_in_body(equation: Any) -> Hashable:
    """Return the identity of all calls on Python's stack that made an equation, JAX's included, up to the body that it is in.

    On jax 0.8 a traceback goes on with the calls for which JAX traced the body first; it may be another caller's.
    """
    traceback = equation.source_info.traceback
    codes, offsets = traceback.raw_frames() if traceback is not None else ((), ())
    names = [code.co_name for code in codes]
    if versions.TRACEBACKS_LEAVE_THEIR_PROGRAM and _TRACES in names:
        codes = codes[: names.index(_TRACES)]
    return tuple(map(id, codes)), tuple(offsets[: len(codes)])


_TRACES = "trace_to_jaxpr_dynamic"
"""The function of JAX that traces a body."""


def loop_of(equation: Any) -> tuple[Jaxpr, Sequence[Any], int, int, str]:
    """Return the body of a loop, its operands, the number of constants and of carries, and the length as text.

    The length is `all` for a `while`, whose length is not known.
    """
    params = equation.params
    if equation.primitive.name == "scan":
        constants, carried = versions.scan_counts(params)
        return params["jaxpr"].jaxpr, equation.invars, constants, carried, str(params["length"])
    operands = equation.invars[params["cond_nconsts"] :]
    constants = params["body_nconsts"]
    return params["body_jaxpr"].jaxpr, operands, constants, len(operands) - constants, "all"


def batches(atom: Any) -> int:
    """Return how many axes an array of keys has."""
    is_typed = jax.dtypes.issubdtype(atom.aval.dtype, jax.dtypes.prng_key)
    return len(atom.aval.shape) - (not is_typed)


def is_recomputed(equation: Any) -> bool:
    """Return whether a backward pass computes an equation again."""
    return any(scope in str(equation.source_info.name_stack) for scope in ("rematted_computation", "transpose("))
