"""Find the source expression that a frame executes."""

from __future__ import annotations

import ast
import linecache
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets.checks.kinds import named_now

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.frames import Frame

_MUTED = re.compile(r"#\s*jdw:\s*ok\b([\w\s,-]*)")


@dataclass(frozen=True)
class SourceExpression:
    """An expression in the user's source.

    Attributes:
      node: its syntax tree.
      text: its source on one line.
    """

    node: ast.expr
    text: str

    @property
    def called(self) -> str:
        """The name of the function that the expression calls, without the part before the dot; empty if it is not a call."""
        if not isinstance(self.node, ast.Call):
            return ""
        function = self.node.func
        return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")

    @property
    def sets_mode(self) -> bool:
        """Whether the expression is a call that sets the `mode` for indices out of bounds."""
        return isinstance(self.node, ast.Call) and any(one.arg == "mode" for one in self.node.keywords)


def written_at(frame: Frame) -> SourceExpression | None:
    """Return the expression that a frame executes; None if its source is unknown."""
    return written_in(frame.file, (frame.line, frame.column, frame.end_line, frame.end_column))


def written_in(file: str, span: tuple[int, int, int, int]) -> SourceExpression | None:
    """Return the expression in a range of a file, as in `Finding.span`; None if its source is unknown."""
    line, column, end_line, end_column = span
    lines = [one.encode() for one in linecache.getlines(file)[line - 1 : end_line]]
    if not lines or column < 0 or end_column < 0:
        return None
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    text = b"".join(lines).decode(errors="replace").strip()
    try:
        node = ast.parse(f"({text}\n)", mode="eval").body
    except SyntaxError:
        return None
    return SourceExpression(node, " ".join(text.split()))


def is_muted(file: str, first: int, last: int, option: str) -> bool:
    """Return whether one of these lines, or a decorator above, has `# jdw: ok oob`, or `# jdw: ok` for all checks."""
    lines = linecache.getlines(file)
    first = max(first - 1, 0)
    while 0 < first <= len(lines) and lines[first - 1].lstrip().startswith("@"):
        first -= 1
    for line in lines[first:last]:
        found = _MUTED.search(line)
        if found:
            names = re.findall(r"[\w-]+", found[1])
            return not names or option in map(named_now, names)
    return False
