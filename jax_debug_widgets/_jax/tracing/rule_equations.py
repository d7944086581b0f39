"""Collect the equations that JAX makes when it differentiates an operation: the rule makes the value and residuals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class _Here(threading.local):
    """The equations that the derivative rule running in this thread has made so far, by their trace; None if none runs."""

    made: dict[int, list[Any]] | None = None


_here = _Here()


def add(frame: Any, equation: Any) -> None:
    """Note an equation that is made in the trace of a frame."""
    if _here.made is not None:
        _here.made.setdefault(id(frame), []).append(equation)


def forget(frame: Any) -> None:
    """Let go of the equations of a trace that ends: what JAX finds alive of it is a leak (`jax.checking_leaks`)."""
    if _here.made is not None:
        _here.made.pop(id(frame), None)


@contextmanager
def noted() -> Iterator[Callable[[], Sequence[Any]]]:
    """Give a function that returns the equations made inside the context.

    They are without those that an inner operation's own rule makes, and without those of traces that have ended.
    """
    outer = _here.made
    made = _here.made = {}
    try:
        yield lambda: [one for equations in made.values() for one in equations]
    finally:
        _here.made = outer
