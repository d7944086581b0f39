"""Switch Python's garbage collector off for a moment, completely or in part."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Suspend garbage collection while many objects are made that all stay.

    The collector would search all of JAX's objects in vain.
    """
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
"""For each user of `without_full_collecting`: the number of collections of newer objects between two full ones before it."""


@contextmanager
def without_full_collecting() -> Iterator[None]:
    """Suspend full garbage collections while programs are traced, which takes seconds. New objects are collected as usual."""
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
            if not _usual and now == _NEVER:  # Otherwise the user's code has set it meanwhile.
                gc.set_threshold(new, newer, usual)
