"""Find numbers that do not fit the integer type that they are cast to: the result depends on the device (S13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.check_arithmetic import count_and_first, element_at, not_numbers
from jax_debug_widgets._jax.passes.checked import BodyFacts, Check, Records
from jax_debug_widgets._jax.passes.kept_writes import equation_of
from jax_debug_widgets._jax.passes.words import recorded_type, words_of


@dataclass(frozen=True)
class Cast:
    """A cast of numbers to integers: the types, the shape, and which axes are lanes of a `vmap`.

    `kind` is the `recorded_type` of the numbers.
    """

    old: str
    new: str
    kind: str
    shape: tuple[int, ...]
    lanes: tuple[int, ...]


class Casts:
    """See `Checker`. The record: how many numbers do not fit, the position of the first, its words (`words_of`)."""

    def is_for(self, equation: Any) -> bool:
        """See `Checker`."""
        if equation.primitive.name != "convert_element_type" or not equation.invars[0].aval.size:
            return False
        old, new = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
        if not jnp.issubdtype(new, jnp.integer):
            return False
        return bool(jnp.issubdtype(old, jnp.floating)) or is_narrowing(old, new)

    def check(self, equation: Any, frames: tuple[Frame, ...], body: BodyFacts) -> Check | None:
        """See `Checker`."""
        (operand,), (out,) = equation.invars, equation.outvars
        if out not in body.certain or _are_bits(operand, body):
            return None
        info = jnp.iinfo(out.aval.dtype)
        lanes = body.lanes(equation, frames, out.aval.shape)
        old, new = operand.aval.dtype, out.aval.dtype
        facts = Cast(str(old), str(new), recorded_type(old), out.aval.shape, lanes)

        def compute_integers(array: Any) -> Sequence[Any]:
            limits = jnp.iinfo(array.dtype)
            least, most = max(info.min, limits.min), min(info.max, limits.max)
            below = lax.lt(array, lax.full_like(array, least))
            bad = lax.bitwise_or(below, lax.gt(array, lax.full_like(array, most)))
            count, first = count_and_first(bad)
            return [count, first, *(element_at(one, first) for one in words_of(array))]

        if jnp.issubdtype(operand.aval.dtype, jnp.integer):
            return Check(facts, [operand], compute_integers)

        def compute(array: Any) -> Sequence[Any]:
            wide = array if array.dtype == np.float64 else lax.convert_element_type(array, np.float32)
            # A cast drops the fraction.
            least, below = wide.dtype.type(info.min), wide.dtype.type(info.min - 1)
            below = (
                lax.lt(wide, lax.full_like(wide, least)) if least == below else lax.le(wide, lax.full_like(wide, below))
            )
            above = lax.ge(wide, lax.full_like(wide, info.max + 1))
            bad = lax.bitwise_or(lax.bitwise_or(below, above), not_numbers(wide))
            count, first = count_and_first(bad)
            return [count, first, *(element_at(one, first) for one in words_of(wide))]

        return Check(facts, [operand], compute)

    def of_results(self, jaxpr: core.Jaxpr) -> None:
        """See `Checker`: there is no such check."""

    def settled(self, records: Records) -> Records:
        """See `Checker`: all records are reported."""
        return records


def _are_bits(operand: Any, body: BodyFacts) -> bool:
    """Whether an unsigned integer was just made of bits, as in hashes: keeping only the lowest bits is then intended."""
    made = equation_of(operand, body.definitions) if jnp.issubdtype(operand.aval.dtype, jnp.unsignedinteger) else None
    return made is not None and made.primitive.name in _OF_BITS


_OF_BITS = frozenset({"and", "not", "or", "shift_left", "shift_right_arithmetic", "shift_right_logical", "xor"})


def is_narrowing(old: Any, new: Any) -> bool:
    """Whether an integer type has fewer bits than another. A cast to as many bits that wraps around counts as intended."""
    return bool(jnp.issubdtype(old, jnp.integer)) and jnp.iinfo(new).bits < jnp.iinfo(old).bits
