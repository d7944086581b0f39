"""Colour boxes by role, dtype, device, flops, bytes, error growth, or non-finite values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from jax_debug_widgets.events.amounts import in_bytes
from jax_debug_widgets.graphs.program import Equation
from jax_debug_widgets.graphs.seen import Seen

Colour = Literal["role", "dtype", "flops", "bytes", "device", "error growth", "nan"]
"""What the colours show."""

COLOURS: tuple[Colour, ...] = get_args(Colour)

_ROLES = {"forward": "role-forward", "backward": "role-backward", "recompute": "role-recompute"}
_SHADES = 5
_HUES = 6


@dataclass(frozen=True)
class Tones:
    """The colours of boxes.

    Attributes:
      of: for each box, its class in the style sheet, and what the colour means.
      legend: the classes, and what each means.
    """

    of: Sequence[tuple[str, str]]
    legend: Sequence[tuple[str, str]]


def tones_of(
    equations: Sequence[Equation],
    boxes: Sequence[Sequence[int]],
    by: Colour,
    seen: Seen | None = None,
    devices: str = "",
) -> Tones:
    """Choose the colours of boxes.

    Args:
      equations: the equations of the program.
      boxes: for each box, the numbers of its equations.
      by: what the colours show.
      seen: what runs have shown about the equations.
      devices: the devices that hold the program's arguments; empty if unknown.
    """
    seen = seen or Seen()
    match by:
        case "role":
            found = [_role(equations, own) for own in boxes]
            return Tones(found, [(tone, word) for word, tone in _ROLES.items() if (tone, word) in found])
        case "dtype":
            return _kinds([_weights_of_dtypes(equations, own) for own in boxes])
        case "device":
            own = devices or "where the arguments are"
            return _kinds([Counter(equations[one].device or own for one in numbers) for numbers in boxes])
        case "nan":
            return _not_finite(boxes, seen.not_finite)
        case "error growth":
            return _growth(boxes, seen.growth)
    return _amounts(equations, boxes, by)


def _role(equations: Sequence[Equation], own: Sequence[int]) -> tuple[str, str]:
    counts = Counter(equations[one].role for one in own)
    word = counts.most_common(1)[0][0] if counts else "forward"
    return _ROLES[word], word


def _weights_of_dtypes(equations: Sequence[Equation], own: Sequence[int]) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for one in own:
        for kind in equations[one].types:
            sizes[kind.dtype] += max(kind.size * kind.nbytes, 1)
    return sizes


def _kinds(boxes: Sequence[Counter[str]]) -> Tones:
    """Give each kind a hue; a box gets the hue of its most frequent kind."""
    found = [own.most_common(1)[0][0] if own else "" for own in boxes]
    order = [name for name, _ in Counter(found).most_common() if name]
    hues = {name: f"hue-{min(number, _HUES - 1)}" for number, name in enumerate(order)}
    return Tones([(hues.get(name, ""), name) for name in found], [(hues[name], name) for name in order])


def _growth(boxes: Sequence[Sequence[int]], growth: Mapping[int, float]) -> Tones:
    if not growth:
        return Tones(
            [("", "not measured") for _ in boxes], [("", "not measured: %jaxdebug compare f -- x --against float64")]
        )

    def tone_of(own: Sequence[int]) -> tuple[str, str]:
        known = [growth[one] for one in own if one in growth]
        if not known:
            return "", "not measured"
        most = max(known)
        shade = sum(most >= limit for limit in _LIMITS)
        return f"shade-{shade}", f"error × {most:.2g}" if most >= _LIMITS[0] else "loses no digit"

    words = ["loses no digit", *(f"error × {limit:,.0f} or more" for limit in _LIMITS)]
    legend = [(f"shade-{shade}", word) for shade, word in reversed(list(enumerate(words)))]
    return Tones(list(map(tone_of, boxes)), [*legend, ("", "not measured")])


_LIMITS = (10.0, 1e3, 1e5, 1e7)
"""The error growth at which each darker shade begins."""


def _not_finite(boxes: Sequence[Sequence[int]], counts: Mapping[int, int]) -> Tones:
    def tone_of(own: Sequence[int]) -> tuple[str, str]:
        known = [counts[one] for one in own if one in counts]
        if not known:
            return "", "not watched"
        return ("bad", f"{sum(known):,} not finite") if any(known) else ("fine", "finite")

    legend = (
        [("bad", "not finite in the last run"), ("fine", "finite"), ("", "not watched")]
        if counts
        else [("", "no watched values")]
    )
    return Tones(list(map(tone_of, boxes)), legend)


def _amounts(equations: Sequence[Equation], boxes: Sequence[Sequence[int]], by: Colour) -> Tones:
    def amount(own: Sequence[int]) -> int:
        each = (
            (equations[one].flops if by == "flops" else equations[one].nbytes) * (equations[one].times or 1)
            for one in own
        )
        return sum(each)

    def written(count: float) -> str:
        return in_bytes(int(count)) if by == "bytes" else f"{in_short(count)} flops"

    found = list(map(amount, boxes))
    most = max(found, default=0)
    if not most:
        return Tones([("shade-0", written(0)) for _ in boxes], [("shade-0", written(0))])

    def shade(count: int) -> int:
        return 0 if not count else max(1, _SHADES - 1 + math.ceil(math.log10(count / most) - 1e-9))

    legend = [(f"shade-{one}", f"≤ {written(most * 10.0 ** (one - _SHADES + 1))}") for one in range(_SHADES - 1, 0, -1)]
    return Tones([(f"shade-{shade(one)}", written(one)) for one in found], legend)


def in_short(count: float) -> str:
    """Return a count in short form: `1.2 M`."""
    for power, letter in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if count >= 10**power:
            return f"{count / 10**power:.3g} {letter}"
    return f"{count:.3g}"
