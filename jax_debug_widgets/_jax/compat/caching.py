"""Cache what is computed from JAX's programs, functions' code, and types of values."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from jax_debug_widgets._jax.compat.private import util

R = TypeVar("R")


def cached(function: Callable[..., R]) -> Callable[..., R]:
    """Cache the results of a function of a program and further arguments, as long as the program is alive.

    The function may trace: its results are kept for each of JAX's contexts, such as `jax.enable_x64`.
    """
    return _cached(function, lambda cache: cache(function))


def cached_fact(function: Callable[..., R]) -> Callable[..., R]:
    """Cache as `cached` does, for results that are the same in each of JAX's contexts.

    Comparing contexts takes some microseconds.
    """
    return _cached(function, lambda cache: cache(function, trace_context_in_key=False))


def _cached(function: Callable[..., R], made: Callable[[Any], Any]) -> Callable[..., R]:
    @functools.cache
    def remembering() -> Any:
        # JAX's cache holds its first argument weakly.
        theirs = getattr(util, "weakref_lru_cache", None)
        return functools.lru_cache(maxsize=256)(function) if theirs is None else made(theirs)

    @functools.wraps(function)
    def call(*args: Any) -> R:
        return remembering()(*args)

    return call


_MOST = 2**14
"""The most results of a function that are kept; the oldest are dropped first."""


def cached_by_identity(function: Callable[..., R], *, most: int = _MOST) -> Callable[..., R]:
    """Cache results of a function of an object that does not change, such as a code object, and further arguments.

    The `most` newest results are kept.

    Code objects, and JAX's types of values, hash and compare by their content. For a long function that takes long, and
    code objects of two files may be equal.
    """
    known: dict[tuple[Any, ...], tuple[Any, R]] = {}
    lock = threading.RLock()

    @functools.wraps(function)
    def call(one: Any, *args: Any) -> R:
        key = id(one), *args
        found = known.get(key)
        if found is None:
            found = one, function(one, *args)
            with lock:  # Without it, two threads could try to drop the same oldest result.
                known[key] = found
                if len(known) > most:
                    del known[next(iter(known))]
        return found[1]

    return call
