"""What is noted of a function of the user's while JAX traces it: what its lines assign, return and differentiate for."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import CodeType

from jax_debug_widgets._jax.bindings import Expression, Lines
from jax_debug_widgets._jax.names_noted import Place, place_of_given
from jax_debug_widgets.watch.differentiated import may_be_asked_for
from jax_debug_widgets.watch.source import SourceFile, Statement, Target, source_of


def lines_of(code: CodeType) -> Lines:
    """What is noted before and after each line of a function."""
    linecache.checkcache(code.co_filename)  # It may have been edited, and loaded again.
    source = source_of(code.co_filename)
    function = source.function_at(code.co_firstlineno, code.co_qualname)
    before: dict[int, list[Expression]] = {}
    after: dict[int, list[Expression]] = {}
    for one in function.statements if function else ():
        first, last = one.lines
        before.setdefault(first, []).extend(_given(one, code.co_filename, source))
        noted = [*_assigned(one, code.co_filename), *_returned(one, code.co_filename, source)]
        for line in range(first, last + 1):
            after.setdefault(line, []).extend(noted)
    return Lines(before, after)


def _assigned(statement: Statement, file: str) -> Iterator[Expression]:
    for target in statement.targets:
        for text in plain_targets(target):
            yield Expression((file, statement.span), text, _read(text))


def plain_targets(target: Target) -> Iterator[str]:
    """The variables, fields and items that a target consists of; of `*rest` the list."""
    if target.is_plain:
        yield target.text.removeprefix("*")
    for part in target.parts:
        yield from plain_targets(part)


def _returned(statement: Statement, file: str, source: SourceFile) -> Iterator[Expression]:
    if statement.is_return:
        place: Place = file, statement.span
        yield Expression(place, source.text(statement.span), None, statement.path)


def _given(statement: Statement, file: str, source: SourceFile) -> Iterator[Expression]:
    for one in may_be_asked_for(statement, source):
        yield Expression(place_of_given(file, statement.span), ast.unparse(one), one)


def _read(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
