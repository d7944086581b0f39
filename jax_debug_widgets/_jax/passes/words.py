"""Hand numbers of any type to the host bit by bit, as int32 words: one word for each number, two for a 64-bit number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_LARGEST = float(np.finfo(np.float32).max)
_WORD = 32


def recorded_type(dtype: Any) -> str:
    """Return the 32- or 64-bit type as which a number of this type is handed over; a TPU cannot give the bits of a float64."""
    is_wide = jnp.dtype(dtype).itemsize == np.dtype(np.int64).itemsize
    if jnp.issubdtype(dtype, jnp.floating):
        return "float64" if is_wide and jax.default_backend() != "tpu" else "float32"
    return f"{'uint' if jnp.issubdtype(dtype, jnp.unsignedinteger) else 'int'}{64 if is_wide else 32}"


def word_count(kind: str) -> int:
    """Return how many words a number has, given its `recorded_type`."""
    return 2 if kind.endswith("64") else 1


def words_of(array: Any) -> list[Any]:
    """Return the words of an array's numbers, each an int32 array of the array's shape, the lowest word first."""
    kind = recorded_type(array.dtype)
    if kind == "float64":
        parts = lax.bitcast_convert_type(array, np.int32)
        return [lax.index_in_dim(parts, at, parts.ndim - 1, keepdims=False) for at in (0, 1)]
    if kind == "float32":
        return [lax.bitcast_convert_type(_as_float32(array), np.int32)]
    if word_count(kind) == 1:
        return [lax.bitcast_convert_type(lax.convert_element_type(array, kind), np.int32)]
    bits = lax.convert_element_type(array, np.uint64)
    parts = [bits, lax.shift_right_logical(bits, lax.full_like(bits, _WORD))]
    return [lax.bitcast_convert_type(lax.convert_element_type(one, np.uint32), np.int32) for one in parts]


def number_of_words(kind: str, words: Sequence[int]) -> Any:
    """Return the number with these words; further words may follow. `kind` is its `recorded_type`."""
    return np.array(words[: word_count(kind)], np.int32).view(kind).item()


def numbers_of_words(kinds: Sequence[str], words: Sequence[int]) -> list[Any]:
    """Return the numbers whose words follow each other; `kinds` are their `recorded_type`s."""
    numbers, at = list[Any](), 0
    for kind in kinds:
        numbers.append(number_of_words(kind, words[at:]))
        at += word_count(kind)
    return numbers


def wrapped(number: int, dtype: str) -> int:
    """Return an integer cast to an integer type: its lowest bits."""
    info = jnp.iinfo(dtype)
    return (number - int(info.min)) % (1 << info.bits) + int(info.min)


def _as_float32(array: Any) -> Any:
    """Return an array as float32; finite numbers out of range become the largest or smallest float32."""
    if array.dtype == np.float64:
        limited = lax.clamp(np.float64(-_LARGEST), array, np.float64(_LARGEST))
        array = lax.select(lax.is_finite(array), limited, array)
    return lax.convert_element_type(array, np.float32)
