"""Keep the current thread's capture settings in a user context of JAX's, which is part of the keys of its caches.

When a context is made, the keys of all programs change, and programs compiled before are compiled once more. So our contexts
are made together, and as early as possible: this module imports little besides JAX.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets._jax.compat.processes import joined

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import Settings

_settings = jax.make_user_context(None)
"""The settings of the current thread's capture; None outside of captures. Equal settings share executables."""

_surveying = jax.make_user_context(None)

_here = threading.local()
"""The state of the current thread that is not part of JAX's keys."""


def capturing(settings: Settings | None) -> AbstractContextManager[Any]:
    """A context in which the current thread's programs are compiled with taps.

    Args:
      settings: None for no taps; part of the key of JAX's caches, so equal values run the same executables.
    """
    return _settings(settings)


def uncached() -> AbstractContextManager[Any]:
    """Trace and lower as if JAX had no such program in its caches: a cached one is not lowered again."""
    return _surveying(object())


def is_uncached() -> bool:
    """Whether the current thread is inside `uncached`: what it traces then is traced for us."""
    return _surveying.value is not None


@contextmanager
def calling_for_us() -> Iterator[None]:
    """Note that the current thread calls a function of the user's for us: a watched twin, or to compare programs."""
    before, _here.calls_for_us = is_called_for_us(), True
    try:
        yield
    finally:
        _here.calls_for_us = before


def is_called_for_us() -> bool:
    """Whether the current thread is inside `calling_for_us`."""
    return getattr(_here, "calls_for_us", False)


def cache_key() -> tuple[Any, Any] | None:
    """The key for programs of the current thread, which are compiled apart from others; None outside of captures."""
    key = (_settings.value, _surveying.value)
    return None if key == (None, None) else key


def captured_settings() -> Any:
    """The settings of the current thread's capture; None outside of captures."""
    return _settings.value


def is_capturing() -> bool:
    """Whether the current thread is inside `capturing`."""
    return _settings.value is not None


def leaves_out_debugging() -> bool:
    """Whether the current thread's programs are compiled without what they say through `jax.debug`."""
    settings: Settings | None = _settings.value
    return settings is not None and not settings.debug and not is_captured_alone()


def is_captured_alone() -> bool:
    """Whether other processes may run what this thread compiles, without a capture: then it has to stay JAX's program."""
    settings: Settings | None = _settings.value
    return settings is not None and settings.processes < joined()
