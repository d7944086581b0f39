"""Compute the records of `births` in custom calls of XLA's CPU backend, compiled by Numba.

XLA compiles kernels for each shape that a record is made of, 40 ms, though they hardly ever run; these serve all shapes.
Importing this module needs Numba. It keeps machine code on disk, as `ffi` says.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cfunc, njit, types

from jax_debug_widgets._jax.compat.ffi import (
    ARGUMENT_COUNT,
    ARGUMENTS,
    FRAME_WORDS,
    RESULTS,
    array_of,
    asks_for_version,
    buffer_of,
    register,
    shape_of,
    words,
)

OF_ELEMENTS, OF_ARRAYS = "jax_debug_widgets_births_of_elements", "jax_debug_widgets_births_of_arrays"
"""The custom calls. Both take the result of an equation and its operands, float32[...]; they return its record, int32[6]."""

_OF_FINITE, _OF_INFINITE = 1, 2
_EXPONENT = np.int32(0x7F800000)
"""The bits of a float32 that are all set if it is not finite."""


@njit
def _count(frame: Any) -> int:
    """How many elements of the result are not finite."""
    bits = array_of(frame[ARGUMENTS], 0, np.int32)
    count = 0
    for at in range(bits.size):
        count += (bits[np.uint64(at)] & _EXPONENT) == _EXPONENT
    return count


@njit
def _bits(value: Any) -> Any:
    one = np.empty(1, np.float32)
    one[0] = value
    return one.view(np.int32)[0]


@njit
def _element(operands: Any, number: int, at: int) -> Any:
    """The element of an operand that goes with an element of the result; an axis of length 1 has one for all."""
    array = array_of(operands, number, np.float32)
    if array.size == 1:
        return array[0]
    shape, own = shape_of(buffer_of(operands, 0)), shape_of(buffer_of(operands, number))
    place, step, rest = 0, 1, at
    for axis in range(shape.size - 1, -1, -1):
        length = np.int64(shape[axis])
        if own[axis] > 1:
            place += rest % length * step
            step *= length
        rest //= length
    return array[place]


@njit
def _kind(out: Any, operands: Any, count: Any, at: int) -> int:
    """Whether an element was born: from finite operands, a NaN from infinite ones, or not."""
    are_finite, are_numbers = True, True
    for number in range(1, count):
        value = _element(operands, number, at)
        are_finite &= math.isfinite(value)
        are_numbers &= not math.isnan(value)
    if are_finite and not math.isfinite(out):
        return _OF_FINITE
    return _OF_INFINITE if math.isnan(out) and are_numbers and not are_finite else 0


@njit
def _first_born(out: Any, operands: Any, count: Any) -> int:
    """The position of the first element that was born; of the last element if none was."""
    for at in range(out.size):
        if not math.isfinite(out[at]) and _kind(out[at], operands, count, at):
            return at
    return out.size - 1


@njit
def _of_elements(out: Any, operands: Any, count: Any, row: Any) -> None:
    """Write the record of an elementwise operation, but for its first number."""
    first = _first_born(out, operands, count)
    row[1], row[2], row[3] = _kind(out[first], operands, count, first), first, _bits(out[first])
    for number in range(1, count):
        row[3 + number] = _bits(_element(operands, number, first))


@njit
def _worst(array: Any) -> int:
    """2 if an element is NaN, else 1 if one is infinite, else 0."""
    worst = 0
    for at in range(array.size):
        if math.isnan(array[at]):
            return 2
        if math.isinf(array[at]):
            worst = 1
    return worst


@njit
def _of_arrays(out: Any, operands: Any, count: Any, row: Any) -> None:
    """Write the record of another operation, but for its first number."""
    made, given, first = _worst(out), 0, 0
    for number in range(1, count):
        given = max(given, _worst(array_of(operands, number, np.float32)))
    if not given:
        row[1] = _OF_FINITE
    elif made > given:  # A NaN of infinities.
        row[1] = _OF_INFINITE
    while math.isfinite(out[first]):
        first += 1
    row[2], row[3] = first, _bits(out[first])


@njit
def _begin(frame: Any) -> Any:
    """The record, with its first number."""
    row = array_of(frame[RESULTS], 0, np.int32)
    row[:] = 0
    row[0] = _count(frame)
    return row


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_elements(address: Any) -> Any:
    """Called by XLA: once to ask for the version, then with the arrays. Returns 0: no error."""
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        operands, row = frame[ARGUMENTS], _begin(frame)
        if row[0]:
            _of_elements(array_of(operands, 0, np.float32), operands, np.int64(frame[ARGUMENT_COUNT]), row)
    return 0


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_arrays(address: Any) -> Any:
    """Called by XLA, as `_handle_elements` is, for operations that do not go element by element."""
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        operands, row = frame[ARGUMENTS], _begin(frame)
        if row[0]:
            _of_arrays(array_of(operands, 0, np.float32), operands, np.int64(frame[ARGUMENT_COUNT]), row)
    return 0


for _target, _handle in ((OF_ELEMENTS, _handle_elements), (OF_ARRAYS, _handle_arrays)):
    register(_target, _handle)
