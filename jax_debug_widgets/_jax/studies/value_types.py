"""The types of a program's values: dtype, shape, and how many bytes they have."""

from __future__ import annotations

import functools
import math
from typing import Any

from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets.graphs.program import Type


def type_of(atom: Any) -> Type:
    """The type of a variable."""
    return _type_of(atom.aval, isinstance(atom, core.Literal))


@cached_by_identity
def _type_of(aval: Any, is_number: bool) -> Type:
    shape = tuple(one if isinstance(one, int) else str(one) for one in getattr(aval, "shape", ()))
    return Type(_name_of(getattr(aval, "dtype", aval)), shape, 0 if is_number else _width_of(aval))


@functools.lru_cache(maxsize=256)
def _name_of(dtype: Any) -> str:
    return str(dtype)


def size_of(atom: Any) -> int:
    """The number of elements; 0 where a dimension is symbolic."""
    return _size_of(atom.aval)


@cached_by_identity
def _size_of(aval: Any) -> int:
    shape = getattr(aval, "shape", ())
    return math.prod(shape) if all(isinstance(one, int) for one in shape) else 0


def width_of(atom: Any) -> int:
    """Bytes of a value; 0 of a number of the source, and of what has no dtype."""
    return 0 if isinstance(atom, core.Literal) else _width_of(atom.aval)


@cached_by_identity
def _width_of(aval: Any) -> int:
    return _size_of(aval) * getattr(aval.dtype, "itemsize", 0) if hasattr(aval, "dtype") else 0
