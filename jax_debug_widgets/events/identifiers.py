"""Names as Python has them: it normalises identifiers, so that `µ` and `μ` are one variable."""

from __future__ import annotations

import unicodedata


def as_python_has(name: str) -> str:
    """The text with its identifiers as Python has them, in normal form NFKC."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)
