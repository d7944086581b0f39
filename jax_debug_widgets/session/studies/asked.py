"""Check the arguments of a question about a function."""

from __future__ import annotations

_SHORT = 40
"""The most characters of a value that the error shows in full."""


def require_function(given: object) -> None:
    """Refuse a value that is not a function; the error says what to write instead.

    Raises:
      TypeError: the value cannot be called.
    """
    if not callable(given):
        text = repr(given)
        shown = text if len(text) <= _SHORT and "\n" not in text else f"a value of type {type(given).__name__}"
        raise TypeError(
            f"{shown} is no function: give the function and its arguments apart, `f, x` and not `f(x)`; "
            "only the magics take a call, as in `%jaxdebug table f(x)`"
        )
