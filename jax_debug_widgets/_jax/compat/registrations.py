"""Register our primitives and pytree nodes with JAX when the first capture begins, not when a module is imported."""

from __future__ import annotations

import threading
from collections.abc import Callable

from jax_debug_widgets._jax.compat import features

_waiting: list[tuple[str, Callable[[], None]]] = []
_lock = threading.Lock()


def registers(feature: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Decorate a function that registers something with JAX; it runs once, if JAX has the names that `feature` needs."""

    def mark(register: Callable[[], None]) -> Callable[[], None]:
        _waiting.append((feature, register))
        return register

    return mark


def register_all() -> None:
    """Call the marked functions that have not run yet."""
    if _waiting:
        with _lock:
            while _waiting:
                feature, register = _waiting[0]
                if features.available(feature):
                    register()
                del _waiting[0]
