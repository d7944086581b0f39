"""Note each Python `print` in a function that is being traced. The print still writes its text to the same place."""

from __future__ import annotations

import builtins
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

from jax_debug_widgets._jax.compat import features, guard
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.context import is_called_for_us
from jax_debug_widgets._jax.origins.frames import is_ours
from jax_debug_widgets._jax.tracing.tracing import Tracing, tracing_now


@dataclass(frozen=True)
class Printed:
    """A `print` while tracing: its text, its place (`file`, `line`), and the traced function; see `events.TracePrint`."""

    text: str
    file: str
    line: int
    function: str
    inside: tuple[str, ...]
    is_jitted: bool
    why: str
    trace: int
    time_ns: int


class PrintWatch(Replacing):
    """Replaces `builtins.print` while a capture is open. The replacement notes only prints of captured threads that trace."""

    def __init__(self, captured_settings: Callable[[], Any]) -> None:
        super().__init__()
        self.subscriber: Callable[[Printed], object] | None = None
        """Called with each print, in the thread that traces."""
        self._captured_settings = captured_settings
        self._lock = threading.Lock()
        self._traces: weakref.WeakKeyDictionary[Any, tuple[int, str]] = weakref.WeakKeyDictionary()
        """Trace -> its number, and why JAX traced."""
        self._count = 0
        self._signatures: dict[str, list[tuple[tuple[tuple[str, str], ...], Any]]] = {}
        """Function -> the argument types of each trace, and the settings of the capture at that time."""

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.TRACING):
            replace.attribute(builtins, "print", self._print)

    def _print(self, theirs: Callable[..., None], *args: Any, **options: Any) -> None:
        if is_called_for_us() and tracing_now() is not None:
            return None  # This package traces the function again; the user's own call has printed already.
        file = options.get("file")
        if (file is not None and file is not sys.stdout) or sys.stdout is None or self._captured_settings() is None:
            return theirs(*args, **options)
        tracing = tracing_now()
        if tracing is None:
            return theirs(*args, **options)
        copy = _Copying(sys.stdout)
        try:
            return theirs(*args, **options | {"file": copy})
        finally:
            frame = _caller()
            if copy.pieces and frame is not None:
                number, why = self._number_of(tracing)
                name = tracing.function.partition(" at ")[0]
                text, now = "".join(copy.pieces), time.perf_counter_ns()
                if self.subscriber is not None:
                    self.subscriber(
                        Printed(text, *frame, name, tracing.inside, tracing.signature is not None, why, number, now)
                    )

    def _number_of(self, tracing: Tracing) -> tuple[int, str]:
        with self._lock:
            if tracing.trace not in self._traces:
                self._traces[tracing.trace] = self._count, self._why(tracing)
                self._count += 1
            return self._traces[tracing.trace]

    def _why(self, tracing: Tracing) -> str:
        if tracing.signature is None:
            return f"`{tracing.function}` outside jit runs the function each time"
        before, settings = self._signatures.setdefault(tracing.function, []), self._captured_settings()
        try:
            if not before:
                return "traced: its first call here"
            kinds = [settings_then for signature, settings_then in before if signature == tracing.signature]
            if kinds and settings not in kinds:
                return (
                    "traced once more, because this capture has other options than the one before; your code did "
                    "not cause this"
                )
            if kinds:
                return (
                    "traced again for the same types: a static argument or a setting has changed, or the function "
                    "was defined again"
                )
            return f"traced again for new types: {_difference(before[-1][0], tracing.signature)}"
        finally:
            before.append((tracing.signature, settings))


class _Copying:
    """Passes on what `print` writes to a file, and keeps a copy."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.pieces: list[str] = []

    def write(self, text: str) -> int:
        written = self._file.write(text)
        self.pieces.append(text)
        return written

    def flush(self) -> None:
        self._file.flush()


def _difference(before: tuple[tuple[str, str], ...], now: tuple[tuple[str, str], ...]) -> str:
    if [name for name, _ in before] != [name for name, _ in now]:
        return "other arguments"
    pairs = zip(before, now, strict=True)
    changed = [f"{name or 'an argument'} {old} → {new}" for (name, old), (_, new) in pairs if old != new]
    return ", ".join(changed)


def _caller() -> tuple[str, int] | None:
    """Return file and line of the frame that called `print`; None for a frame of JAX or of this package."""
    frame = sys._getframe(1)  # noqa: SLF001 - there is no other way to ask who calls.
    while frame.f_code.co_filename in (__file__, guard.__file__) and frame.f_back is not None:
        frame = frame.f_back
    file = frame.f_code.co_filename
    return None if is_ours(file) or f"{os.sep}jax{os.sep}_src{os.sep}" in file else (file, frame.f_lineno)
