"""Compute the record of a birth: how many elements of a result are not finite, and the first with its operands.

A birth is an operation that makes the first NaN or infinity, see `births`. On a CPU with Numba, `births_native`
computes the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import jax
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.native import computed_natively, importable
from jax_debug_widgets._jax.passes.check_arithmetic import count_and_first, none_of, not_numbers, number_of, odd, worst
from jax_debug_widgets._jax.passes.words import recorded_type, word_count, words_of

_NUMBERS = 6
"""The least number of int32 numbers in a record."""


def record_of(elementwise: bool, natively: bool, *arrays: Any) -> Sequence[Any]:
    """Compute the record, int32[n], of a result and its operands: zeros if each element of the result is finite.

    Args:
      natively: whether to use Numba where that is possible.
    """
    compute = partial(_only_if_odd, elementwise)
    is_possible = natively and arrays[0].size > 1 and all(one.dtype == np.float32 for one in arrays)
    native = _native() if is_possible else None
    if native is None:
        return [compute(*arrays)]
    target = native.OF_ELEMENTS if elementwise else native.OF_ARRAYS

    def otherwise(*arrays: Any) -> Sequence[Any]:
        return [compute(*arrays)]

    return computed_natively(target, arrays, (_NUMBERS,), otherwise, together=True, dtype=np.int32)


def _only_if_odd(elementwise: bool, out: Any, *inputs: Any) -> Any:
    """Compute the record only if an element of `out` is not finite; the test costs one reduction."""
    look = _of_elements if elementwise else _of_arrays
    size = _size([out, *inputs] if elementwise else [out])
    if out.size == 1:
        return look(out, *inputs)
    return lax.cond(_any_odd(out), look, lambda *_arrays: np.zeros(size, np.int32), out, *inputs)


def _native() -> Any:
    """Return `births_native`; None on other devices, without Numba, or, with a warning, if Numba does not work here."""
    what = "XLA finds where a NaN was born, which takes longer to compile"
    if jax.default_backend() != "cpu" or not importable("jax_debug_widgets._jax.passes.births_native", what):
        return None
    from jax_debug_widgets._jax.passes import births_native

    return births_native


def _any_odd(array: Any) -> Any:
    """Whether an element is not finite.

    In that case the sum of `x - x` is NaN. XLA computes a sum in half the time of an `or`.
    """
    if array.dtype.itemsize == 1:  # Not all one-byte types have infinities.
        return lax.reduce_or(odd(array), tuple(range(array.ndim)))
    return not_numbers(lax.reduce_sum(lax.sub(array, array), tuple(range(array.ndim))))


def _of_elements(out: Any, *inputs: Any) -> Any:
    ins = [lax.broadcast_in_dim(one, out.shape, range(out.ndim - one.ndim, out.ndim)) for one in inputs]
    count, first = count_and_first(odd(out), lax.bitwise_or(*_births(out, ins)))
    element, *operands = (_at(one, first) for one in (out, *ins))
    of_finite, of_infinite = map(number_of, _births(element, operands))
    kind = lax.add(of_finite, lax.add(of_infinite, of_infinite))
    return _together(count, kind, first, *_words([element, *operands]))


def _births(out: Any, inputs: Sequence[Any]) -> tuple[Any, Any]:
    """Return two masks: the elements that are not finite although their operands are, and NaNs from infinite operands."""
    finite = reduce(lax.bitwise_and, map(lax.is_finite, inputs))
    numbers = reduce(lax.bitwise_and, (lax.eq(one, one) for one in inputs))
    of_infinite = lax.bitwise_and(not_numbers(out), lax.bitwise_and(numbers, lax.bitwise_not(finite)))
    return lax.bitwise_and(odd(out), finite), of_infinite


def _of_arrays(out: Any, *inputs: Any) -> Any:
    made, given = worst(out), list(map(worst, inputs))
    of_finite = lax.bitwise_and(odd(made), none_of(given, odd))
    of_infinite = lax.bitwise_and(not_numbers(made), none_of(given, not_numbers))
    count, first = count_and_first(odd(out))
    twice = lax.mul(number_of(lax.bitwise_and(of_infinite, lax.bitwise_not(of_finite))), np.int32(2))
    return _together(count, lax.add(number_of(of_finite), twice), first, *_words([_at(out, first)]))


def _together(*numbers: Any) -> Any:
    """Concatenate the numbers of a record to int32[n], padded with zeros."""
    each = [lax.reshape(number_of(one), (1,)) for one in numbers]
    return lax.concatenate([*each, np.zeros(max(0, _NUMBERS - len(each)), np.int32)], 0)


def _size(numbers: Sequence[Any]) -> int:
    """Return how many int32 numbers a record with these numbers has."""
    return max(_NUMBERS, 3 + sum(word_count(recorded_type(one.dtype)) for one in numbers))


def _words(numbers: Sequence[Any]) -> list[Any]:
    return [word for one in numbers for word in words_of(one)]


def _at(array: Any, position: Any) -> Any:
    """Return the element at a flat position, with shape (1,); `lax.dynamic_slice` would add code for negative positions.

    XLA would move the reshape behind the slice, as an instruction with the name `dynamic-slice.N`. Its CPU compiler
    confuses this name with JAX's `dynamic_slice.N`, and fails.
    """
    flat = lax.reshape(array, (array.size,))
    if array.size == 1:
        return flat
    return lax.dynamic_slice_p.bind(lax.optimization_barrier(flat), position, slice_sizes=(1,))
