"""Cache what is computed from JAX's programs."""

from __future__ import annotations

import functools
from collections.abc import Callable
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
