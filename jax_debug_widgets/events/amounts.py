"""Write amounts for people."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_NOUNS = {"print": "print", "log": "print", "breakpoint": "breakpoint hit"}
"""Kind of a site -> the noun for its firings, if they are not callbacks."""

_TIMES = (
    (9.95e-6, 1e6, ".2g", "µs"),
    (0.000_999_5, 1e6, ".0f", "µs"),
    (0.0995, 1e3, ".2g", "ms"),
    (9.95, 1.0, ".2f", "s"),
    (60.0, 1.0, ".1f", "s"),
)
"""Seconds below which a unit is written; how many of it a second has; its digits; its name."""


def in_bytes(count: float) -> str:
    """Write a number of bytes: `4.2 kB`."""
    for unit in ("B", "kB", "MB"):
        if abs(count) < 1000:  # noqa: PLR2004 - a thousand of a unit is one of the next.
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def in_time(seconds: float) -> str:
    """Write a time: `1.2 µs`, `5.1 ms`, `4.20 s`, `2 min 3 s`, `1 h 4 min`; the twin of `js/src/kit/format.ts`."""
    for below, scale, digits, unit in _TIMES:
        if seconds < below:
            return f"{seconds * scale:{digits}} {unit}"
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes} min {left} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004


def plural(count: int, noun: str) -> str:
    """Write a number with a noun that takes an s: `1 event`, `12,000 events`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plural_fired(count: int, kinds: Collection[str]) -> str:
    """Write a number of firings: `12 prints`, `3 callbacks`, `2 breakpoint hits`; of several kinds `5 prints and callbacks`."""
    nouns = {_NOUNS.get(kind, "callback") for kind in kinds} or {"print"}
    if len(nouns) == 1:
        return plural(count, nouns.pop())
    return "1 print or callback" if count == 1 else f"{count:,} prints and callbacks"


def plural_came(count: int) -> str:
    """Write the number of all events of a program: `1 print or value`, `12 prints and values`."""
    return "1 print or value" if count == 1 else f"{count:,} prints and values"


def lane_text(lane: Sequence[int]) -> str:
    """Write a lane: `lane 3`; for nested `vmap`s `lane (1, 2)`, outermost first; empty outside `vmap`."""
    if not lane:
        return ""
    return f"lane {lane[0]}" if len(lane) == 1 else f"lane ({', '.join(map(str, lane))})"


def in_natural_order(name: str) -> tuple[tuple[str, int], ...]:
    """Return a key that sorts names by the numbers in them: `cpu:2` before `cpu:10`."""
    return tuple((word, int(digits or 0)) for word, digits in re.findall(r"(\D*)(\d*)", name))
