"""Find the names in a file's source: its functions, and the statements in them."""

from __future__ import annotations

import ast
import functools
import linecache
import re
import threading
from collections.abc import Iterator
from types import CodeType

from jax_debug_widgets._jax.origins.dedented import dedent_of
from jax_debug_widgets.taps.parsing import parse
from jax_debug_widgets.watch.syntax.classes import Fields, fields_in, with_written
from jax_debug_widgets.watch.syntax.statements import (
    Function,
    Span,
    Statement,
    returned_by,
    span_of,
    statements_of,
    taken_apart,
)

_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_PADDING = re.compile(r"(?<=\de[-+])0(?=\d\b)")
"""The padding in exponents as Python writes them (`1e-06`), which sources do not have."""


class SourceFile:
    """The names in one version of a file.

    Attributes:
      fields: the fields of the classes that the file calls.
      rules: the functions that are given to `custom_vjp`: `f.defvjp(forward, backward)`.
      repeated: the ranges of expressions that a loop or comprehension of their function runs.
      comprehensions: for each function its comprehensions that are not generators, outermost first: the range, and the
        range of the first iterable, which is computed outside of the comprehension.
      taken_apart: the ranges where the interpreter unpacks a value (`q, k` of `q, k = w @ x`) or iterates over it, with
        the ranges that compute the value.
    """

    def __init__(self, lines: list[str], fields: Fields = ()) -> None:
        self.lines, self.fields = lines, fields
        self.functions: list[Function] = []
        self.statements: list[Statement] = []
        self.expressions: dict[Span, ast.expr] = {}
        self.rules: set[str] = set()
        self.repeated: set[Span] = set()
        self.comprehensions: dict[Function | None, list[tuple[Span, Span]]] = {}
        self.taken_apart: dict[Span, Span] = {}
        try:
            tree = parse("".join(lines))
        except SyntaxError:  # For example a cell with magics; it has no names.
            return
        self.fields = with_written(fields, tree)
        self._visit(tree, None, "", repeats=False)
        self._by_span: dict[Span, list[Statement]] = {}
        for statement in self.statements:
            self._by_span.setdefault(statement.span, []).append(statement)

    def statements_at(self, span: Span) -> list[Statement]:
        """Return the statements that assign or return exactly this range."""
        return self._by_span.get(span, []) if self.statements else []

    def function_at(self, code_line: int, name: str) -> Function | None:
        """Return the function whose code begins at this line; None if there is none."""
        return next(iter(self._functions_at(code_line, name)), None)

    def function_of(self, code: CodeType) -> Function | None:
        """Return the function of a code object. Several lambdas may be in one line, and inside each other."""
        found = self._functions_at(code.co_firstlineno, code.co_qualname)
        if len(found) < 2:  # noqa: PLR2004 - then there is nothing to choose
            return next(iter(found), None)
        written = list(_positions(code))
        around = [one for one in found if all(span_of(one.node).contains(own) for own in written)]
        return max(around, key=lambda one: span_of(one.node), default=None)

    def _functions_at(self, code_line: int, name: str) -> list[Function]:
        last = name.rpartition(".")[2]
        found = [one for one in self.functions if one.code_line == code_line]
        return [one for one in found if one.name.rpartition(".")[2] == last] or found

    def text(self, span: Span) -> str:
        """Return the expression in this range as one line; the whole lines if there is no expression."""
        node = self.expressions.get(span)
        if node is not None:
            return _PADDING.sub("", ast.unparse(node))
        if not 1 <= span.line <= len(self.lines):
            return ""
        return " ".join("".join(self.lines[span.line - 1 : span.end_line]).split())

    def character(self, line: int, byte: int) -> int:
        """Return the column in characters of a byte of a line."""
        if not 1 <= line <= len(self.lines) or byte < 0:
            return byte
        return len(self.lines[line - 1].encode()[:byte].decode(errors="replace"))

    def _visit(self, node: ast.AST, function: Function | None, scope: str, *, repeats: bool) -> None:
        if isinstance(node, ast.expr) and hasattr(node, "lineno"):
            self.expressions.setdefault(span_of(node), node)
            if repeats:
                self.repeated.add(span_of(node))
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):
            around = span_of(node), span_of(node.generators[0].iter)
            self.comprehensions.setdefault(function, []).append(around)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "defvjp":
            self.rules |= {one.id for one in node.args if isinstance(one, ast.Name)}
        own = list(statements_of(node, function, self.fields, repeats=repeats))
        self.taken_apart |= taken_apart(node, own)
        for statement in own:
            self.statements.append(statement)
            if function is not None:
                function.statements.append(statement)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            self._visit_function(node, function, scope, repeats=repeats)
            return
        if isinstance(node, ast.ClassDef):
            scope = f"{scope}{node.name}."
        loop = isinstance(node, ast.For | ast.AsyncFor | ast.While | _COMPREHENSIONS)
        once = _gone_through(node)
        for child in _children(node):
            self._visit(child, function, scope, repeats=repeats or (loop and child is not once))

    def _visit_function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        outer: Function | None,
        scope: str,
        *,
        repeats: bool,
    ) -> None:
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        first = min([node.lineno, *(one.lineno for one in decorators)])
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        names = tuple(one.arg for one in arguments)
        made = Function(scope + name, first, node.end_lineno or first, first, node, names)
        self.functions.append(made)
        for outside in (*decorators, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self._visit(outside, outer, scope, repeats=repeats)
        inner = f"{scope}{name}.<locals>."
        if isinstance(node, ast.Lambda):
            returned = list(returned_by(node.body, made, repeats=False))
            self.statements += returned
            made.statements += returned
            self._visit(node.body, made, inner, repeats=False)
            return
        for child in node.body:
            self._visit(child, made, inner, repeats=False)


def _positions(code: CodeType) -> Iterator[Span]:
    """Yield the source positions of a function's instructions.

    Instructions that only create cells have column 0 and are left out.
    """
    dedent = dedent_of(code)
    for line, end_line, column, end_column in code.co_positions():
        if line and end_line and column and end_column:
            yield Span(line, column + dedent, end_line, end_column + dedent)


def _gone_through(node: ast.AST) -> ast.expr | None:
    """Return `xs` of `for x in xs`, which is computed before the loop."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return node.iter
    return node.generators[0].iter if isinstance(node, _COMPREHENSIONS) else None


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield from ast.iter_child_nodes(child) if isinstance(child, ast.comprehension) else (child,)


@functools.lru_cache(maxsize=512)
def _parsed(file: str, text: tuple[str, ...], fields: Fields) -> SourceFile:
    del file
    return SourceFile(list(text), fields)


def source_of(file: str) -> SourceFile:
    """Return the names in `file` as the interpreter knows it now; notebook cells are such files too."""
    text = tuple(linecache.getlines(file))
    with _one_by_one:  # Threads that trace at the same time wait for the first one, and find its result.
        return _parsed(file, text, fields_in(file, text))


_one_by_one = threading.RLock()
