"""Numbers and parameters of equations as text that is equal for equal ones."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.program_difference import on_host
from jax_debug_widgets.graphs.program import CALLS


def text_of_array(value: Any) -> str:
    """A number as it is written; of an array only that it is one."""
    try:
        array = on_host(value)
    except Exception:  # noqa: BLE001 - of another process, given away, or no array at all.
        return "array"
    return str(array[()]) if array.ndim == 0 else "array"


def digest(value: Any) -> str:
    """Equal for arrays of the same dtype, shape and bits."""
    try:
        array = on_host(value)
    except Exception:  # noqa: BLE001 - as above; what cannot be read is equal to itself alone.
        return f"{type(value).__name__} {id(value)}"
    about = f"{getattr(value, 'dtype', array.dtype)} {array.shape} ".encode()
    return hashlib.blake2b(about + array.tobytes(), digest_size=12).hexdigest()


_SAYS_NOTHING = frozenset({"debug_info", "linear", "num_consts", "num_carry", "ft_in", "ft_out", "_split_transpose"})
"""Parameters that say nothing of what is computed that the operands and bodies do not say."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def params_of(equation: core.JaxprEqn) -> dict[str, str]:
    """What the parameters of an equation say of what it computes, without the programs that it runs."""
    if equation.primitive.name in CALLS:
        name = equation.params.get("name")
        return {"name": str(name)} if name else {}
    params = {
        key: _text(value)
        for key, value in sorted(equation.params.items())
        if key not in _SAYS_NOTHING and value is not None and not _is_program(value)
    }
    return {key: text for key, text in params.items() if text}


def _is_program(value: Any) -> bool:
    parts = value if isinstance(value, tuple) and value else (value,)
    return all(isinstance(part, ClosedJaxpr | core.Jaxpr) for part in parts)


def _text(value: Any) -> str:
    """A parameter as text that is equal for equal ones."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_text, value))})" if value else ""
    if isinstance(value, ClosedJaxpr | core.Jaxpr):
        return "program"
    if isinstance(value, np.ndarray) or (hasattr(value, "__array__") and not np.isscalar(value)):
        return digest(value)
    if callable(value) and not isinstance(value, type):
        return getattr(value, "__qualname__", type(value).__name__)
    return _ADDRESS.sub("", str(value))
