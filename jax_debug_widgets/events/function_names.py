"""Shorten the names of functions for people."""

from __future__ import annotations

_INSIDE = ".<locals>."


def short_function(qualified: str) -> str:
    """Return a function's name without its enclosing functions: `step` for `train.<locals>.step`; `Model.apply` for a method.

    A function without a name of its own also has the name of the enclosing one: `step.<lambda>`.
    """
    *around, own = qualified.split(_INSIDE)
    return f"{short_function(_INSIDE.join(around))}.{own}" if own.startswith("<") and around else own
