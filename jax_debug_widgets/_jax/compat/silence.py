"""Suppress the prints of a program that runs a second time, only to compare it with another."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import jax

from jax_debug_widgets._jax.compat.private import debugging


class _WithoutPrints:
    """A stream that drops what `jax.debug.print` writes, in any thread."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if sys._getframe(1).f_globals.get("__name__") == debugging.__name__:
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def without_prints() -> Iterator[None]:
    """Suppress JAX's prints of programs dispatched inside; Python and the user's callbacks still write to stdout."""
    silent: Any = _WithoutPrints(sys.stdout)
    with contextlib.redirect_stdout(silent):
        yield
        jax.effects_barrier()
