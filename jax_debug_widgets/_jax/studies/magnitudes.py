"""Tell the magnitude of values, and how many numbers an equation adds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.numbers import on_host
from jax_debug_widgets.graphs.figures import size_of
from jax_debug_widgets.graphs.rounding import is_inexact
from jax_debug_widgets.graphs.zeros import scale_of


def is_float(value: Any) -> bool:
    """Whether a value has real or complex numbers."""
    dtype = getattr(value, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, np.inexact)


def on_host_or_none(value: Any) -> np.ndarray | None:
    """A value as numbers; a `Ref` has others later."""
    return on_host(value) if isinstance(value, jax.Array | np.ndarray | np.generic) else None


def size_in(array: np.ndarray | None) -> float:
    """The root mean square of an array, see `size_of`; 0 of what has no real or complex numbers."""
    return 0.0 if array is None or not is_inexact(array) else size_of(np.abs(array).astype(np.float64), array.dtype)


def scale_in(equation: core.JaxprEqn, inputs: Sequence[Any], size: float) -> float:
    """The scale of a result of this size, see `graphs/zeros.py`; `inputs` have a `size` and a `scale`."""
    sizes, scales = [one.size for one in inputs], [one.scale for one in inputs]
    return scale_of(equation.primitive.name, sizes, scales, size, _terms(equation), _power_of(equation))


def _power_of(equation: core.JaxprEqn) -> float:
    """The power to which an equation raises its operand; 0 if it raises none."""
    name = equation.primitive.name
    return float(equation.params["y"]) if name == "integer_pow" else {"square": 2.0, "sqrt": 0.5}.get(name, 0.0)


def _terms(equation: core.JaxprEqn) -> float:
    """How many numbers an equation adds for each number of its result."""
    name, params = equation.primitive.name, equation.params
    sizes: list[Any] = [getattr(one.aval, "shape", ()) for one in equation.invars]
    count = 1.0
    match name:
        case "dot_general":
            count = _product(sizes[0][axis] for axis in params["dimension_numbers"][0][0])
        case "conv_general_dilated":
            count = _product(sizes[1]) / sizes[1][params["dimension_numbers"].rhs_spec[0]]
        case "cumsum":
            count = float(sizes[0][params["axis"]])
        case "reduce_sum":
            count = _product(sizes[0][axis] for axis in params["axes"])
        case "reduce_window_sum":
            count = _product(params["window_dimensions"])
        case "scatter-add" | "scatter-sub":  # So many on average, and the number that was there.
            count += _product(sizes[2]) / max(_product(sizes[0]), 1.0)
    return count


def _product(counts: Iterable[int]) -> float:
    return float(np.prod([*counts]))
