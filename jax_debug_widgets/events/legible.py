"""Text that can be sent and stored: a Python string may hold halves of characters, which UTF-8 does not have."""

from __future__ import annotations

from typing import Any


def legible(content: Any) -> Any:
    """A text, or every text in lists and dictionaries, with such halves written as Python writes them, by their code."""
    if isinstance(content, str):
        return content if content.isascii() else content.encode("utf-8", "backslashreplace").decode()
    if isinstance(content, dict):
        return {legible(key): legible(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [legible(one) for one in content]
    return content
