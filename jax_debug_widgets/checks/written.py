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
        """The name of the function that the expression calls, without the part before the dot; else empty."""
        if not isinstance(self.node, ast.Call):
            return ""
        function = self.node.func
        return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")

    @property
    def says_mode(self) -> bool:
        """Whether the expression itself sets the `mode` for indices out of bounds."""
        return any(isinstance(one, ast.keyword) and one.arg == "mode" for one in ast.walk(self.node))


def written_at(frame: Frame) -> SourceExpression | None:
    """Return the expression that a frame executes; None if its source is unknown."""
    lines = [line.encode() for line in linecache.getlines(frame.file)[frame.line - 1 : frame.end_line]]
    if not lines or frame.column < 0 or frame.end_column < 0:
        return None
    lines[-1] = lines[-1][: frame.end_column]
    lines[0] = lines[0][frame.column :]
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
