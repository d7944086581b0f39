"""Count the changes between two programs in words."""

from __future__ import annotations

from collections import Counter
from typing import Literal

Kind = Literal["same", "changed", "added", "removed", "moved"]

WORDS: dict[Kind, str] = {
    "same": "same",
    "moved": "in another order",
    "changed": "changed",
    "added": "added",
    "removed": "removed",
}


def inside_text(kinds: Counter[Kind], *, other_results: bool) -> str:
    """Return the changes inside of loops and branches in words, such as ` (inside: 1 changed)`; empty if there are none."""
    counts = [f"{kinds[one]} {WORDS[one]}" for one in WORDS if kinds[one]]
    counts += ["other results"] if other_results else []
    return f" (inside: {', '.join(counts)})" if counts else ""


def passes_text(roles: Counter[str]) -> str:
    """Return the passes of added or removed equations in words, such as ` (all backward)`; empty if all are forward."""
    if roles.keys() == {"forward"}:
        return ""
    told = [f"all {role}" if len(roles) == 1 else f"{count} {role}" for role, count in roles.items()]
    return f" ({', '.join(told)})"
