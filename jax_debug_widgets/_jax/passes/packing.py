"""Pack scalars among further results into one array for each dtype, which is handed over and read as fast as one scalar.

Otherwise, a training step that prints ten losses would have ten more results, each an array to make and to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax

from jax_debug_widgets._jax.passes.operands import computed

if TYPE_CHECKING:
    from jax_debug_widgets._jax.compat.private import core


@dataclass(frozen=True)
class Packing:
    """The position of each value among the further results of a program.

    Attributes:
      count: how many results there are.
      places: for each value: the number of its result, and its position in it; None if the value is the whole result.
    """

    count: int
    places: tuple[tuple[int, int | None], ...]

    def columns(self, results: Sequence[Sequence[np.ndarray]]) -> list[Sequence[np.ndarray]]:
        """Turn columns of results, each with one array for each call, into columns of values."""
        return [
            results[number] if position is None else [one[position, ...] for one in results[number]]
            for number, position in self.places
        ]


def packed(values: Sequence[Any]) -> tuple[list[core.JaxprEqn], list[Any], Packing]:
    """Pack variables into few results: return the equations that do it, the results, and where each variable is in them."""
    alike: dict[Any, list[int]] = {}
    for number, value in enumerate(values):
        if _is_number(value.aval):
            alike.setdefault(value.aval.dtype, []).append(number)
    equations: list[core.JaxprEqn] = []
    results: list[Any] = []
    places: list[tuple[int, int | None] | None] = [None] * len(values)
    for numbers in alike.values():
        if len(numbers) > 1:
            also, together = computed(_together, [values[number] for number in numbers])
            equations += also
            for position, number in enumerate(numbers):
                places[number] = len(results), position
            results.append(together)
    for number, place in enumerate(places):
        if place is None:
            places[number] = len(results), None
            results.append(values[number])
    return equations, results, Packing(len(results), tuple(place for place in places if place is not None))


def _is_number(aval: Any) -> bool:
    """Whether a type is a scalar of a NumPy dtype, on no mesh, so that it may be packed with others."""
    return aval.shape == () and aval.dtype.kind in "biufc" and aval.sharding.mesh.empty


_FEW, _MANY = 8, 64
"""XLA's CPU backend needs 15 ms to compile each operand of a `concatenate` of more than `_FEW`, but no time for selects."""


def _together(*values: Any) -> Any:
    if len(values) <= _FEW:
        parts = [lax.reshape(one, (1,)) for one in values]
    else:
        parts = [_chosen(*values[first : first + _MANY]) for first in range(0, len(values), _MANY)]
    while len(parts) > 1:
        groups = (parts[first : first + _FEW] for first in range(0, len(parts), _FEW))
        # The barrier keeps the code that computes the numbers as it would be without us.
        parts = [lax.concatenate(lax.optimization_barrier(group), 0) for group in groups]
    return parts[0]


@jax.jit
def _chosen(*numbers: Any) -> Any:
    """Join numbers to an array without `concatenate`: select each element by the bits of its position."""
    place = lax.iota(np.int32, len(numbers))
    parts = [lax.broadcast(one, (len(numbers),)) for one in lax.optimization_barrier(numbers)]
    bit = 1
    while len(parts) > 1:
        is_second = lax.ne(lax.bitwise_and(place, np.int32(bit)), np.int32(0))
        pairs = zip_longest(parts[::2], parts[1::2])
        parts = [first if second is None else lax.select(is_second, second, first) for first, second in pairs]
        bit *= 2
    return parts[0]
