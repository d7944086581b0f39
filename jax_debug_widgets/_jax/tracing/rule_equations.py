"""Collect the equations that JAX makes when it differentiates an operation: the rule makes the value and residuals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class _Here(threading.local):
    """Trace -> the equations that the derivative rule running in this thread has made so far; None if no rule runs."""

    made: dict[int, list[Any]] | None = None


_here = _Here()


def add(frame: Any, equation: Any) -> None:
    """Note an equation that is made in the trace of a frame."""
    if _here.made is not None:
        _here.made.setdefault(id(frame), []).append(equation)


def forget(frame: Any) -> None:
    """Release the equations of a trace that ends: JAX would report what is still alive as a leak (`jax.checking_leaks`)."""
    if _here.made is not None:
        _here.made.pop(id(frame), None)


@contextmanager
def noted() -> Iterator[Callable[[], Sequence[Any]]]:
    """Yield a function that returns the equations made inside the context.

    Equations of an inner operation's own rule, and of traces that have ended, are left out.
    """
    outer = _here.made
    made = _here.made = {}
    try:
        yield lambda: [one for equations in made.values() for one in equations]
    finally:
        _here.made = outer
