"""Cache what is computed from JAX's programs, and from functions' code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

from jax_debug_widgets._jax.compat.private import util

R = TypeVar("R")


def cached(function: Callable[..., R]) -> Callable[..., R]:
    """Cache the results of a function of a program and further arguments, as long as the program is alive."""

    @functools.cache
    def remembering() -> Any:
        # JAX's cache holds its first argument weakly.
        return getattr(util, "weakref_lru_cache", functools.lru_cache(maxsize=256))(function)

    @functools.wraps(function)
    def call(*args: Any) -> R:
        return remembering()(*args)

    return call


_MOST = 2**14
"""How many results of a function of code objects are kept: the newest ones."""


def cached_by_code(function: Callable[..., R]) -> Callable[..., R]:
    """Cache the results of a function of a code object and further arguments.

    By identity: code objects hash and compare by their content, which takes the longer the longer the function is, and those
    of two files may be equal.
    """
    known: dict[tuple[Any, ...], tuple[CodeType, R]] = {}

    @functools.wraps(function)
    def call(code: CodeType, *args: Any) -> R:
        key = id(code), *args
        found = known.get(key)
        if found is None:
            found = known[key] = code, function(code, *args)
            if len(known) > _MOST:
                known.pop(next(iter(known)), None)
        return found[1]

    return call
