"""What a file's source says of names: which range computes what is assigned to which variable."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import NamedTuple

from jax_debug_widgets.watch.classes import Fields, fields_in, with_written
from jax_debug_widgets.watch.literals import Part, pairs, parts_of

_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_PADDING = re.compile(r"(?<=\de[-+])0(?=\d\b)")
"""In small numbers as Python writes them (`1e-06`), what nobody else writes."""


class Span(NamedTuple):
    """A range of a file as the interpreter counts it: lines from 1, columns in UTF-8 bytes from 0."""

    line: int
    column: int
    end_line: int
    end_column: int

    def contains(self, other: Span) -> bool:
        """Whether `other` lies in it."""
        return self[:2] <= other[:2] and other[2:] <= self[2:]


@dataclass(frozen=True)
class Target:
    """What is assigned to: a variable, attribute or item; with `parts`, a tuple of such."""

    text: str
    parts: tuple[Target, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it takes one value and no sequence is taken apart."""
        return not self.parts


@dataclass(frozen=True, eq=False)
class Statement:
    """A range that computes what has a name.

    Attributes:
      span: the expression, of a `for` what it goes through; where the interpreter says another range that: of an augmented
        assignment the whole statement, of a generator that is taken apart what it is assigned to.
      value: that expression.
      targets: what it is assigned to; none for what is returned.
      function: the function that it is in, None outside of all.
      repeats: whether it is in a loop or comprehension of its function.
      whole: the range of the right side that the expression is a part of, where it is one: `f(x)` of `f(x)[0]`, a branch of
        `a if c else b`, an element of `[a, b]`.
      outside: the ranges of what is around it and may do nothing, or take a part of it: `f(x)[:n]`, `f(x).astype(dtype)`.
      lines: the first and the last of the statement.
      path: of what is returned, where in that it is.
      body: of a `for` the first and the last line that it repeats.
    """

    span: Span
    value: ast.expr
    targets: tuple[Target, ...]
    function: Function | None
    repeats: bool
    whole: Span | None = None
    outside: tuple[Span, ...] = ()
    lines: tuple[int, int] = (0, 0)
    path: str = ""
    body: tuple[int, int] | None = None

    @property
    def is_return(self) -> bool:
        """Whether it is what its function returns."""
        return not self.targets

    @property
    def function_name(self) -> str:
        """The name of the function that it is in, as Python has it."""
        return self.function.name if self.function else "<module>"

    @property
    def elements(self) -> int:
        """How often it comes to its expression each time: thrice in `q, k, v = (x @ w for w in ws)`."""
        if self.body or not (isinstance(self.value, ast.ListComp) or is_lazy(self.value)):
            return 1
        return max([1, *(len(target.parts) for target in self.targets)])


@dataclass(eq=False)
class Function:
    """A function or lambda of a file.

    Attributes:
      first, last: its lines, decorators and all; `code_line` is what its code object says it begins at.
      arguments: the names of its parameters in order, without `*` and `**`.
      statements: those directly in it, in the order of the source.
    """

    name: str
    first: int
    last: int
    code_line: int
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    arguments: tuple[str, ...]
    statements: list[Statement] = field(default_factory=list)

    @property
    def returns(self) -> list[Statement]:
        """What it may return."""
        return [statement for statement in self.statements if statement.is_return and not statement.whole]


class SourceFile:
    """The names in one version of a file.

    Attributes:
      fields: of the classes that it calls.
      rules: the functions that are given to `custom_vjp`: `f.defvjp(forward, backward)`.
      repeated: the ranges of expressions that a loop or comprehension of their function runs.
      comprehensions: those that are no generators, of each function, outermost first: the range, and that of what it goes
        through first, which is computed outside of it.
      taken_apart: ranges where the interpreter takes something apart (`q, k` of `q, k = w @ x`), or goes through it, with
        those that compute it.
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
            tree = ast.parse("".join(lines))
        except SyntaxError:  # A cell with magics, say; it has no names to give.
            return
        self.fields = with_written(fields, tree)
        self._visit(tree, None, "", repeats=False)
        self._by_span: dict[Span, list[Statement]] = {}
        for statement in self.statements:
            self._by_span.setdefault(statement.span, []).append(statement)

    def statements_at(self, span: Span) -> list[Statement]:
        """What is assigned or returned from exactly this range."""
        return self._by_span.get(span, []) if self.statements else []

    def function_at(self, code_line: int, name: str) -> Function | None:
        """The function whose code begins at this line."""
        return next(iter(self._functions_at(code_line, name)), None)

    def function_of(self, code: CodeType) -> Function | None:
        """The function whose code it is; several lambdas may be in one line, and in one another."""
        found = self._functions_at(code.co_firstlineno, code.co_qualname)
        if len(found) < 2:  # noqa: PLR2004 - then there is nothing to choose
            return next(iter(found), None)
        written = [Span(*one) for one in _positions(code)]
        around = [one for one in found if all(span_of(one.node).contains(own) for own in written)]
        return max(around, key=lambda one: span_of(one.node), default=None)

    def _functions_at(self, code_line: int, name: str) -> list[Function]:
        last = name.rpartition(".")[2]
        found = [one for one in self.functions if one.code_line == code_line]
        return [one for one in found if one.name.rpartition(".")[2] == last] or found

    def text(self, span: Span) -> str:
        """The expression in this range in one line; the whole lines where it is none."""
        node = self.expressions.get(span)
        if node is not None:
            return _PADDING.sub("", ast.unparse(node))
        if not 1 <= span.line <= len(self.lines):
            return ""
        return " ".join("".join(self.lines[span.line - 1 : span.end_line]).split())

    def character(self, line: int, byte: int) -> int:
        """The column in characters of a byte of a line."""
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
        own = list(_statements(node, function, self.fields, repeats=repeats))
        self.taken_apart |= _taken_apart(node, own)
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
            returned = list(_returned(node.body, made, repeats=False))
            self.statements += returned
            made.statements += returned
            self._visit(node.body, made, inner, repeats=False)
            return
        for child in node.body:
            self._visit(child, made, inner, repeats=False)


def _positions(code: CodeType) -> Iterator[tuple[int, int, int, int]]:
    """Where a function's instructions are written; what only makes its cells has column 0."""
    for line, end_line, column, end_column in code.co_positions():
        if line and end_line and column and end_column:
            yield line, column, end_line, end_column


def _gone_through(node: ast.AST) -> ast.expr | None:
    """`xs` of `for x in xs`, which is computed before the loop."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return node.iter
    return node.generators[0].iter if isinstance(node, _COMPREHENSIONS) else None


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield from ast.iter_child_nodes(child) if isinstance(child, ast.comprehension) else (child,)


def _statements(node: ast.AST, function: Function | None, fields: Fields, *, repeats: bool) -> Iterator[Statement]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _assigned(target, value, function, fields, repeats=repeats)
        case ast.AugAssign(target=target, value=value):
            # The interpreter gives an augmented operation the range of its statement.
            combined = ast.BinOp(_loaded(target), node.op, value)
            span = span_of(node)
            yield Statement(span, combined, (_target(target),), function, repeats, lines=(span.line, span.end_line))
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _assigned(target, value, function, fields, repeats=repeats)
        case ast.NamedExpr(target=target, value=value):
            yield from _assigned(target, value, function, fields, repeats=repeats)
        case ast.For(target=target, iter=value, body=body):
            lines, repeated = (node.lineno, span_of(value).end_line), (body[0].lineno, span_of(body[-1]).end_line)
            yield Statement(span_of(value), value, (_target(target),), function, True, lines=lines, body=repeated)
        case ast.Return(value=ast.expr() as value):
            yield from _returned(value, function, repeats=repeats)


def _assigned(
    target: ast.expr, value: ast.expr, function: Function | None, fields: Fields, *, repeats: bool
) -> Iterator[Statement]:
    for part, own, inner in pairs(target, value, fields):
        whole = None if own is value else span_of(value)
        taken = part if isinstance(part, ast.Tuple | ast.List) and is_lazy(own) else own
        outside = tuple(map(span_of, inner.outside)) if inner else ()
        lines = target.lineno, span_of(value).end_line
        yield Statement(span_of(taken), own, (_target(part),), function, repeats, whole, outside, lines)


def _taken_apart(node: ast.AST, statements: list[Statement]) -> dict[Span, Span]:
    """See `SourceFile.taken_apart`; not of branches (`a, b = x if c else y`), of which nothing says which it was."""
    if isinstance(node, ast.For):
        own = span_of(node.iter)
        return {span_of(node): own, **{span: own for span, _ in _computing(node.target, {}, own)}}
    if not isinstance(node, ast.Assign):
        return {}
    computing = {one.targets[0].text: one.span for one in statements if one.targets}
    is_one = len(computing) == len(statements)
    return {span: of for target in node.targets for span, of in _computing(target, computing, None) if of and is_one}


def _computing(target: ast.expr, known: dict[str, Span], around: Span | None) -> Iterator[tuple[Span, Span | None]]:
    """Each tuple in what is assigned to, with the range that computes it: of one in another that of the whole."""
    own = known.get(ast.unparse(target), around)
    if isinstance(target, ast.Tuple | ast.List):
        yield span_of(target), own
        for one in target.elts:
            yield from _computing(one, known, own)


def is_lazy(value: ast.expr) -> bool:
    """Whether an expression is a generator, which computes when it is taken apart."""
    is_map = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "map"
    return is_map or isinstance(value, ast.GeneratorExp)


def _returned(value: ast.expr, function: Function | None, *, repeats: bool) -> Iterator[Statement]:
    """What a function returns, and the parts of it that are computed there."""
    whole = span_of(value)
    lines = whole.line, whole.end_line
    yield Statement(whole, value, (), function, repeats, lines=lines)
    rest = parts_of(value)
    while rest:
        path, one = rest.pop(0)
        rest += (inner := [Part(path + part.path, part.value) for part in parts_of(one)])
        if not inner and not isinstance(one, ast.Name | ast.Attribute | ast.Constant):
            yield Statement(span_of(one), one, (), function, repeats, whole, lines=lines, path=path)


def _target(node: ast.expr) -> Target:
    if isinstance(node, ast.Tuple | ast.List):
        return Target(ast.unparse(node), tuple(map(_target, node.elts)))
    return Target(ast.unparse(node))


def _loaded(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def is_alias(node: ast.expr) -> bool:
    """Whether an expression only names what is there: `x`, `state.w`, `batch["x"]`, `(h, c)`."""
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(is_alias, node.elts))
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) and is_alias(node.value)
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute | ast.Starred) and is_alias(node.value))


def may_be_alias(statement: Statement) -> bool:
    """Whether a statement may only name what is there: `h = hs[-1]`, `for h in hs`, where `hs` is no array."""
    value = statement.value
    while isinstance(value, ast.Subscript):
        value = value.value
    return statement.body is not None or is_alias(value)


def span_of(node: ast.expr | ast.stmt) -> Span:
    """The range of a node."""
    return Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


@functools.lru_cache(maxsize=512)
def _parsed(file: str, text: tuple[str, ...], fields: Fields) -> SourceFile:
    del file
    return SourceFile(list(text), fields)


def source_of(file: str) -> SourceFile:
    """The names in `file` as the interpreter knows it now; cells of a notebook are such files too."""
    text = tuple(linecache.getlines(file))
    return _parsed(file, text, fields_in(file, text))


_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"] + os.sep
_LIBRARIES = re.compile(r"[/\\](site-packages|dist-packages)[/\\]")


@functools.lru_cache(maxsize=4096)
def is_library(file: str) -> bool:
    """Whether a file is installed, as opposed to a notebook's cell or a file that its user writes."""
    return bool(_LIBRARIES.search(file)) or file.startswith((_STANDARD_LIBRARY, "<frozen "))
