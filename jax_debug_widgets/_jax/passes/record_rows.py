"""Keep the records of checks as rows of int32: a loop merges row by row, and a program returns all rows as one result.

A row has the number of faults, the check's further numbers for the first fault, and its iteration of each loop around
it, innermost first. XLA compiles each result of a kernel separately, and a row as fast as one number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from jax_debug_widgets._jax.passes.operands import computed

if TYPE_CHECKING:
    from jax_debug_widgets._jax.compat.private import core

_MOST = np.int32(1 << 30)
"""Counts do not grow beyond this number, so that they cannot overflow."""

_CHOSEN, _JOINED = 16, 8
"""XLA's CPU backend takes 15 ms to compile each operand of a `concatenate` of more than a few, but no time for selects."""


def row_of(*numbers: Any) -> Any:
    """Return single numbers as a row; a row is returned as it is."""
    if len(numbers) == 1 and np.ndim(numbers[0]) == 1:
        return numbers[0]
    each = [lax.broadcast(lax.convert_element_type(one, np.int32), (len(numbers),)) for one in numbers]
    row = each[0]
    for at, one in enumerate(each[1:], 1):
        row = lax.select(np.arange(len(numbers)) == at, one, row)
    return row


def empty_row(size: int) -> Any:
    """Return the row of a check that has found nothing."""
    return lax.broadcast(np.int32(0), (size,))


def merged(old: Any, step: Any, new: Any) -> Any:
    """Merge the row so far with that of this iteration, which lacks the iteration's number.

    Keep the first fault, add the counts.
    """
    place, zero = np.arange(old.size), np.int32(0)
    longer = lax.pad(new, zero, [(0, 1, 0)])
    longer = lax.select(place == new.size, lax.broadcast(step, (old.size,)), longer)
    before, now = (lax.reshape(lax.slice(one, (0,), (1,)), ()) for one in (old, new))
    keep = lax.bitwise_or(lax.gt(before, zero), lax.eq(now, zero))
    count = lax.add(lax.min(before, _MOST), lax.min(now, _MOST))
    kept = lax.select(keep, old, longer)
    return lax.select(place == 0, lax.broadcast(count, (old.size,)), kept)


def merged_numbers(step: Any, new: Any, *old: Any) -> list[Any]:
    """Return the numbers of `merged`, each separately."""
    numbers = [lax.reshape(lax.slice(new, (at,), (at + 1,)), ()) for at in range(new.size)]
    before, now = old[0], numbers[0]
    keep = lax.bitwise_or(lax.gt(before, np.int32(0)), lax.eq(now, np.int32(0)))
    count = lax.add(lax.min(before, _MOST), lax.min(now, _MOST))
    return [count, *(lax.select(keep, *each) for each in zip(old[1:], [*numbers[1:], step], strict=True))]


@dataclass(frozen=True)
class Rows:
    """The places of rows among the results of a program.

    Attributes:
      count: how many results hold rows.
      places: for each row: the number of its result, the position of its first number in it, and how many numbers it has.
    """

    count: int
    places: tuple[tuple[int, int, int], ...]

    def read(self, results: Sequence[np.ndarray]) -> Iterator[list[int]]:
        """Yield the rows of one call."""
        for result, first, size in self.places:
            yield results[result][first : first + size].tolist()


def rows_together(rows: Sequence[Any], cheap: int) -> tuple[list[core.JaxprEqn], list[Any], Rows]:
    """Join rows to few results: return the equations that do it, the results, and where each row is in them.

    Args:
      cheap: how many rows at the end are so cheap that XLA may recompute them for each number of a result.
    """
    places: dict[int, tuple[int, int, int]] = {}
    equations: list[core.JaxprEqn] = []
    parts: list[Any] = []
    first = 0
    # Only rows without a mesh may be joined.
    free = [number for number, row in enumerate(rows) if row.aval.sharding.mesh.empty]
    for chosen in _batches(free):
        own = [rows[number] for number in chosen]
        width = max(row.aval.size for row in own)
        for at, number in enumerate(chosen):
            places[number] = 0, first + at * width, rows[number].aval.size
        first += len(own) * width
        few = sum(number >= len(rows) - cheap for number in chosen)
        also, part = computed(partial(_matrix, few), own)
        equations, parts = [*equations, *also], [*parts, part]
    while len(parts) > 1:
        joined = [computed(_joined, parts[at : at + _JOINED]) for at in range(0, len(parts), _JOINED)]
        equations += [one for also, _ in joined for one in also]
        parts = [part for _, part in joined]
    results = [*parts, *(row for number, row in enumerate(rows) if number not in places)]
    for at, number in enumerate((number for number in range(len(rows)) if number not in places), len(parts)):
        places[number] = at, 0, rows[number].aval.size
    return equations, results, Rows(len(results), tuple(places[number] for number in range(len(rows))))


def _batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    return (numbers[at : at + _CHOSEN] for at in range(0, len(numbers), _CHOSEN))


def _matrix(cheap: int, *rows: Any) -> Any:
    """Join rows to a matrix, each padded to the longest. A barrier before it keeps the code that computes them unchanged.

    The last `cheap` rows bypass the barrier.
    """
    count, width = len(rows), max(row.size for row in rows)
    shape = (count, width)
    place = lax.broadcasted_iota(np.int32, shape, 0)
    behind = lax.optimization_barrier(rows[: count - cheap])
    padded = [lax.pad(row, np.int32(0), [(0, width - row.size, 0)]) for row in (*behind, *rows[count - cheap :])]
    parts = [lax.broadcast_in_dim(row, shape, (1,)) for row in padded]
    bit = 1
    while len(parts) > 1:
        is_second = lax.ne(lax.bitwise_and(place, lax.full_like(place, bit)), lax.full_like(place, 0))
        pairs = itertools.zip_longest(parts[::2], parts[1::2])
        parts = [one if other is None else lax.select(is_second, other, one) for one, other in pairs]
        bit *= 2
    return lax.reshape(parts[0], (count * width,))


def _joined(*parts: Any) -> Any:
    return lax.concatenate(lax.optimization_barrier(parts), 0)
