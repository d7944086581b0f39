"""What a derivative is taken for: in `loss, grads = jax.value_and_grad(f)(params, x)`, `grads['w']` is for `params['w']`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from jax_debug_widgets._jax.frames import GRADIENT_AND_AUX, VALUE_AND_GRADIENT
from jax_debug_widgets.watch.body import Body, Call, Made, type_of
from jax_debug_widgets.watch.classes import last_name
from jax_debug_widgets.watch.derivatives import differentiating
from jax_debug_widgets.watch.mentions import is_part
from jax_debug_widgets.watch.source import Function, SourceFile, Statement, Target

_KEY = re.compile(r"\['(\w+)'\]")

_DERIVATIVES = frozenset({"grad", "value_and_grad", "filter_grad", "filter_value_and_grad"})
"""What JAX, equinox and flax.nnx call what gives gradients."""

_PULLING_BACK = frozenset({"vjp", "filter_vjp"})
"""And what gives a function that does."""


def asked_for(body: Body, call: Call, statement: Statement, members: Sequence[int]) -> list[tuple[str, str]]:
    """What a statement assigns of gradients, as it is written, each with what it is for: `grads` and `params`."""
    node = statement.value
    if not members:
        return []
    by = differentiating(body, members[0], call.depth) if isinstance(node, ast.Call) else ""
    if not (isinstance(node, ast.Call) and by):
        return pulled_back(statement, body.source(call.file))
    numbers = _argument_number(node.func, statement.function, body.source(call.file))
    wholes = [_gradient_of(by, target) for target in statement.targets]
    if not isinstance(numbers, tuple):
        return [pair for whole in wholes for pair in _by_part(whole, _argument(node, numbers))]
    arguments = [_argument(node, one) for one in numbers]
    items = [(one.parts or _items(one, len(arguments))) for one in wholes]
    return [pair for own in items for part, one in zip(own, arguments, strict=False) for pair in _by_part(part, one)]


def may_be_asked_for(statement: Statement, source: SourceFile) -> Iterator[ast.expr]:
    """What a statement may take derivatives for, if what it calls does."""
    node = statement.value
    if not isinstance(node, ast.Call):
        return
    numbers = _argument_number(node.func, statement.function, source)
    pulled = _pulled_from(node, statement.function)
    several = numbers if isinstance(numbers, tuple) else (numbers,)
    for one in (*(_argument(node, number) for number in several), *(pulled.args[1:] if pulled else ())):
        yield from (one,) if one is not None else ()
        yield from one.elts if isinstance(one, ast.Tuple | ast.List) else ()


def _gradient_of(by: str, target: Target) -> Target:
    """Where in a target the gradient is that a derivative gives."""
    place = {VALUE_AND_GRADIENT: 1, GRADIENT_AND_AUX: 0}.get(by)
    if place is None:
        return target
    return target.parts[place] if target.parts[place:] else _items(target, place + 1)[place]


def _items(target: Target, count: int) -> list[Target]:
    return [Target(f"{target.text}[{number}]") for number in range(count)]


def _by_part(target: Target, argument: ast.expr | None) -> Iterator[tuple[str, str]]:
    """What a gradient is assigned to with what it is for; of `gw, gb` for `(w, b)` part by part, as for `params`."""
    if argument is None:
        return
    if target.is_plain:
        yield target.text, ast.unparse(argument)
    items = argument.elts if isinstance(argument, ast.Tuple | ast.List) else None
    # What a star takes is counted from the end behind it.
    for number, part in enumerate(takewhile(lambda one: not one.text.startswith("*"), target.parts)):
        item = ast.Subscript(argument, ast.Constant(number), ast.Load()) if items is None else None
        yield from _by_part(part, items[number] if items and items[number:] else item)


def pulled_back(statement: Statement, source: SourceFile) -> list[tuple[str, str]]:
    """The same of `grads, slopes = pull_back(1.0)`, where there is `loss, pull_back = jax.vjp(f, params, x)`."""
    node = statement.value
    taken = source.expressions.get(statement.whole) if statement.whole else node
    asked = _pulled_from(node, statement.function) if isinstance(node, ast.Call) else None
    if asked is None:
        return []
    pairs: list[tuple[Target, ast.expr | None]] = []
    for target in statement.targets:
        if isinstance(taken, ast.Subscript) and isinstance(taken.slice, ast.Constant):
            number = taken.slice.value
            pairs.append((target, _argument(asked, number + 1) if isinstance(number, int) else None))
        else:
            parts = target.parts or _items(target, len(asked.args) - 1)
            pairs += [(part, _argument(asked, place)) for place, part in enumerate(parts, 1)]
    return [pair for target, argument in pairs for pair in _by_part(target, argument)]


def _pulled_from(node: ast.Call, function: Function | None) -> ast.Call | None:
    """The call of `jax.vjp` that has given the function which is called here; None where it is another function."""
    if function is None or not isinstance(node.func, ast.Name):
        return None
    made = [
        one.value
        for one in function.statements
        for target in one.targets
        if [part.text for part in target.parts[1:2]] == [node.func.id]
    ]
    asked = made[0] if len(made) == 1 else None
    return asked if isinstance(asked, ast.Call) and last_name(asked.func) in _PULLING_BACK else None


def with_gradients(
    body: Body, asked: tuple[str, str], values: Sequence[tuple[str, Made]], leaves: Sequence[tuple[str, Any]]
) -> Iterator[tuple[object, Made]]:
    """Of the leaves of an argument, by their paths, the variables, each with its gradient."""
    root, _ = asked
    variables = {_as_field(path): variable for path, variable in leaves}
    for name, made in values:
        variable = variables.get(_as_field(name.removeprefix(root))) if is_part(name, root) else None
        # What is differentiated itself has another gradient: that of what comes after.
        is_outermost = body.uses.derived[made[1]][:1] != (False,)
        if variable is not None and is_outermost and _has_type_of(made[0], variable):
            yield variable, made


def _has_type_of(gradient: Any, variable: Any) -> bool:
    """Whether they are of one type, but for the lanes of a `vmap` that the gradient alone may have."""
    (shape, dtype), (own, kind) = type_of(gradient), type_of(variable)
    return dtype == kind and shape[len(shape) - len(own) :] == own


def _as_field(path: str) -> str:
    """`['kernel']` as `.kernel`: of a module of flax.nnx the gradient is a dictionary."""
    return _KEY.sub(r".\1", path)


def _argument(node: ast.Call, position: int | None) -> ast.expr | None:
    if position is None or not 0 <= position < len(node.args):
        return None
    is_counted = not any(isinstance(one, ast.Starred) for one in node.args[: position + 1])
    return node.args[position] if is_counted else None


_Numbers = int | tuple[int, ...] | None


def _argument_number(asked: ast.expr, function: Function | None, source: SourceFile) -> _Numbers:
    """Which argument, or several, of `asked` the gradient is taken for: an expression, a variable, a decorated function."""
    if not isinstance(asked, ast.Name):
        return _number_in(asked)
    around = [one for one in (function, None) if asked.id in _assigned_in(source, one)]
    if around:
        found = {_number_in(value) for value in _assigned_in(source, around[0])[asked.id]}
        return found.pop() if len(found) == 1 else None
    decorated = [one.node for one in source.functions if one.name.rpartition(".")[2] == asked.id]
    decorators = [node.decorator_list for node in decorated if isinstance(node, ast.FunctionDef)]
    return _number_in(decorators[0][0]) if len(decorators) == 1 and len(decorators[0]) == 1 else None


def _assigned_in(source: SourceFile, function: Function | None) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for statement in source.statements:
        for target in statement.targets if statement.function is function else ():
            found.setdefault(target.text, []).append(statement.value)
    return found


def _number_in(node: ast.expr) -> _Numbers:
    """0 of `jax.grad` and `jax.grad(f)`, 1 of `jax.grad(f, argnums=1)` and `partial(jax.grad, argnums=1)`."""
    if not isinstance(node, ast.Call):
        return 0 if last_name(node) in _DERIVATIVES else None
    is_partial = last_name(node.func) == "partial" and bool(node.args)
    if last_name(node.args[0] if is_partial else node.func) not in _DERIVATIVES:
        return None
    given = next((one.value for one in node.keywords if one.arg == "argnums"), None)
    if len(node.args) > 1:
        given = node.args[1]
    if given is None:
        return 0
    try:
        number = ast.literal_eval(given)
    except ValueError:
        return None
    is_several = isinstance(number, tuple | list) and all(isinstance(one, int) for one in number)
    return tuple(number) if is_several else number if isinstance(number, int) else None
