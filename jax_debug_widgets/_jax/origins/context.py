"""Keep the current thread's capture settings in a user context of JAX, which is part of the keys of JAX's caches.

Making a context changes the keys of all programs, and programs compiled before are compiled again. So our contexts are
made together, and as early as possible: this module imports little besides JAX.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets._jax.compat.processes import joined

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import CompiledSettings

_settings = jax.make_user_context(None)
"""The settings of the current thread's capture; None outside of captures. Equal settings share executables."""

_surveying = jax.make_user_context(None)

_here = threading.local()
"""The state of the current thread that is not part of JAX's keys."""


def capturing(settings: CompiledSettings | None) -> AbstractContextManager[Any]:
    """Return a context in which the current thread's programs are compiled with taps.

    Args:
      settings: None for no taps. They are part of the key of JAX's caches, so equal settings run the same executables.
    """
    return _settings(settings)


def uncached() -> AbstractContextManager[Any]:
    """Return a context in which JAX traces and lowers as if its caches had no such program."""
    return _surveying(object())


def is_uncached() -> bool:
    """Return whether the current thread is inside `uncached`; then it traces for us, not for the user."""
    return _surveying.value is not None


@contextmanager
def calling_for_us() -> Iterator[None]:
    """Note that the current thread calls a function of the user for us: a watched twin, or to compare programs."""
    before, _here.calls_for_us = is_called_for_us(), True
    try:
        yield
    finally:
        _here.calls_for_us = before


def is_called_for_us() -> bool:
    """Return whether the current thread is inside `calling_for_us`."""
    return getattr(_here, "calls_for_us", False)


@contextmanager
def tracing_for_us() -> Iterator[None]:
    """Note that the traces of the current thread are not the user's: plain JAX would not make them. Their prints are shown."""
    before, _here.traces_for_us = getattr(_here, "traces_for_us", False), True
    try:
        yield
    finally:
        _here.traces_for_us = before


def is_traced_for_us() -> bool:
    """Return whether the current thread is inside `tracing_for_us` or `calling_for_us`."""
    return getattr(_here, "traces_for_us", False) or is_called_for_us()


def cache_key() -> tuple[Any, Any] | None:
    """Return the key for programs that the current thread compiles apart from others; None outside captures."""
    key = (_settings.value, _surveying.value)
    return None if key == (None, None) else key


def captured_settings() -> Any:
    """Return the settings of the current thread's capture; None outside captures."""
    return _settings.value


def is_capturing() -> bool:
    """Return whether the current thread is inside `capturing`."""
    return _settings.value is not None


def leaves_out_debugging() -> bool:
    """Return whether the current thread's programs are compiled without their `jax.debug` calls."""
    settings: CompiledSettings | None = _settings.value
    return settings is not None and not settings.debug and not is_captured_alone()


def is_captured_alone() -> bool:
    """Return whether other processes may run this thread's programs without a capture.

    Then the programs must stay as JAX makes them.
    """
    settings: CompiledSettings | None = _settings.value
    return settings is not None and settings.processes < joined()
