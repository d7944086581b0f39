"""Make the text of an event from its values with NumPy only, without JAX."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jax_debug_widgets.events.amounts import lane_text

if TYPE_CHECKING:
    from jax_debug_widgets.events.site import CallSite

BAD_LANE = "bad lane"
"""The name of a statistic: the first lane with a NaN, or else the first lane with an infinity; -1 if all are finite."""

PRINT_OPTIONS: Mapping[str, tuple[type, ...]] = {
    "precision": (int, type(None)),
    "threshold": (int,),
    "edgeitems": (int,),
    "linewidth": (int,),
    "suppress": (bool,),
    "nanstr": (str,),
    "infstr": (str,),
    "sign": (str,),
    "floatmode": (str,),
    "legacy": (bool, int, str),
}
"""NumPy's print options that are plain values, with their types."""

_MOST_DIGITS = 3
"""The most digits of a width or a precision in a format: a larger one would make a text of gigabytes."""


@dataclass(frozen=True)
class TextRecipe:
    """A recipe to make a text from the values of an event.

    Attributes:
      kind: `format` for a format with placeholders; `words` for values that follow the text; `call` for a callback with its
        arguments; `watch` for the statistics of a watched value.
      format: the format, the text before the values, or the callback's name.
      options: the NumPy print options that apply, as items.
    """

    kind: Literal["format", "words", "call", "watch"]
    format: str = ""
    options: tuple[tuple[str, Any], ...] = ()

    def text(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return the text for these arguments. The caller sets NumPy's print options."""
        if self.kind == "call":
            return call_text(self.format, args, kwargs)
        if self.kind == "words":
            return " ".join((self.format, *map(str, args)))
        try:
            return self.format.format(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the text then contains the error, as in `taps.text.Renderer`.
            return f"<{type(error).__name__} while formatting {self.format!r}: {error}>"


def recipe_of(format_string: str, options: Mapping[str, Any], *, is_call: bool) -> TextRecipe | None:
    """Return the recipe by which NumPy makes the text of a print or callback; None if the text needs more than plain values."""
    if is_call:
        return TextRecipe("call", format_string)
    if not options:
        return TextRecipe("words", format_string)
    known = {name: value for name, value in options.items() if name in PRINT_OPTIONS}
    others = [value for name, value in options.items() if name not in PRINT_OPTIONS]
    is_plain = all(type(value) in PRINT_OPTIONS[name] for name, value in known.items())
    if any(value is not None for value in others) or not is_plain or not is_plain_format(format_string):
        return None
    return TextRecipe("format", format_string, tuple(sorted(known.items())))


def is_plain_format(format_string: str) -> bool:
    """Whether a format uses only whole values, as `{loss:.3f}` does and `{x[0]}` does not, and no very large width."""
    try:
        fields = list(string.Formatter().parse(format_string))
    except ValueError:
        return False
    return not any(
        conversion in ("r", "a")
        or (not (name or "0").isidentifier() and not (name or "0").isdecimal())
        or "{" in (spec or "")
        or any(len(digits) > _MOST_DIGITS for digits in _digits_in(spec or ""))
        for _, name, spec, conversion in fields
    )


def call_text(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Write the call of a callback: `host(3.0, x=[1. 2.])`."""
    with np.printoptions(threshold=20, edgeitems=3, precision=6, linewidth=200):
        shown = [_brief(arg) for arg in args] + [f"{key}={_brief(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(shown)})"


def watched_text(site: CallSite, values: Sequence[Any]) -> str:
    """Write the statistics of a watched value in a line. The panel does not show such lines."""
    numbers = [(name, value) for name, value in zip(site.values, values, strict=True) if np.ndim(value) == 0]
    return f"{site.label}: " + ", ".join(filter(None, (_statistic(site, *one) for one in numbers)))


def _statistic(site: CallSite, name: str, value: np.ndarray) -> str:
    """Write one statistic: `max 3.5`; for `bad lane`, `bad lane (1, 2)`, and nothing if all lanes are finite."""
    if name == BAD_LANE:
        lane = site.watch.lane(int(value)) if site.watch else ()
        return f"bad {lane_text(lane)}" if lane else ""
    return f"{name} {value.item() if value.dtype.kind in 'iu' else format(value.item(), '.4g')}"


def as_numpy(value: Any) -> Any:
    """Return a value as a format shows it: `jax.Array.__format__` formats a scalar as a NumPy scalar, not as a 0-d array."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _digits_in(spec: str) -> list[str]:
    return "".join(character if character.isdecimal() else " " for character in spec).split()


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return str(value[()]) if value.ndim == 0 else " ".join(str(value).split())
    return repr(value)
