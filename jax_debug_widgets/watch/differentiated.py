"""What a derivative is taken for: in `loss, grads = jax.value_and_grad(f)(params, x)`, `grads['w']` is for `params['w']`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from jax_debug_widgets.watch.body import Body, Call, Made, type_of
from jax_debug_widgets.watch.derivatives import differentiating
from jax_debug_widgets.watch.mapped import Leaves
from jax_debug_widgets.watch.mentions import is_part, texts_of
from jax_debug_widgets.watch.source import Function, SourceFile, Statement

_KEY = re.compile(r"\['(\w+)'\]")

_DERIVATIVES = frozenset({"grad", "value_and_grad", "filter_grad", "filter_value_and_grad"})
"""What JAX, equinox and flax.nnx call what gives gradients."""


def taken_for(body: Body, call: Call, statement: Statement, members: Sequence[int]) -> str | None:
    """The argument that a statement asks for the gradient of, `params`; None where the source does not tell which it is."""
    node = statement.value
    if not isinstance(node, ast.Call) or not members or not differentiating(body, members[0], call.depth):
        return None
    position = _argument_number(node.func, statement.function, body.source(call.file))
    if position is None or position >= len(node.args):
        return None
    is_counted = not any(isinstance(one, ast.Starred) for one in node.args[: position + 1])
    return ast.unparse(node.args[position]) if is_counted else None


def with_gradients(
    body: Body, statement: Statement, values: Sequence[tuple[str, Made]], leaves: Leaves
) -> Iterator[tuple[object, Made]]:
    """Of the leaves of that argument the variables, each with its gradient."""
    variables = {_as_field(path): variable for path, variable in leaves}
    for root in (text for target in statement.targets for text in texts_of(target)):
        for name, made in values:
            variable = variables.get(_as_field(name.removeprefix(root))) if is_part(name, root) else None
            # What is differentiated itself has another gradient: that of what comes after.
            is_outermost = body.uses.derived[made[1]][:1] == (True,)
            if variable is not None and is_outermost and type_of(variable) == type_of(made[0]):
                yield variable, made


def _as_field(path: str) -> str:
    """`['kernel']` as `.kernel`: of a module of flax.nnx the gradient is a dictionary."""
    return _KEY.sub(r".\1", path)


def _argument_number(asked: ast.expr, function: Function | None, source: SourceFile) -> int | None:
    """Which argument of `asked`, an expression, a variable or a decorated function, the gradient is taken for."""
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


def _number_in(node: ast.expr) -> int | None:
    """0 of `jax.grad` and `jax.grad(f)`, 1 of `jax.grad(f, argnums=1)` and `partial(jax.grad, argnums=1)`."""
    if not isinstance(node, ast.Call):
        return 0 if _last_name(node) in _DERIVATIVES else None
    is_partial = _last_name(node.func) == "partial" and bool(node.args)
    if _last_name(node.args[0] if is_partial else node.func) not in _DERIVATIVES:
        return None
    given = next((one.value for one in node.keywords if one.arg == "argnums"), None)
    if len(node.args) > 1:
        given = node.args[1]
    if given is None:
        return 0
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]
