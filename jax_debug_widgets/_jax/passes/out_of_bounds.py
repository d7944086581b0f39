"""Find indices out of bounds: JAX silently reads the nearest element, or drops the write (S6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.check_arithmetic import count_and_first, element_at
from jax_debug_widgets._jax.passes.checked import BodyFacts, Check, Records
from jax_debug_widgets._jax.passes.kept_writes import may_keep
from jax_debug_widgets._jax.passes.switches import check_of_switch, clamps_index
from jax_debug_widgets._jax.passes.written_index import (
    WrittenType,
    beyond,
    columns_of,
    words_of_columns,
    written_indices,
)

_SCATTERS = frozenset({"scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul", "scatter-sub"})
_SLICES = {"dynamic_slice": 1, "dynamic_update_slice": 2}
"""Primitive -> the position of its first start index among the operands."""


@dataclass(frozen=True)
class Indexing:
    """The facts about an equation that indexes an array.

    Attributes:
      writes: whether it writes at the indices, rather than reads.
      mode: what JAX does with an index out of bounds: `clip`, `fill`.
      fill: the value that is read out of bounds, if `mode` is `fill`; None for JAX's default.
      shape: the shape of the array of indices without its last axis, which has a number for each of `axes`.
      axes: the indexed axes of the array without its lanes, as the user sees it.
      sizes: the sizes of these axes.
      last: the last valid start on each of these axes.
      lanes: which axes of `shape` are lanes of a `vmap`.
      made: the type of the indices after JAX has normalised them.
      written: for each of `axes` the type of the index as the user wrote it; empty if the record has the normalised
        one.
    """

    writes: bool
    mode: str
    fill: Any
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    last: tuple[int, ...]
    lanes: tuple[int, ...]
    made: str
    written: tuple[WrittenType, ...]


class OutOfBounds:
    """See `Checker`. The record: how many indices are outside, the position of the first, and its words (`words_of`)."""

    def is_for(self, equation: Any) -> bool:
        """See `Checker`."""
        name = equation.primitive.name
        return name == "gather" or name.replace("_", "-") in _SCATTERS or name in _SLICES or clamps_index(equation)

    def check(self, equation: Any, frames: tuple[Frame, ...], body: BodyFacts) -> Check | None:
        """See `Checker`. Equations derived from a checked access have the same indices, and are not checked."""
        if body.part.is_backward and ("oob", frames[0]) in body.forward:
            return None
        if equation.outvars[0] not in body.certain:
            return None
        name = equation.primitive.name
        if name == "dynamic_update_slice" and may_keep(equation, body.definitions):
            return None
        if clamps_index(equation):
            return check_of_switch(equation, frames, body)
        if name in _SLICES:
            return _of_slice(equation, _SLICES[name], body)
        of = _of_gather if name == "gather" else _of_scatter
        return of(equation, frames, body)

    def of_results(self, jaxpr: core.Jaxpr) -> None:
        """See `Checker`: there is no such check."""

    def settled(self, records: Records) -> Records:
        """See `Checker`: all records are reported."""
        return records


def _of_slice(equation: Any, first: int, body: BodyFacts) -> Check | None:
    shape = equation.invars[0].aval.shape
    sliced = equation.outvars[0].aval.shape if first == 1 else equation.invars[1].aval.shape
    starts = equation.invars[first:]
    axes = [
        axis
        for axis, (size, part) in enumerate(zip(shape, sliced, strict=True))
        if not _is_surely_inside(starts[axis], size - part)
    ]
    if not axes:
        return None
    last = tuple(shape[axis] - sliced[axis] for axis in axes)
    operands = [starts[axis] for axis in axes]
    written = written_indices(equation, operands, body)
    made, types = str(operands[0].aval.dtype), tuple(one.type for one in written)
    sizes = tuple(shape[axis] for axis in axes)
    facts = Indexing(first == 2, "clip", None, (), tuple(axes), sizes, last, (), made, types)  # noqa: PLR2004

    def compute(*indices: Any) -> Sequence[Any]:
        own, others = indices[: len(axes)], indices[len(axes) :]
        side_by_side = lax.concatenate([lax.reshape(_as_int32(one), (1,)) for one in own], 0)
        columns = [lax.reshape(one.moved(array), (1,)) for one, array in zip(written, others, strict=True)]
        return _outside(side_by_side, last, sizes, columns)

    def taken(taken: Any, *indices: Any) -> Sequence[Any]:
        any_taken = lax.reduce_or(taken, tuple(range(taken.ndim)))
        return [lax.select(any_taken, one, lax.full_like(one, 0)) for one in indices]

    return Check(facts, [*operands, *(one.atom for one in written)], compute, taken=taken)


def _is_surely_inside(start: Any, last: int) -> bool:
    return isinstance(start, core.Literal) and 0 <= int(start.val) <= last


def _of_gather(equation: Any, frames: tuple[Frame, ...], body: BodyFacts) -> Check | None:
    array, _ = equation.invars
    dims = equation.params["dimension_numbers"]
    sizes = equation.params["slice_sizes"]
    axes = dims.start_index_map
    out = equation.outvars[0].aval.shape
    lanes = body.lanes(equation, frames, out)
    batch = [axis for axis in range(len(out)) if axis not in dims.offset_dims]
    kept = [
        axis
        for axis in range(len(array.aval.shape))
        if axis not in dims.collapsed_slice_dims and axis not in _batching(dims, "operand_batching_dims")
    ]
    of_indices = tuple(batch.index(axis) for axis in lanes if axis in batch)
    of_array = {kept[dims.offset_dims.index(axis)] for axis in lanes if axis in dims.offset_dims}
    of_array |= _together(dims, of_indices, "start_indices_batching_dims")
    last = tuple(array.aval.shape[axis] - sizes[axis] for axis in axes)
    return _of_indices(equation, body, axes, last, of_array, of_indices, writes=False)


def _of_scatter(equation: Any, frames: tuple[Frame, ...], body: BodyFacts) -> Check | None:
    array, _, updates = equation.invars
    dims = equation.params["dimension_numbers"]
    axes = dims.scatter_dims_to_operand_dims
    lanes = body.lanes(equation, frames, array.aval.shape)
    batching = _batching(dims, "operand_batching_dims")
    windows = [
        axis for axis in range(len(array.aval.shape)) if axis not in dims.inserted_window_dims and axis not in batching
    ]
    size = dict(zip(windows, (updates.aval.shape[axis] for axis in dims.update_window_dims), strict=True))
    last = tuple(array.aval.shape[axis] - size.get(axis, 1) for axis in axes)
    of_indices = tuple(
        _batching(dims, "scatter_indices_batching_dims")[batching.index(axis)] for axis in lanes if axis in batching
    )
    return _of_indices(equation, body, axes, last, set(lanes), of_indices, writes=True)


def _batching(dims: Any, name: str) -> tuple[int, ...]:
    return tuple(getattr(dims, name, ()))


def _together(dims: Any, of_indices: Sequence[int], name: str) -> set[int]:
    """Return the axes of the array that belong to these axes of its indices."""
    pairs = zip(_batching(dims, "operand_batching_dims"), _batching(dims, name), strict=True)
    return {axis for axis, other in pairs if other in of_indices}


def _of_indices(
    equation: Any,
    body: BodyFacts,
    axes: Sequence[int],
    last: tuple[int, ...],
    lanes_of_array: set[int],
    lanes: tuple[int, ...],
    *,
    writes: bool,
) -> Check | None:
    indices = equation.invars[1]
    if not axes or not math.prod(indices.aval.shape):
        return None
    columns = columns_of(indices, len(axes), body.definitions)
    written = written_indices(equation, columns, body) if columns else []
    shape, mode = equation.invars[0].aval.shape, str(equation.params.get("mode", "")).upper()
    facts = Indexing(
        writes,
        "fill" if "FILL" in mode or mode in ("1", "DROP") else "clip",
        equation.params.get("fill_value"),
        indices.aval.shape[:-1],
        tuple(axis - sum(one < axis for one in lanes_of_array) for axis in axes),
        tuple(shape[axis] for axis in axes),
        last,
        lanes,
        str(indices.aval.dtype),
        tuple(one.type for one in written),
    )
    offsets = tuple(range(len(shape))) if writes else equation.params["dimension_numbers"].offset_dims

    def moved(arrays: Sequence[Any]) -> list[Any]:
        return [one.moved(array) for one, array in zip(written, arrays, strict=True)]

    def taken(taken: Any, array: Any, *others: Any) -> Sequence[Any]:
        """Return the arrays with zeros for each index that reads no taken element."""
        each = lax.reduce_or(taken, offsets)
        arrays = [array, *moved(others)]
        masks = [lax.broadcast_in_dim(each, one.shape, tuple(range(each.ndim))) for one in arrays]
        return [lax.select(mask, one, lax.full_like(one, 0)) for mask, one in zip(masks, arrays, strict=True)]

    def compute(array: Any, *others: Any) -> Sequence[Any]:
        return _outside(_as_int32(array), last, facts.sizes, moved(others))

    return Check(facts, [indices, *(one.atom for one in written)], compute, taken=taken)


def _as_int32(array: Any) -> Any:
    """Return an index as int32; a number out of range becomes one that is out of bounds on the same side."""
    info = np.iinfo(np.int32)
    if array.dtype in (np.uint32, np.uint64):
        array = lax.min(array, lax.full_like(array, info.max))
    elif array.dtype == np.int64:
        array = lax.clamp(np.int64(info.min), array, np.int64(info.max))
    return lax.convert_element_type(array, np.int32)


def _outside(indices: Any, last: Sequence[int], sizes: Sequence[int], written: Sequence[Any]) -> Sequence[Any]:
    """Return for indices[..., axis]: how many are out of bounds, the flat position of the first, and its words as written."""
    limit = lax.broadcast_in_dim(np.asarray(last, np.int32), indices.shape, (indices.ndim - 1,))
    is_outside = lax.bitwise_or(lax.lt(indices, lax.full_like(indices, 0)), lax.gt(indices, limit))
    words = [indices]
    if written:
        is_outside, words = lax.bitwise_or(is_outside, beyond(written, last, sizes)), words_of_columns(written)
    count, first = count_and_first(is_outside)
    return [count, first, *(element_at(one, first) for one in words)]
