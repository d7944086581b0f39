"""Cut long texts, and add their length."""

from __future__ import annotations

MOST_CHARACTERS = 20_000
"""The most characters of a text that goes to a front end."""


def cut(text: str, characters: int = MOST_CHARACTERS, lines: int | None = None) -> str:
    """Return the beginning of a text, at most so many characters and lines. If it is cut, add the length of the whole text."""
    kept = text[:characters]
    if lines is not None:
        kept = "\n".join(kept.split("\n", lines)[:lines])
    return text if len(kept) == len(text) else f"{kept} … {len(text):,} characters in all"
