"""Write numbers and parameters of equations as text, equal for equal ones."""

from __future__ import annotations

import functools
import hashlib
import re
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr
from jax.sharding import AxisType, NamedSharding

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.numbers import on_host
from jax_debug_widgets.graphs.program import CALLS


def text_of_array(value: Any) -> str:
    """A number as it is written; of an array only that it is one."""
    try:
        array = on_host(value)
    except Exception:  # noqa: BLE001 - of another process, given away, or no array at all.
        return "array"
    if array.ndim:
        return "array"
    text = str(array[()])  # A whole number in bfloat16 has no point there.
    is_float = jax.dtypes.issubdtype(array.dtype, np.floating)
    return f"{text}.0" if is_float and text.lstrip("-").isdigit() else text


def digest(value: Any) -> str:
    """A text that is equal for arrays of the same dtype, shape and bits."""
    try:
        array = on_host(value)
    except Exception:  # noqa: BLE001 - as above; what cannot be read is equal to itself alone.
        if isinstance(value, core.Tracer):  # A library's primitive keeps it in a program that only derivatives run.
            return f"traced {value.dtype}{list(value.shape)}"
        return f"{type(value).__name__} {id(value)}"
    about = f"{getattr(value, 'dtype', array.dtype)} {array.shape} ".encode()
    return hashlib.blake2b(about + array.tobytes(), digest_size=12).hexdigest()


_SAYS_NOTHING = frozenset(
    {
        "debug_info",
        "linear",
        "num_consts",
        "num_carry",
        "cond_nconsts",
        "body_nconsts",
        "ft_in",
        "ft_out",
        "_split_transpose",
        "computation",
    }
)
"""Parameters that say nothing of what is computed that the operands and bodies do not say."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")

_PLAIN = (bool, int, float, complex, str, type(None))

_HOLDS = ("callback_func", "func", "__wrapped__")
"""Attributes in which an object that is called holds the function that it calls."""

_DEEPEST = 6


def name_of(equation: core.JaxprEqn) -> str:
    """The name of the operation: `add`; of one of JAX's high-level primitives that of its class, as JAX prints it."""
    operation = versions.high_level(equation)
    return equation.primitive.name if operation is None else type(operation).__name__


def params_of(equation: core.JaxprEqn) -> dict[str, str]:
    """The parameters of an equation as text, without the programs that it runs and parameters with their usual value."""
    operation = versions.high_level(equation)
    if operation is not None:
        return {key: text for key, value in sorted(operation.params.items()) if (text := _text(value))}
    if equation.primitive.name in CALLS:
        name = equation.params.get("name")
        return {"name": str(name)} if name else {}
    params = {
        key: _text_of_callback(value) if key == "callback" else _text(value)
        for key, value in sorted(equation.params.items())
        if key not in _SAYS_NOTHING and value is not None and not _is_program(value) and not _is_usual(key, value)
    }
    return {key: text for key, text in params.items() if text}


def _is_usual(key: str, value: Any) -> bool:
    """Whether a parameter says what none would say: each element of a slice, a sharding that asks for nothing."""
    if isinstance(value, NamedSharding):
        return asks_for_nothing(value)
    return key == "strides" and all(one == 1 for one in value)


def asks_for_nothing(sharding: NamedSharding) -> bool:
    """Whether a sharding leaves it to the compiler, or to the block over the mesh, how an array is split."""
    is_explicit = AxisType.Explicit in sharding.mesh.axis_types
    return sharding.mesh.empty or (not is_explicit and not any(sharding.spec) and not sharding.memory_kind)


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
    return without_addresses(str(value))


def without_addresses(text: str) -> str:
    """Text of objects that is equal for equal ones."""
    return _ADDRESS.sub("", text)


def _text_of_callback(value: Any, depth: int = 0) -> str:
    """A function that the host calls: its name, what it does as bytecode, and the functions and numbers that it holds."""
    if depth > _DEEPEST or not callable(value):
        return repr(value) if isinstance(value, _PLAIN) else ""
    inner = depth + 1
    if isinstance(value, functools.partial):
        return f"partial({', '.join(_text_of_callback(one, inner) for one in (value.func, *value.args))})"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type(value).__name__
    code = getattr(value, "__code__", None)
    if code is None:
        held = [getattr(value, field, None) for field in dir(value) if field in _HOLDS]
    else:
        consts = [one for one in code.co_consts if isinstance(one, _PLAIN)]
        name += " " + hashlib.blake2b(repr((code.co_code, code.co_names, consts)).encode(), digest_size=4).hexdigest()
        held = [_content(cell) for cell in value.__closure__ or ()]
    own = [text for one in held if (text := _text_of_callback(one, inner))]
    return f"{name}({', '.join(own)})" if own else name


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
