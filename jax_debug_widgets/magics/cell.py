"""Let IPython run a `%%jaxdebug` cell as a usual cell.

A cell magic gets its body as text, and would have to run a cell inside a cell: with another history entry, without top-level
`await`, and with this package's frames in tracebacks. Instead, the first line is replaced by one call, and IPython runs the
rest itself. The call begins the capture, which ends with the cell (`post_run_cell`, or the error's traceback).
"""

from __future__ import annotations

import ast
import re
from typing import Any

from IPython.core.inputtransformer2 import cell_magic

MAGIC = "%%jaxdebug"
ENTER = "__jaxdebug_enter__"
"""The function that the first line calls. It is a builtin while cells run and the extension is loaded."""

_NO_CALL = re.compile(r"[^(]*$|(print|display)\(")
"""The pattern of a line that only shows something: `w`, `losses[-1]`, `print(w)`."""

_CLAUSE = re.compile(r"(else|elif|except|finally|case)\b")


def transform_lines(lines: list[str]) -> list[str]:
    """Replace a first line `%%jaxdebug OPTIONS` by a call of `ENTER`. It is an input transformer of IPython.

    Line numbers do not change. If the body begins with a cell magic, it becomes the call that IPython makes of it.
    """
    start = next((number for number, line in enumerate(lines) if line.strip()), None)
    if start is None or not is_magic_line(lines[start]):
        return lines
    options = lines[start].strip().removeprefix(MAGIC).strip()
    if options == "?" or lines[start].strip().endswith("?"):
        return lines
    body = lines[start + 1 :]
    first_line = f"{ENTER}({options!r}, {title_of(body)!r})\n"
    return [*lines[:start], first_line, *cell_magic(body)] if body else [*lines[:start], first_line]


def title_of(body: list[str]) -> str:
    """Return the title of the run until it calls a compiled function: the first line of the last statement with a call."""
    starts = [line.strip() for line in body if line.strip() and line[0] not in " \t#)]}"]
    while starts and _CLAUSE.match(starts[-1]):  # A clause of a statement that began above.
        starts.pop()
    calling = [line for line in starts if not _NO_CALL.match(line)]
    return (calling or starts)[-1] if starts else "an empty cell"


def is_magic_line(line: str) -> bool:
    """Whether a line is `%%jaxdebug`, with or without options."""
    words = line.split(None, 1)
    return bool(words) and words[0] == MAGIC


def is_captured(tree: ast.AST) -> bool:
    """Whether a syntax tree is that of a transformed cell."""
    body: list[Any] = getattr(tree, "body", [])
    first = body[0] if body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Call)
        and isinstance(first.value.func, ast.Name)
        and first.value.func.id == ENTER
    )
