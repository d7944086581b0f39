"""Make text that can be sent and stored: a Python string may hold lone surrogates, which UTF-8 cannot encode."""

from __future__ import annotations

from typing import Any


def legible(content: Any) -> Any:
    """Escape lone surrogates, as Python does, in a text or in all texts of lists and dictionaries."""
    if isinstance(content, str):
        return content if content.isascii() else content.encode("utf-8", "backslashreplace").decode()
    if isinstance(content, dict):
        return {legible(key): legible(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [legible(one) for one in content]
    return content
