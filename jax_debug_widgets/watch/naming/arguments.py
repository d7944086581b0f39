"""Match the inputs of a program with the arguments of its function."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.tracing.marks import is_named
from jax_debug_widgets.watch.naming.bindings_of_body import BodyBindings
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.loops import LOOPS
from jax_debug_widgets.watch.naming.named import Named
from jax_debug_widgets.watch.naming.variable_types import is_array
from jax_debug_widgets.watch.syntax.statements import Function, Span

_ROOT, _INDEX = re.compile(r"^\w+"), re.compile(r"^\[\d+\]")


@dataclass(frozen=True, eq=False)
class Argument:
    """An input of a program with its name in the source; `carried` if the previous iteration computed it."""

    variable: Any
    name: str
    file: str
    span: Span
    function: str
    carried: bool


def arguments(
    bound: BodyBindings, wanted: Callable[[str], bool], is_wanted: Callable[[Any], bool] = is_array
) -> Iterator[Argument]:
    """Yield the arguments of the body's function, and the loop-carried names among them.

    Args:
      is_wanted: whether to yield a variable.
    """
    body = bound.body
    file, function = body.origin[0], body.function
    if function is None or not wanted(file) or "transpose(" in str(body.place.stack):
        return
    carried, _ = _given_to_loop(body)
    noted = bound.arguments()
    for name, variable in _known_arguments(body) if noted is None else noted:
        if is_wanted(variable):
            yield Argument(variable, name, file, argument_span(function, name), function.name, variable in carried)


def names_given_on(body: BodyWithFrames, named: Iterable[Named]) -> dict[Any, tuple[str, ...]]:
    """Map the results of a loop's body to the names that the next iteration has for each.

    Args:
      named: the values of the body that have names.
    """
    if body.place.in_condition:
        return {}
    (first, _), place = _carried(body), {one: number for number, one in enumerate(body.jaxpr.invars)}
    found: dict[Any, tuple[str, ...]] = {}
    for one in named:
        if one.carried and one.role == "value" and one.variable in place:
            result = body.jaxpr.outvars[place[one.variable] - first]
            while is_array(result):
                found[result] = (*found.get(result, ()), one.name)
                maker = body.equations[made[1]] if (made := body.maker_of(result)) else None
                result = maker.invars[0] if maker is not None and is_named(maker) else None
    return found


def _given_to_loop(body: BodyWithFrames) -> tuple[list[Any], list[Any]]:
    """Return the inputs of a loop's body that are its carry, and those that are slices of `xs`; both empty for another body.

    Tangents are left out: `jvp` around the loop adds them.
    """
    (first, carried), variables = _carried(body), list(body.jaxpr.invars)
    if not carried:
        return [], []
    carry, sliced = variables[first : first + carried], variables[first + carried :]
    return [one for one in carry if not body.is_tangent(one)], [one for one in sliced if not body.is_tangent(one)]


def _carried(body: BodyWithFrames) -> tuple[int, int]:
    """Return the position of the first carry among the inputs of a loop's body, and the number of carries."""
    equation: Any = body.around.equation
    if equation is None or equation.primitive.name not in LOOPS:
        return 0, 0
    if equation.primitive.name == "scan":
        return versions.scan_counts(equation.params)
    first = equation.params["cond_nconsts" if body.place.in_condition else "body_nconsts"]
    return first, len(body.jaxpr.invars) - first


def _known_arguments(body: BodyWithFrames) -> Iterator[tuple[str, Any]]:
    """Yield the inputs with the names that JAX gives them, for a program that was not noted while it was traced."""
    names, variables = body.argument_names, body.jaxpr.invars
    equation = body.around.equation
    is_loop = equation is not None and equation.primitive.name in LOOPS
    # With tangents, JAX's names do not match the inputs.
    is_of_all = len(names) == len(variables) and not (is_loop and body.around.pushes_through)
    if is_of_all and (is_loop or body.around.given or all(names)):
        yield from ((name, one) for name, one in zip(names, variables, strict=True) if name)


def argument_span(function: Function, name: str) -> Span:
    """Return the range of an argument: in the head of the function, or in the statement that unpacks it."""
    base = name.partition("[")[0].partition(".")[0]
    for statement in function.statements:
        parts = {part.text for target in statement.targets for part in target.parts}
        if parts & {name, base} and isinstance(statement.value, ast.Name) and not statement.body:
            return statement.span
    node = function.node
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
        if argument is not None and argument.arg == base:
            return Span(
                argument.lineno,
                argument.col_offset,
                argument.end_lineno or argument.lineno,
                argument.end_col_offset or 0,
            )
    return Span(function.code_line, 0, function.code_line, 0)
