"""Normalise identifiers as Python does: `µ` and `μ` are one variable."""

from __future__ import annotations

import unicodedata


def as_python_has(name: str) -> str:
    """Return a text in normal form NFKC, the form in which Python keeps identifiers."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)
