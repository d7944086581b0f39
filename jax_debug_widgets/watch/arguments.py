"""Which inputs of a program are which arguments of the function that it is the program of."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax import versions
from jax_debug_widgets.watch.body import LOOPS, Body, Call, Made, is_array, type_of
from jax_debug_widgets.watch.loads import fields_of
from jax_debug_widgets.watch.mentions import loads_of
from jax_debug_widgets.watch.source import Function, SourceFile, Span, Statement, span_of
from jax_debug_widgets.watch.takers import Taken, takers_of

_ROOT, _INDEX = re.compile(r"^\w+"), re.compile(r"^\[\d+\]")
_ITEM = re.compile(r"(\w+)\[(\d+)\](.*)")


@dataclass(frozen=True, eq=False)
class Argument:
    """An input of a program, and what the source calls it; `carried` if it is what the iteration before has made."""

    variable: Any
    name: str
    file: str
    span: Span
    function: str
    carried: bool


def arguments(
    body: Body, wanted: Callable[[str], bool], is_told: Callable[[Any], bool] = is_array
) -> Iterator[Argument]:
    """The arguments of the function that the body is the program of, and the loop-carried names among them.

    Args:
      is_told: which variables are asked for.
    """
    file, function = body.origin[0], body.function
    if function is None or not wanted(file) or "transpose(" in str(body.place.stack):
        return
    carried, _ = _given_to_loop(body)
    for name, variable in _argument_names(body, function):
        if is_told(variable):
            yield Argument(variable, name, file, _argument_span(function, name), function.name, variable in carried)


def gradients_of_arguments(body: Body, taken: Sequence[Argument]) -> Iterator[tuple[Argument, Made]]:
    """What `jax.jit(jax.grad(f))` gives: of each argument that is told by its place among the results the gradient.

    Of a function that asks for the derivative itself nobody says whether it asks for that of its arguments.
    """
    if body.around.equation is not None or any(level.derivatives for levels in body.levels for level in levels):
        return
    for position, variable in enumerate(body.jaxpr.outvars):
        path = body.result_path(position)
        made = body.makers.get(variable) if is_array(variable) and body.uses.is_cotangent(variable) else None
        if path is None or made is None:
            continue
        alike = [one for one in taken if type_of(one.variable) == type_of(variable) and _may_be_for(body, path, one)]
        if len(alike) == 1:
            yield alike[0], made


def _may_be_for(body: Body, path: str, argument: Argument) -> bool:
    """Whether the result at a path may be the gradient of an argument, or leaf of one."""
    asked, function = body.around.derivative, body.function
    if asked is None or function is None:
        # Beside the value, and of several arguments, it comes below a number.
        return _ROOT.sub("", argument.name) in (path, _INDEX.sub("", path))
    place = asked.position(path)
    return place is not None and argument.name == f"{_positional(function, place[0])}{place[1]}"


def _positional(function: Function, number: int) -> str | None:
    """What a function calls its argument of that number, `rest[0]`; None where nobody can say."""
    node = function.node
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    names = names[names[:1] == ["self"] :]
    if -len(names) <= number < len(names) and not (node.args.vararg and number < 0):
        return names[number]
    return f"{node.args.vararg.arg}[{number - len(names)}]" if node.args.vararg and number >= 0 else None


def _given_to_loop(body: Body) -> tuple[list[Any], list[Any]]:
    """What a loop hands from one iteration to the next, and the parts of what it goes through: nothing in another body.

    Without tangents, where somebody around the loop pushes such through it.
    """
    equation: Any = body.around.equation
    variables = list(body.jaxpr.invars)
    if equation is None or equation.primitive.name not in LOOPS:
        return [], []
    if equation.primitive.name == "scan":
        first, carried = versions.scan_counts(equation.params)
    else:
        first = equation.params["cond_nconsts" if body.place.in_condition else "body_nconsts"]
        carried = len(variables) - first
    carry, sliced = variables[first : first + carried], variables[first + carried :]
    return [one for one in carry if not body.is_tangent(one)], [one for one in sliced if not body.is_tangent(one)]


def _argument_names(body: Body, function: Function) -> Iterator[tuple[str, Any]]:
    equation, variables = body.around.equation, list(body.jaxpr.invars)
    primitive = "" if equation is None else equation.primitive.name
    arguments = list(function.arguments)
    if arguments[:1] == ["self"]:
        arguments = arguments[1:]
    is_loop = primitive in LOOPS
    told = () if is_loop and body.around.pushes_through else body.argument_names  # There it numbers tangents, too.
    if body.jaxpr.debug_info.traced_for == "fori_loop" or (is_loop and told and len(told) == len(variables)):
        # JAX tells which is which, also where it has left out what nothing uses.
        yield from ((_part(function, name), one) for name, one in zip(told, variables, strict=False) if name)
    elif primitive == "scan" and len(arguments) == len(("carry", "x")):
        carry, sliced = _given_to_loop(body)
        yield from _argument_leaves(body, function, arguments[0], carry)
        leaves_of_slice = _leaves_by_their_uses if _is_split(body) else _argument_leaves
        yield from leaves_of_slice(body, function, arguments[1], sliced)
    elif primitive == "while" and len(arguments) == 1:
        yield from _argument_leaves(body, function, arguments[0], _given_to_loop(body)[0])
    elif not is_loop:
        if told and len(told) == len(variables) and (body.around.given or all(told)):
            yield from ((name, one) for name, one in zip(told, variables, strict=True) if name)
        elif len(arguments) == len(variables):
            yield from zip(arguments, variables, strict=True) if told else _by_their_uses(body, function, arguments)


def _by_their_uses(body: Body, function: Function, arguments: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Of a differentiated function its arguments, in its order where nothing that takes them says otherwise.

    One that nothing uses is left out there, and there may be as many by chance.
    """
    variables = list(body.jaxpr.invars)
    in_order = list(zip(arguments, variables, strict=True))
    if not _is_split(body):
        if all(_may_be(body, function, _head(function, name), name, one, _takes_loosely) for name, one in in_order):
            yield from in_order
        return
    heads = [_head(function, name) for name in arguments]
    may_be = [
        [_may_be(body, function, head, name, one, _takes_itself) for one in variables]
        for head, name in zip(heads, arguments, strict=True)
    ]
    orders = list(itertools.islice(_orders(may_be), 2)) if len(arguments) <= _MOST_ORDERED else []
    if len(orders) == 1:
        yield from ((name, variables[number]) for name, number in zip(arguments, orders[0], strict=True))
        return
    yield from ((name, variables[number]) for name, number in _only_pairs(arguments, may_be))


def _is_split(body: Body) -> bool:
    """Whether JAX may have moved a part of this program out of a differentiated loop around it.

    Then what changes is put first, and in the place of what does not is what has been computed of it before that loop.
    """
    equation = body.around.equation
    is_loop = equation is not None and equation.primitive.name in LOOPS
    return len(body.place.loops) > is_loop and "jvp(" in str(body.place.stack)


def _leaves_by_their_uses(
    body: Body, function: Function, argument: str, variables: Sequence[Any]
) -> Iterator[tuple[str, Any]]:
    """The parts of what a loop goes through, where something takes each as it is."""
    apart = _taken_apart(function, argument)
    names = _parts(apart) or _fields(function, argument)
    head = apart or _head(function, argument)
    may_be = [[_may_be(body, function, head, name, one, _takes_itself) for one in variables] for name in names]
    yield from ((name, variables[number]) for name, number in _only_pairs(names, may_be))


def _only_pairs(names: Sequence[str], may_be: Sequence[Sequence[bool]]) -> Iterator[tuple[str, int]]:
    """Each name that may be one variable alone, which may have no other: with the number of that."""
    for name, own in zip(names, may_be, strict=True):
        number = own.index(True) if sum(own) == 1 else None
        if number is not None and sum(row[number] for row in may_be) == 1:
            yield name, number


_MOST_ORDERED = 8
"""Arguments of which each order is tried."""


def _orders(may_be: Sequence[Sequence[bool]], taken: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The ways to give each row a column of its own where it holds."""
    if len(taken) == len(may_be):
        yield taken
    else:
        for number, holds in enumerate(may_be[len(taken)]):
            if holds and number not in taken:
                yield from _orders(may_be, (*taken, number))


_Takes = Callable[[SourceFile, Taken, Span], bool]
"""Whether what takes a variable in a file may take the name at a range."""


def _may_be(body: Body, function: Function, head: Statement, argument: str, variable: Any, takes: _Takes) -> bool:
    """Whether something that takes an input names this argument, or nothing is known to take it."""
    loads = [one.span for one in loads_of(function, head, argument)]
    takers = takers_of(body, Call((), body.origin[0], head.span), variable, set())
    known = [taken for taken in takers if taken.span is not None]
    source = body.source(body.origin[0])
    return not known or any(takes(source, taken, one) for taken in known for one in loads)


def _takes_loosely(source: SourceFile, taken: Taken, load: Span) -> bool:
    del source
    return taken.span is not None and taken.span.contains(load)


def _takes_itself(source: SourceFile, taken: Taken, load: Span) -> bool:
    """Whether it takes the name itself, not what is computed of it in a part of the range."""
    node = source.expressions.get(taken.span) if taken.span and not taken.is_value else None
    return taken.span == load or (node is not None and any(span_of(one) == load for one in _operands(node)))


def _operands(node: ast.AST) -> Iterator[ast.expr]:
    """What an expression takes: the sides of an operator, the arguments of a call, and what its method is of."""
    for child in ast.iter_child_nodes(node):
        is_method = isinstance(node, ast.Call) and child is node.func
        if isinstance(child, _SPREAD) or (is_method and isinstance(child, ast.Attribute)):
            yield from _operands(child)
        elif isinstance(child, ast.expr):
            yield child


_SPREAD = (ast.keyword, ast.Starred, ast.Tuple, ast.List, ast.Dict, ast.Slice)
"""What only holds others."""


def _head(function: Function, argument: str) -> Statement:
    """What gives an argument its value, as if it were a statement before the first of the function."""
    return Statement(Span(function.first, 0, function.first, 0), ast.Name(argument), (), function, repeats=False)


def _argument_leaves(
    body: Body, function: Function, argument: str, variables: Sequence[Any]
) -> Iterator[tuple[str, Any]]:
    parts = _parts(_taken_apart(function, argument))
    if len(parts) == len(variables):
        yield from zip(parts, variables, strict=True)
    elif parts or (len(variables) == 1 and _fields(function, argument)):  # Some of them nothing uses.
        yield from _leaves_by_their_uses(body, function, argument, variables)
    elif len(variables) == 1:
        yield argument, variables[0]
    else:
        head = _head(function, argument)
        call = Call((), body.origin[0], head.span)
        used = fields_of(body, call, head, argument, variables, set())
        names = [name if name and used.count(name) == 1 else f"{argument}[{i}]" for i, name in enumerate(used)]
        yield from zip(names, variables, strict=True)


def _part(function: Function, name: str) -> str:
    """What the source calls a part of an argument, `c[1]['w']`: `b['w']` after `a, b = c`."""
    found = _ITEM.fullmatch(name)
    parts = _parts(_taken_apart(function, found[1])) if found else []
    return parts[int(found[2])] + found[3] if found and int(found[2]) < len(parts) else name


def _taken_apart(function: Function, argument: str) -> Statement | None:
    """The statement that takes an argument apart into variables."""
    for one in function.statements:
        if isinstance(one.value, ast.Name) and one.value.id == argument and one.targets:
            parts = one.targets[0].parts
            if parts and all(part.is_plain for part in parts):
                return one
    return None


def _parts(apart: Statement | None) -> list[str]:
    """The variables that an argument is taken apart into."""
    return [part.text for part in apart.targets[0].parts] if apart else []


def _fields(function: Function, argument: str) -> list[str]:
    """The fields of an argument that the function takes, `inp['p']`; none where it takes something else of it."""
    texts = [one.text for one in loads_of(function, _head(function, argument), argument)]
    return [*dict.fromkeys(texts)] if all(text.startswith(f"{argument}['") for text in texts) else []


def _argument_span(function: Function, name: str) -> Span:
    """Where an argument is written: itself in the head of the function, or what takes it apart."""
    for statement in function.statements:
        if any(part.text == name for target in statement.targets for part in target.parts) and isinstance(
            statement.value, ast.Name
        ):
            return statement.span
    base = name.partition("[")[0].partition(".")[0]
    node = function.node
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
        if argument is not None and argument.arg == base:
            return Span(
                argument.lineno,
                argument.col_offset,
                argument.end_lineno or argument.lineno,
                argument.end_col_offset or 0,
            )
    return Span(function.code_line, 0, function.code_line, 0)
