"""Find arguments of a program that have NaN when a result has one: then the NaN comes from outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Frame, is_users
from jax_debug_widgets._jax.passes.births import ARGUMENTS
from jax_debug_widgets._jax.passes.check_arithmetic import largest, not_numbers
from jax_debug_widgets._jax.passes.checked import Check


@dataclass(frozen=True)
class ArgumentRecord:
    """The facts about a record of arguments.

    Attributes:
      names: the names of the checked arguments: `p['w']`.
      function: the name of the function that they belong to.
    """

    names: tuple[str, ...]
    function: str


def of_arguments(jaxpr: core.Jaxpr) -> Iterator[tuple[Check, Frame]]:
    """Yield the check of a user's function's arguments, with the frame of its definition; none for other functions.

    The record: how many arguments have NaN, or 0 if no result has; the number of the first such argument.
    """
    info = jaxpr.debug_info
    names, file, line = info.arg_names or (), info.func_filename, info.func_lineno
    if file is None or line is None or not is_users(file) or len(names) != len(jaxpr.invars):
        return
    named = [(name, one) for name, one in zip(names, jaxpr.invars, strict=True) if name and _is_read(one)]
    results = [one for one in jaxpr.outvars if _is_read(one)]
    if named and results:
        function = info.func_src_info.partition(" ")[0]
        facts = ArgumentRecord(tuple(name for name, _ in named), function)

        def compute(*arrays: Any) -> Sequence[Any]:
            found = [_has_nan(one) for one in arrays]
            given, made = found[: len(named)], found[len(named) :]
            any_result = lax.reduce_max(lax.concatenate(made, 0), (0,))
            own = lax.concatenate(given, 0)
            first = lax.argmax(own, 0, np.int32)
            return [lax.mul(lax.reduce_sum(own, (0,)), any_result), first]

        yield (
            Check(facts, [*(one for _, one in named), *results], compute, ARGUMENTS),
            Frame(file, line, -1, line, -1, function),
        )


def _is_read(atom: Any) -> bool:
    dtype = getattr(atom.aval, "dtype", None)
    return dtype is not None and bool(jnp.issubdtype(dtype, jnp.floating)) and atom.aval.size > 0


def _has_nan(array: Any) -> Any:
    """1 or 0, as an array of one number."""
    return lax.reshape(lax.convert_element_type(not_numbers(largest(array)), np.int32), (1,))
