"""Long texts cut, with how long they are."""

from __future__ import annotations

MOST_CHARACTERS = 20_000
"""Of one text that goes to a front end."""


def cut(text: str, characters: int = MOST_CHARACTERS, lines: int | None = None) -> str:
    """The beginning of a text, and how long it is where that is not all of it."""
    kept = text[:characters]
    if lines is not None:
        kept = "\n".join(kept.split("\n", lines)[:lines])
    return text if len(kept) == len(text) else f"{kept} … {len(text):,} characters in all"
