"""Compare names of values: `µ` and `μ` are one variable, and a pattern finds several."""

from __future__ import annotations

import fnmatch
import re
import unicodedata

_ITEM = re.compile(r"\[(?=['*?]|\d+\])")
"""The pattern of a key or an index in a glob, as opposed to a set of characters."""


def as_python_has(name: str) -> str:
    """Return a text in normal form NFKC, the form in which Python keeps identifiers."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def is_like(name: str, pattern: str) -> bool:
    """Return whether a glob pattern matches a name. A key or an index is taken literally: `g*['w']`, `layers[*].b`."""
    name, pattern = (text.replace('"', "'") for text in (name, pattern))
    return name == pattern or fnmatch.fnmatchcase(name, _ITEM.sub("[[]", pattern))
