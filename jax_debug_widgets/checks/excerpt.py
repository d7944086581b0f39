"""Show a finding as text, as compilers do: the headline, the source with its range underlined, why, and the fix."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.checks.explanation import Explanation
    from jax_debug_widgets.events import Finding

_Span = tuple[int, int, int, int]


def excerpt(explanation: Explanation, name_file: Callable[[str], str] = str) -> str:
    """Show an explanation as a block of text.

    Args:
      explanation: the explanation.
      name_file: returns the name of a file for people, such as `In [3]`.
    """
    where = f"{name_file(explanation.file)}:{explanation.line}"
    span = explanation.line, explanation.column, explanation.end_line, explanation.end_column
    return _block(f"{where}: {explanation.headline}", explanation.file, span, _paragraphs(explanation))


def text_of(finding: Finding) -> str:
    """Show a finding as a block of text; as one sentence if it has no headline."""
    if not finding.headline:
        return f"{finding.kind}: {finding.message}"
    return _block(
        f"{finding.kind}: {finding.where}: {finding.headline}", finding.file, finding.span, _paragraphs(finding)
    )


def _paragraphs(one: Explanation | Finding) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (word, lines)
        for word, lines in (("why", (one.why,)), ("write", one.fix), ("note", (one.advice,)))
        if any(lines)
    ]


def _block(head: str, file: str, span: _Span, paragraphs: list[tuple[str, tuple[str, ...]]]) -> str:
    number = str(span[0])
    margin = " " * len(number)
    lines = [head]
    text = linecache.getline(file, span[0]).rstrip()
    if text:
        lines += [f"{margin} |", f"{number} | {text.expandtabs(1)}", f"{margin} | {_underline(span, text)}"]
    for word, (first, *others) in paragraphs:
        lines += [f"{margin} = {word}: {first}", *(f"{margin}   {' ' * len(word)}  {line}" for line in others)]
    return "\n".join(lines)


def _underline(span: _Span, text: str) -> str:
    line, column, end_line, end_column = span
    encoded = text.encode()
    begin = column if column >= 0 else len(text) - len(text.lstrip())
    end = end_column if end_line == line and end_column > begin else len(encoded)
    before, within = (encoded[part].decode(errors="replace") for part in (slice(0, begin), slice(begin, end)))
    return " " * len(before) + "^" * max(1, len(within))
