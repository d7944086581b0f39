"""Find the arguments of JAX's functions by name, because their positions differ between versions."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any


def parameters_of(function: Any) -> tuple[str, ...]:
    """Return the names of a function's parameters, also if JAX's C++ caches the function, which hides its signature."""
    function = inspect.unwrap(function) if callable(function) else None
    if type(function).__name__ == "WeakrefLRUCache":
        function = next((one for one in gc.get_referents(function) if _is_defined(one)), None)
    try:
        return tuple(inspect.signature(function).parameters) if isinstance(function, Callable) else ()
    except ValueError:
        return ()


def argument(name: str, parameters: Sequence[str], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return an argument of a call.

    Raises:
      ValueError: the function has no such parameter.
      IndexError: the call does not pass it.
    """
    return options[name] if name in options else args[parameters.index(name)]


def _is_defined(one: Any) -> bool:
    return isinstance(one, FunctionType) and one.__name__ != "<lambda>"
