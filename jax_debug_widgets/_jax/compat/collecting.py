"""Switch Python's garbage collector off for a moment, or a part of it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """While many objects are made that all stay: the collector would look through all of JAX's objects for nothing."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


_NEVER = 2**31 - 1
_lock = threading.Lock()
_usual: list[int] = []
"""For each user of `without_full_collecting`: how many collections of newer objects come before one of all, outside it."""


@contextmanager
def without_full_collecting() -> Iterator[None]:
    """While programs are traced, which takes seconds: new objects are collected as usual, but not all objects there are."""
    with _lock:
        new, newer, usual = gc.get_threshold()
        _usual.append(_usual[0] if _usual else usual)
        gc.set_threshold(new, newer, _NEVER)
    try:
        yield
    finally:
        with _lock:
            new, newer, now = gc.get_threshold()
            usual = _usual.pop()
            if not _usual and now == _NEVER:  # Else the user's code has set it.
                gc.set_threshold(new, newer, usual)
