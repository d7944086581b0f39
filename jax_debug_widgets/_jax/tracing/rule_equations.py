"""Collect the equations that JAX makes when it differentiates an operation: the rule makes the value and residuals."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class _Here(threading.local):
    """The equations that the derivative rule running in this thread has made so far; None if none runs."""

    made: list[Any] | None = None


_here = _Here()


def add(equation: Any) -> None:
    """Note an equation that is made."""
    if _here.made is not None:
        _here.made.append(equation)


@contextmanager
def noted() -> Iterator[Sequence[Any]]:
    """Give a list of the equations made inside the context, without those that an inner operation's own rule makes."""
    outer, _here.made = _here.made, []
    try:
        yield _here.made
    finally:
        _here.made = outer
