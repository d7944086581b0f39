"""The call sites as a table, and the words of a line that mean some of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from jax_debug_widgets.events import CallSite, told_apart

_WORD = re.compile(r"""(?P<quote>['"])(?P<quoted>.*?)(?P=quote)(?=[\s,]|$)|(?:[^\s,]+@)?In\ \[\d+\]:\d+|[^\s,]+""")


def table_of(sites: Sequence[CallSite], muted: Collection[int], sampled: Mapping[int, int]) -> str:
    """A line for each place and name, with all its numbers: each program that was compiled for another watch has its own."""
    callers = told_apart(sites)
    numbers: dict[tuple[str, ...], list[int]] = {}
    for site in sites:
        every = sampled.get(site.id, 1)
        state = "muted" if site.id in muted else f"1 in {every}" if every > 1 else "on"
        phase = " (recompute)" if site.phase == "recompute" else ""
        caller = f" · {callers[site.id]}" if callers.get(site.id) else ""
        numbers.setdefault((state, site.kind, site.where, site.label + phase + caller), []).append(site.id)
    rows = [("number", "state", "kind", "place", "name")]
    rows += [(",".join(map(str, own)), *about) for about, own in numbers.items()]
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join("  ".join((row[0].rjust(first), *map(str.ljust, row[1:], widths))).rstrip() for row in rows)


def words_of(text: str) -> list[str]:
    """The words between blanks and commas, `3, layer['w1'] h@In [2]:7 'a + b'`, without the quotes around a whole word."""
    return [found["quoted"] or found[0] for found in _WORD.finditer(text)]
