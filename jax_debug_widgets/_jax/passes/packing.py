"""Pack scalars of one dtype among further results into few arrays, each handed over and read as fast as one scalar.

Otherwise, a training step that prints ten losses would have ten more results, each an array to make and to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import numpy as np
from jax import lax

from jax_debug_widgets._jax.passes.operands import computed

if TYPE_CHECKING:
    from jax_debug_widgets._jax.compat.private import core

T = TypeVar("T")


@dataclass(frozen=True)
class Packing:
    """The position of each value among the further results of a program.

    Attributes:
      count: how many results there are.
      places: for each value the number of its result, and its position in that result; None if it is the whole result.
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
    """Pack variables into few results.

    Return the equations that pack the variables, the results, and the place of each variable in them.
    """
    alike: dict[Any, list[int]] = {}
    for number, value in enumerate(values):
        if _is_number(value.aval):
            alike.setdefault(value.aval.dtype, []).append(number)
    equations: list[core.JaxprEqn] = []
    results: list[Any] = []
    places: list[tuple[int, int | None] | None] = [None] * len(values)
    is_on_cpu = jax.default_backend() == "cpu"
    for numbers in _groups(alike.values(), most=_MANY if is_on_cpu else len(values)):
        also, together = computed(
            _by_concatenating if is_on_cpu else _by_selecting, [values[number] for number in numbers]
        )
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
    """Whether a type is a scalar of a NumPy dtype without a mesh, so that it may be packed with others."""
    return aval.shape == () and aval.dtype.kind in "biufc" and aval.sharding.mesh.empty


_FEW, _MANY = 8, 64
"""The most operands of a `concatenate` (XLA's CPU backend takes 15 ms to compile each further one); the most numbers in
a result.
"""


def _groups(alike: Iterable[Sequence[int]], most: int) -> Iterator[Sequence[int]]:
    """Yield the numbers of the values that become one result, at most `most`; a single value needs no packing."""
    for numbers in alike:
        yield from (some for some in _slices(numbers, most) if len(some) > 1)


def _slices(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (values[first : first + size] for first in range(0, len(values), size))


@jax.jit
def _by_concatenating(*numbers: Any) -> Any:
    """Join at most `_MANY` numbers to an array by concatenating `_FEW` at a time.

    The barriers keep the code that computes the numbers as it would be without us, and keep the concatenations
    separate.
    """
    parts = [lax.reshape(one, (1,)) for one in lax.optimization_barrier(numbers)]
    if len(parts) > _FEW:
        parts = lax.optimization_barrier([lax.concatenate(some, 0) for some in _slices(parts, _FEW)])
    return lax.concatenate(parts, 0)


def _by_selecting(*numbers: Any) -> Any:
    """Join numbers to an array by few kernels, whose number decides the cost on a GPU."""
    if len(numbers) <= _FEW:
        parts = [lax.reshape(one, (1,)) for one in numbers]
    else:
        parts = [_chosen(*some) for some in _slices(numbers, _MANY)]
    while len(parts) > 1:
        parts = [lax.concatenate(lax.optimization_barrier(some), 0) for some in _slices(parts, _FEW)]
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
