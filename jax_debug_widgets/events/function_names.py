"""What functions are called where a person reads it."""

from __future__ import annotations

_INSIDE = ".<locals>."


def short_function(qualified: str) -> str:
    """The name of a function without those that it is defined in: `step` of `train.<locals>.step`, `Model.apply` of a method.

    One without a name of its own has that of the function around it, too: `step.<lambda>`.
    """
    *around, own = qualified.split(_INSIDE)
    return f"{short_function(_INSIDE.join(around))}.{own}" if own.startswith("<") and around else own
