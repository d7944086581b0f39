"""Find arguments of a program that are not finite when a result is NaN: then the NaN may come from outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Frame, is_users
from jax_debug_widgets._jax.passes.births import ARGUMENTS, HAS_NAN, IS_INFINITE
from jax_debug_widgets._jax.passes.check_arithmetic import joined, not_numbers, number_of, odd, worst
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


_STATES = IS_INFINITE, HAS_NAN


def of_arguments(jaxpr: core.Jaxpr) -> Iterator[tuple[Check, Frame]]:
    """Yield the check of a user's function's arguments, with the frame of its definition; none for other functions.

    The record: how many arguments have NaN, or 0 if no result has one; the number of the first such argument;
    `HAS_NAN`. If no argument has NaN, the record is about infinite arguments, with `IS_INFINITE`.
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
            states = [_state_of(one) for one in arrays]
            given, made = states[: len(named)], states[len(named) :]
            # One number for each argument: the largest has the worst state, and is the first of these.
            size = np.int32(len(given))
            ranks = [lax.add(lax.mul(one, size), size - np.int32(at + 1)) for at, one in enumerate(given)]
            rank = joined(lax.max, ranks)
            most, first = lax.div(rank, size), lax.sub(size - np.int32(1), lax.rem(rank, size))
            counts = [joined(lax.add, [number_of(lax.eq(one, np.int32(state))) for one in given]) for state in _STATES]
            count = lax.select(lax.eq(most, np.int32(HAS_NAN)), *reversed(counts))
            is_nan = lax.bitwise_and(lax.gt(most, np.int32(0)), lax.eq(joined(lax.max, made), np.int32(HAS_NAN)))
            return [lax.select(is_nan, count, np.int32(0)), first, most]

        yield (
            Check(facts, [*(one for _, one in named), *results], compute, ARGUMENTS),
            Frame(file, line, -1, line, -1, function),
        )


def _is_read(atom: Any) -> bool:
    dtype = getattr(atom.aval, "dtype", None)
    return dtype is not None and bool(jnp.issubdtype(dtype, jnp.floating)) and atom.aval.size > 0


def _state_of(array: Any) -> Any:
    """Return `HAS_NAN`, `IS_INFINITE` or 0 for an array."""
    most = worst(array)
    return lax.add(number_of(odd(most)), number_of(not_numbers(most)))
