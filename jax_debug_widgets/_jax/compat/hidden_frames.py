"""Hide our frames as JAX hides its own: from tracebacks of exceptions, and from the places of operations.

JAX decides both by the beginning of a file's path. Our folder is registered from the first capture on, until the extension is
unloaded: programs traced in a capture are lowered and run after it, too.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress
from typing import Any

from jax_debug_widgets._jax.compat.private import source_info_util, traceback_util

FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
"""The folder of this package, with a separator at its end."""

_LINES = re.compile(rf'^ +File "{re.escape(FOLDER)}.*\n(?: {{4,}}.*\n)*', re.MULTILINE)
_lock = threading.Lock()


def hide() -> None:
    """Hide our frames, if they are not hidden."""
    with _lock:
        for module in (source_info_util, traceback_util):
            register = getattr(module, "register_exclusion", None)
            if register is not None and FOLDER not in getattr(module, "_exclude_paths", ()):
                register(FOLDER)


def show() -> None:
    """Restore JAX. Its C++ has no way to forget the files that it hides."""
    with _lock:
        for module in (source_info_util, traceback_util):
            with suppress(AttributeError, ValueError):
                module._exclude_paths.remove(FOLDER)
        for name in ("_exclude_path_regex", "is_user_filename"):
            cached: Any = getattr(source_info_util, name, None)
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()


def clean(error: BaseException) -> None:
    """Remove our frames from the text of an error: XLA writes the traceback of a callback's exception into it."""
    error.args = tuple(map(_without_ours, error.args))
    for name, value in vars(error).items():  # Newer versions of JAX keep the text in an attribute.
        setattr(error, name, _without_ours(value))


def _without_ours(value: Any) -> Any:
    return _LINES.sub("", value) if isinstance(value, str) and FOLDER in value else value
