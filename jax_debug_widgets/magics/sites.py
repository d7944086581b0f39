"""Print the call sites as a table, and split a line into the words that mean sites."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from jax_debug_widgets.events import CallSite, distinguishing_texts

_WORD = re.compile(r"""(?P<quote>['"])(?P<quoted>.*?)(?P=quote)(?=[\s,]|$)|(?:[^\s,]+@)?In\ \[\d+\]:\d+|[^\s,]+""")


def table_of(sites: Sequence[CallSite], muted: Collection[int], sampled: Mapping[int, int]) -> str:
    """Make a table with a line for each place and name, with the ids of all its sites: other watches compile other sites."""
    callers = distinguishing_texts(sites)
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
    """Split a line at blanks and commas, `3, layer['w1'] h@In [2]:7 'a + b'`, and remove the quotes around a whole word."""
    return [found["quoted"] or found[0] for found in _WORD.finditer(text)]
