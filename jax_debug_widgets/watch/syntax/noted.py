"""List the notes to take of a user function while JAX traces it: the names that its lines assign and return."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from types import CodeType

from jax_debug_widgets._jax.origins.name_places import NamePlace
from jax_debug_widgets._jax.tracing.expressions import Expression, Lines
from jax_debug_widgets.taps.parsing import parse_expression
from jax_debug_widgets.watch.syntax.source import SourceFile, source_of
from jax_debug_widgets.watch.syntax.statements import Function, Statement, Target


def lines_of(code: CodeType) -> Lines | None:
    """Return the notes to take after each line of a function; None if its file has no source, because Python generated it."""
    file = code.co_filename
    linecache.checkcache(file)  # The file may have been edited and loaded again.
    if file.startswith("<") and not linecache.getlines(file):
        return None
    source = source_of(file)
    return _lines_of(source, source.function_of(code), file)


@functools.lru_cache(maxsize=4096)
def _lines_of(source: SourceFile, function: Function | None, file: str) -> Lines:
    lines: dict[int, list[Expression]] = {}
    statements = function.statements if function else ()
    for one in statements:
        first, last = one.lines
        is_last = not (one.is_inside or any(_comes_after(other, one) for other in statements))
        noted = [each._replace(is_last=is_last) for each in (*_assigned(one, file), *_returned(one, file, source))]
        for line in range(first, last + 1):
            lines.setdefault(line, []).extend(noted)
    return lines


def _comes_after(other: Statement, one: Statement) -> bool:
    """Whether another statement on the same line runs later."""
    return one.lines[1] == other.lines[0] and (one.whole or one.span)[2:] < (other.whole or other.span)[:2]


def _assigned(statement: Statement, file: str) -> Iterator[Expression]:
    for target in statement.targets:
        for text in plain_targets(target):
            yield Expression((file, statement.span), text, _read(text), before=statement.body)


def plain_targets(target: Target) -> Iterator[str]:
    """Yield the variables, fields and items that a target consists of; for `*rest` the list `rest`."""
    if target.is_plain:
        yield target.text.removeprefix("*")
    for part in target.parts:
        yield from plain_targets(part)


def _returned(statement: Statement, file: str, source: SourceFile) -> Iterator[Expression]:
    if statement.is_return:
        place: NamePlace = file, statement.span
        yield Expression(place, source.text(statement.span), None, statement.path)


def _read(text: str) -> ast.expr:
    return parse_expression(text)
