"""Which inputs of a program are which arguments of the function that it is the program of."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax import versions
from jax_debug_widgets.watch.body import LOOPS, Body, Made, is_array, type_of
from jax_debug_widgets.watch.bound import Bound
from jax_debug_widgets.watch.source import Function, Span

_ROOT, _INDEX = re.compile(r"^\w+"), re.compile(r"^\[\d+\]")


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
    bound: Bound, wanted: Callable[[str], bool], is_told: Callable[[Any], bool] = is_array
) -> Iterator[Argument]:
    """The arguments of the function that the body is the program of, and the loop-carried names among them.

    Args:
      is_told: which variables are asked for.
    """
    body = bound.body
    file, function = body.origin[0], body.function
    if function is None or not wanted(file) or "transpose(" in str(body.place.stack):
        return
    carried, _ = _given_to_loop(body)
    noted = bound.arguments()
    for name, variable in _told(body) if noted is None else noted:
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


def _told(body: Body) -> Iterator[tuple[str, Any]]:
    """What JAX says of the inputs of a program that was not noted while it was traced."""
    names, variables = body.argument_names, body.jaxpr.invars
    equation = body.around.equation
    is_loop = equation is not None and equation.primitive.name in LOOPS
    # There it numbers tangents, too.
    is_of_all = len(names) == len(variables) and not (is_loop and body.around.pushes_through)
    if is_of_all and (is_loop or body.around.given or all(names)):
        yield from ((name, one) for name, one in zip(names, variables, strict=True) if name)


def _argument_span(function: Function, name: str) -> Span:
    """Where an argument is written: itself in the head of the function, or what takes it apart."""
    base = name.partition("[")[0].partition(".")[0]
    for statement in function.statements:
        parts = {part.text for target in statement.targets for part in target.parts}
        if parts & {name, base} and isinstance(statement.value, ast.Name):
            return statement.span
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
