"""Write parameters and numbers as Python text."""

from __future__ import annotations

import ast
import cmath
import enum
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class RefusedError(Exception):
    """A value or an equation cannot be written as text."""


_LARGEST = 64
"""An array among the parameters may have so many numbers."""


def text_of(value: Any) -> str:
    """A parameter of an equation as Python.

    Raises:
      RefusedError: there is no text for it.
    """
    text = _plain(value) or _of_devices(value) or _container(value) or _of_numpy(value)
    if text is None:
        raise RefusedError(f"a parameter of type {type(value).__name__}")
    return text


def _plain(value: Any) -> str | None:
    if type(value) is getattr(getattr(jax, "memory", None), "Space", None):
        return f"jax.memory.Space.{value.name}"
    if isinstance(value, enum.Enum):
        return f"lax.{type(value).__name__}.{value.name}" if hasattr(lax, type(value).__name__) else None
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, complex) and not _is_read_alike(value):
        return f"complex({_plain(value.real)}, {_plain(value.imag)})"
    return repr(value) if isinstance(value, bool | int | float | complex | str | type(None)) else None


def _is_read_alike(value: complex) -> bool:
    """Whether Python reads the text of a complex number as this number: of `-1j` it makes another zero."""
    return cmath.isfinite(value) and repr(ast.literal_eval(repr(value))) == repr(value)


def _container(value: Any) -> str | None:
    match value:
        case tuple() if hasattr(value, "_fields"):
            return _of_class(value, type(value).__dict__["_fields"])
        case tuple():
            return tuple_of(map(text_of, value))
        case list():
            return f"[{', '.join(map(text_of, value))}]"
        case dict():
            return f"{{{', '.join(f'{text_of(key)}: {text_of(one)}' for key, one in value.items())}}}"
    return _of_class(value, value.__dataclass_fields__) if hasattr(value, "__dataclass_fields__") else None


def _of_devices(value: Any) -> str | None:
    match value:
        case jax.sharding.PartitionSpec():
            return f"jax.sharding.PartitionSpec({', '.join(map(text_of, value))})"
        case jax.sharding.NamedSharding():
            kind = f", memory_kind={value.memory_kind!r}" if value.memory_kind not in (None, "device") else ""
            return f"jax.sharding.NamedSharding({mesh_of(value.mesh)}, {text_of(value.spec)}{kind})"
        case jax.Device():
            return f"jax.devices({value.platform!r})[{jax.devices(value.platform).index(value)}]"
    return None


def mesh_of(mesh: Any) -> str:
    """A mesh of the devices in JAX's order."""
    kinds = tuple_of(f"jax.sharding.AxisType.{one.name}" for one in mesh.axis_types)
    return f"jax.make_mesh({text_of(tuple(mesh.axis_sizes))}, {text_of(tuple(mesh.axis_names))}, axis_types={kinds})"


def _of_numpy(value: Any) -> str | None:
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return f"jnp.dtype({np.dtype(value).name!r})"
    if isinstance(value, np.bool_ | np.integer | np.inexact):
        return text_of(value.item())
    return _array(value) if isinstance(value, np.ndarray) and value.size <= _LARGEST else None


def _array(value: np.ndarray) -> str:
    return f"np.array({text_of(value.tolist())}, {value.dtype.name!r})"


def _of_class(value: Any, fields: Any) -> str:
    name = type(value).__name__
    if not hasattr(lax, name):
        raise RefusedError(f"a parameter of type {name}")
    return f"lax.{name}({', '.join(f'{one}={text_of(getattr(value, one))}' for one in fields)})"


def dtype_of(dtype: Any) -> str:
    """`jnp.float32`."""
    name = np.dtype(dtype).name
    name = {"bool": "bool_"}.get(name, name)
    return f"jnp.{name}" if hasattr(jnp, name) else f"jnp.dtype({name!r})"


def tuple_of(parts: Any) -> str:
    """`(a, b)`, `(a,)`."""
    parts = list(parts)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def number(value: Any, *, typed: bool) -> str:
    """A number of the program, `2.0`; typed: `jnp.float32(2.0)`."""
    array = np.asarray(value)
    if array.dtype == jax.dtypes.float0:
        return f"np.zeros({array.shape}, jax.dtypes.float0)"
    if array.shape:
        return _array(array)
    plain = array.item() if array.dtype.kind in "biufc" else float(array)
    text = text_of(plain)
    if isinstance(plain, float):
        if not math.isfinite(plain):
            text = {math.inf: "jnp.inf", -math.inf: "-jnp.inf"}.get(plain, "jnp.nan")
        elif array.dtype == np.float32:
            text = _shortest(array)
    return f"{dtype_of(array.dtype)}({text})" if typed and array.dtype.kind != "b" else text


def _shortest(array: np.ndarray) -> str:
    """The fewest digits that are this float32: JAX reads them as such."""
    text = str(np.float32(array))
    return text if np.float32(float(text)) == np.float32(array) else repr(float(array))
