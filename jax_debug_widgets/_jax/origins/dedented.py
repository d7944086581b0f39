"""Find by how many columns code was dedented before it was compiled, as marimo does with the bodies of cells.

Such code has the right line numbers (`ast.increment_lineno`), but the wrong columns. So the names that a function's
instructions load and store are searched in its lines.
"""

from __future__ import annotations

import dis
import itertools
import linecache
from collections.abc import Iterator
from types import CodeType

from jax_debug_widgets._jax.compat.caching import cached_by_identity

_NAMED = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "STORE_FAST", "STORE_NAME", "STORE_DEREF")


_ENOUGH = 12
"""How many names are compared. Not all must match: older Python versions have wrong columns in f-strings."""


@cached_by_identity
def dedent_of(code: CodeType) -> int:
    """Return how many columns the lines of the file are indented further than the code's positions indicate.

    Return 0 if that is unknown.
    """
    file = code.co_filename
    linecache.checkcache(file)  # The file may have been edited and reloaded.
    lines = linecache.getlines(file)
    written = (one for one in _names(code) if one[0] <= len(lines))
    names = list(itertools.islice(written, _ENOUGH))

    def fitting(dedent: int) -> int:
        return sum(lines[line - 1].encode()[column + dedent :].startswith(name) for line, column, name in names)

    if fitting(0) == len(names):
        return 0
    indents = {len(line) - len(line.lstrip()) for line in lines if line.strip()}
    best = max([0, *sorted(indents)], key=fitting)
    return best if 2 * fitting(best) > len(names) else 0  # If the file has changed since, most names do not match.


def _names(code: CodeType) -> Iterator[tuple[int, int, bytes]]:
    """Yield line, column and text of each variable that is written in the code."""
    for instruction in dis.get_instructions(code):
        where, name = instruction.positions, instruction.argval
        if where is None or not instruction.opname.startswith(_NAMED) or not isinstance(name, str):
            continue
        line, end_line, column, end_column = where
        written = name.encode()
        if line and line == end_line and column is not None and end_column == column + len(written):
            yield line, column, written
