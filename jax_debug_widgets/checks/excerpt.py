"""Show an explanation as text, as compilers do: headline, the source with its range underlined, why, and the fix."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.checks.explanation import Explanation


def excerpt(explanation: Explanation, name_file: Callable[[str], str] = str) -> str:
    """The explanation as a block of text.

    Args:
      name_file: gives the name by which people know a file, such as `In [3]`.
    """
    where = f"{name_file(explanation.file)}:{explanation.line}"
    number = str(explanation.line)
    margin = " " * len(number)
    lines = [f"{where}: {explanation.headline}"]
    text = linecache.getline(explanation.file, explanation.line).rstrip()
    if text:
        lines += [f"{margin} |", f"{number} | {text.expandtabs(1)}", f"{margin} | {_underline(explanation, text)}"]
    lines.append(f"{margin} = why: {explanation.why}")
    if explanation.fix:
        first, *others = explanation.fix
        lines += [f"{margin} = write: {first}", *(f"{margin}          {line}" for line in others)]
    if explanation.advice:
        lines.append(f"{margin} = note: {explanation.advice}")
    return "\n".join(lines)


def _underline(explanation: Explanation, text: str) -> str:
    encoded = text.encode()
    begin = explanation.column if explanation.column >= 0 else len(text) - len(text.lstrip())
    one_line = explanation.end_line == explanation.line and explanation.end_column > begin
    end = explanation.end_column if one_line else len(encoded)
    before, within = (encoded[part].decode(errors="replace") for part in (slice(0, begin), slice(begin, end)))
    return " " * len(before) + "^" * max(1, len(within))
