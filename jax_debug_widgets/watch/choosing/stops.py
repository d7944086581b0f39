"""Choose the values that a program hands over where it may stop (`--break-on`): its watched values as whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets._jax.passes.slices import slice_of
from jax_debug_widgets._jax.passes.written_values import folded_transposes
from jax_debug_widgets.watch.choosing.condition import BodyCondition, Condition, ConditionError
from jax_debug_widgets.watch.choosing.stop_conditions import MOST_ELEMENTS, Stops
from jax_debug_widgets.watch.naming.variable_types import is_key
from jax_debug_widgets.watch.statistics.statistics import STATISTICS

if TYPE_CHECKING:
    from jax_debug_widgets.watch.naming.named import Named


@dataclass(frozen=True)
class WholeValues:
    """The whole values of a body, and when they are handed over.

    Attributes:
      rows: the indices of these values among the watched values.
      variables: the variables that are read for the values and for `holds`.
      holds: a function from the other arrays that are handed over and those of `variables` to bool[]: whether to stop.
      compute: a function from the arrays of `variables` to the values.
    """

    rows: Sequence[int]
    variables: Sequence[Any]
    holds: Callable[[Sequence[Any], Sequence[Any]], jax.Array]
    compute: Callable[..., Sequence[Any]]


def whole_of(
    stops: Stops, jaxpr: Any, chosen: Sequence[Named], named: Sequence[Named], intended: Sequence[Iterable[str]]
) -> WholeValues | None:
    """Return the values that a body with these watched values hands over where it may stop; None if it never stops.

    Args:
      intended: for each watched value the infinities that the program intends.
    """
    rows = [row for row, one in enumerate(chosen) if _can_be_whole(one.variable.aval)]
    conditions = [found for text in stops.expressions if (found := _within(text, named)) is not None]
    odd = _odd_places(stops, [one.variable.aval for one in chosen], intended)
    if not rows or not (conditions or odd):
        return None
    slice_ = slice_of(jaxpr, [chosen[row].variable for row in rows], folded_transposes(jaxpr))
    count = len(slice_.variables)
    looked_at = [one for found in conditions for one in found.variables]

    def holds(handed: Sequence[Any], arrays: Sequence[Any]) -> jax.Array:
        at, found = list(arrays[count:]), [_is_odd(handed[0], odd)] if odd else []
        for condition in conditions:
            own, at = at[: len(condition.variables)], at[len(condition.variables) :]
            found.append(condition.of(*own))
        return jnp.stack(found).any()

    return WholeValues(rows, [*slice_.variables, *looked_at], holds, lambda *arrays: slice_.compute(*arrays[:count]))


def _can_be_whole(aval: Any) -> bool:
    return 1 < aval.size <= MOST_ELEMENTS and not is_key(aval)


def _within(text: str, named: Sequence[Named]) -> BodyCondition | None:
    """Return a condition over the values of a body; None if the body does not have all of its names.

    A condition that only the host can compute (`float(h[0]) > 1`) always holds here, so that the host evaluates it each
    time. If the host cannot compute it either, the host reports why.
    """
    found = Condition(text).within(named)
    if found is None:
        return None
    try:
        jax.eval_shape(found.of, *(jax.ShapeDtypeStruct(one.aval.shape, one.aval.dtype) for one in found.variables))
    except ConditionError:
        return BodyCondition((), lambda: jnp.bool_(True))
    return found


Places = Sequence[tuple[int, int]]
"""Row and column of each count of NaN or infinite elements in a table of statistics, see `Bundle`. Column -1 means the
number itself.
"""


def _odd_places(stops: Stops, avals: Sequence[Any], intended: Sequence[Iterable[str]]) -> Places:
    columns = {"nan": ("nan",), "inf": ("posinf", "neginf")}
    wanted = [name for kind in stops.kinds for name in columns[kind]]
    places: list[tuple[int, int]] = []
    for row, (aval, left_out) in enumerate(zip(avals, intended, strict=True)):
        if jnp.issubdtype(aval.dtype, jnp.inexact):
            names = [name for name in wanted if name not in left_out]
            places += [(row, STATISTICS.index(name)) for name in names] if aval.size > 1 else [(row, -1)] * bool(names)
    return places


def _is_odd(table: Any, places: Places) -> jax.Array:
    counts = np.array([place for place in places if place[1] >= 0], np.int32).reshape(-1, 2)
    numbers = np.array([row for row, column in places if column < 0], np.int32)
    found = [(table[counts[:, 0], counts[:, 1]] > 0).any()] if len(counts) else []
    found += [(~jnp.isfinite(table[numbers, 0])).any()] if len(numbers) else []
    return jnp.stack(found).any()
