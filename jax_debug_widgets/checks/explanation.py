"""Define the explanation of one exception."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.checks.kinds import Kind


@dataclass(frozen=True)
class Explanation:
    """An exception, explained at the user's line.

    Attributes:
      kind: the kind of the finding.
      file, line, column, end_line, end_column: the range in the user's source; columns in UTF-8 bytes from 0, -1 if
        unknown.
      headline: the fact, at most 90 characters with its place.
      why: why JAX cannot do it, one or two sentences.
      fix: the lines to write instead; empty if no rewrite is certain.
      advice: what to do if `fix` is empty, or what to know about the fix.
    """

    kind: Kind
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    headline: str
    why: str
    fix: tuple[str, ...] = ()
    advice: str = ""
