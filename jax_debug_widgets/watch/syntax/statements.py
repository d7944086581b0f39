"""Find the names in assignments, loops and `return`: each target with the range that computes its value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from jax_debug_widgets.taps.parsing import parse_expression
from jax_debug_widgets.watch.syntax.classes import Fields
from jax_debug_widgets.watch.syntax.literals import Element, elements_of, is_dict, pairs


class Span(NamedTuple):
    """A range of a file as the interpreter counts it: lines from 1, columns in UTF-8 bytes from 0."""

    line: int
    column: int
    end_line: int
    end_column: int

    def contains(self, other: Span) -> bool:
        """Whether this range contains `other`."""
        return self[:2] <= other[:2] and other[2:] <= self[2:]


@dataclass(frozen=True)
class Target:
    """A target of an assignment: a variable, attribute or item; with `parts`, a tuple of targets."""

    text: str
    parts: tuple[Target, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the target takes one value and does not unpack a sequence."""
        return not self.parts


@dataclass(frozen=True, eq=False)
class Statement:
    """A range that computes a named value.

    Attributes:
      span: the range that the interpreter reports: that of the expression, or of the iterable of a `for`; of an
        augmented assignment the whole statement; of a generator that is unpacked the targets.
      value: the expression.
      targets: the targets that it is assigned to; none for a returned value.
      function: the function that it is in; None at module level.
      repeats: whether it is in a loop or comprehension of its function.
      whole: the range of the right side, if the expression is only a part of it: `f(x)` of `f(x)[0]`, a branch of `a if
        c else b`, an element of `[a, b]`.
      outside: the ranges of the expressions around it that may do nothing, or take a part of it: `f(x)[:n]`,
        `f(x).astype(dtype)`.
      lines: the first and the last line of the statement.
      path: the position of the value in the returned value, such as `[0]`.
      body: the first and the last line that a `for` repeats; None for other statements.
      is_inside: whether it is inside another statement, which uses the value: `h` of `y = 2 * (h := f(x))`.
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
    is_inside: bool = False

    @property
    def is_return(self) -> bool:
        """Whether the statement returns its value from its function."""
        return not self.targets

    @property
    def function_name(self) -> str:
        """Return the name of the function that it is in, as Python reports it."""
        return self.function.name if self.function else "<module>"

    @property
    def elements(self) -> int:
        """Return how often one execution evaluates the expression: three times in `q, k, v = (x @ w for w in ws)`."""
        if self.body or not (isinstance(self.value, ast.ListComp) or is_lazy(self.value)):
            return 1
        return max([1, *(len(target.parts) for target in self.targets)])


@dataclass(eq=False)
class Function:
    """A function or lambda of a file.

    Attributes:
      first, last: its lines, decorators included; `code_line` is the first line that its code object reports.
      arguments: the names of its parameters in order, without `*` and `**`.
      statements: the statements directly in it, in the order of the source.
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
        """Return the statements for the values that the function may return."""
        return [statement for statement in self.statements if statement.is_return and not statement.whole]


def statements_of(node: ast.AST, function: Function | None, fields: Fields, *, repeats: bool) -> Iterator[Statement]:
    """Yield the statements that a node of the syntax tree itself makes."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _assigned(target, value, function, fields, repeats=repeats)
        case ast.AugAssign(target=target, op=ast.BitOr(), value=value) if is_dict(value):
            yield from _assigned(_loaded(target), value, function, fields, repeats=repeats)
        case ast.AugAssign(target=target, value=value):
            # The interpreter reports an augmented operation with the range of its statement.
            combined = ast.BinOp(_loaded(target), node.op, value)
            span = span_of(node)
            yield Statement(span, combined, (_target(target),), function, repeats, lines=(span.line, span.end_line))
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _assigned(target, value, function, fields, repeats=repeats)
        case ast.NamedExpr(target=target, value=value):
            for one in _assigned(target, value, function, fields, repeats=repeats):
                yield replace(one, is_inside=True)
        case ast.For(target=target, iter=value, body=body):
            lines, repeated = (node.lineno, span_of(value).end_line), (body[0].lineno, span_of(body[-1]).end_line)
            yield Statement(span_of(value), value, (_target(target),), function, True, lines=lines, body=repeated)
        case ast.Return(value=ast.expr() as value):
            yield from returned_by(value, function, repeats=repeats)


def _assigned(
    target: ast.expr, value: ast.expr, function: Function | None, fields: Fields, *, repeats: bool
) -> Iterator[Statement]:
    for part, own, inner in pairs(target, value, fields):
        whole = None if own is value else span_of(value)
        taken = part if isinstance(part, ast.Tuple | ast.List) and is_lazy(own) else own
        outside = tuple(map(span_of, inner.outside)) if inner else ()
        lines = target.lineno, span_of(value).end_line
        yield Statement(span_of(taken), own, (_target(part),), function, repeats, whole, outside, lines)


def taken_apart(node: ast.AST, statements: list[Statement]) -> dict[Span, Span]:
    """Return the ranges of unpackings, see `SourceFile.taken_apart`.

    Branches (`a, b = x if c else y`) are left out, because it is not known which one ran.
    """
    if isinstance(node, ast.For):
        own = span_of(node.iter)
        return {span_of(node): own, **{span: own for span, _ in _computing(node.target, {}, own)}}
    if not isinstance(node, ast.Assign):
        return {}
    computing = {one.targets[0].text: one.span for one in statements if one.targets}
    is_one = len(computing) == len(statements)
    return {span: of for target in node.targets for span, of in _computing(target, computing, None) if of and is_one}


def _computing(target: ast.expr, known: dict[str, Span], around: Span | None) -> Iterator[tuple[Span, Span | None]]:
    """Pair each tuple target with the range that computes it; a nested one has the range of the whole value."""
    own = known.get(ast.unparse(target), around)
    if isinstance(target, ast.Tuple | ast.List):
        yield span_of(target), own
        for one in target.elts:
            yield from _computing(one, known, own)


def is_lazy(value: ast.expr) -> bool:
    """Whether an expression is a generator or `map`, which computes when it is unpacked."""
    is_map = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "map"
    return is_map or isinstance(value, ast.GeneratorExp)


def returned_by(value: ast.expr, function: Function | None, *, repeats: bool) -> Iterator[Statement]:
    """Yield a returned value as a statement, and the parts of it that are computed there."""
    whole = span_of(value)
    lines = whole.line, whole.end_line
    yield Statement(whole, value, (), function, repeats, lines=lines)
    rest = elements_of(value)
    while rest:
        path, one = rest.pop(0)
        rest += (inner := [Element(path + inside.path, inside.value) for inside in elements_of(one)])
        if not inner and not isinstance(one, ast.Name | ast.Attribute | ast.Constant):
            yield Statement(span_of(one), one, (), function, repeats, whole, lines=lines, path=path)


def _target(node: ast.expr) -> Target:
    if isinstance(node, ast.Tuple | ast.List):
        return Target(ast.unparse(node), tuple(map(_target, node.elts)))
    return Target(ast.unparse(node))


def _loaded(node: ast.expr) -> ast.expr:
    return parse_expression(ast.unparse(node))


def is_alias(node: ast.expr) -> bool:
    """Whether an expression only names an existing value: `x`, `state.w`, `batch["x"]`, `(h, c)`."""
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(is_alias, node.elts))
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) and is_alias(node.value)
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute | ast.Starred) and is_alias(node.value))


def may_be_alias(statement: Statement) -> bool:
    """Whether a statement may only name an existing value: `h = hs[-1]`, `for h in hs`, where `hs` is not an array."""
    value = statement.value
    while isinstance(value, ast.Subscript):
        value = value.value
    return statement.body is not None or is_alias(value)


def span_of(node: ast.expr | ast.stmt) -> Span:
    """Return the range of a node."""
    return Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)
