"""Rewrite expressions that need a value while JAX traces: `and`, `not`, `a if c else b`, `max(x, y)`, `float(x)`."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets.checks.namespace import is_traced, value_of

_PAIR = 2


def condition(node: ast.expr) -> str:
    """Write a condition as an expression of arrays: `a and not b < c < d` -> `a & ~((b < c) & (c < d))`."""
    if isinstance(node, ast.BoolOp):
        sign = " & " if isinstance(node.op, ast.And) else " | "
        return sign.join(f"({_truth(value)})" for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"~({_truth(node.operand)})"
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        operands = [node.left, *node.comparators]
        pairs = zip(operands, node.ops, operands[1:], strict=False)
        return " & ".join(f"({ast.unparse(ast.Compare(left, [op], [right]))})" for left, op, right in pairs)
    return ast.unparse(node)


def _truth(node: ast.expr) -> str:
    """Write an operand of `and`, `or` or `not` as a boolean array, because `&` of numbers works on their bits."""
    is_boolean = isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert)
    )
    is_call = isinstance(node, ast.Call)  # `jnp.isnan(x)`, `x.any()`
    return condition(node) if is_boolean or is_call else f"{ast.unparse(node)} != 0"


def expression(statement: ast.stmt, names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite the first part of a statement that needs a value; return None if there is none."""
    for old, new in _rewritten(statement, names):
        replaced = replace(statement, old, new)
        return ast.unparse(ast.fix_missing_locations(replaced)).splitlines()
    return None


def _rewritten(statement: ast.stmt, names: Mapping[str, Any]) -> Iterator[tuple[ast.expr, str]]:
    parts = [node for node in ast.walk(statement) if isinstance(node, ast.expr)]
    for node in parts:
        if isinstance(node, ast.IfExp):
            yield node, f"jnp.where({condition(node.test)}, {ast.unparse(node.body)}, {ast.unparse(node.orelse)})"
    for node in parts:
        is_chain = isinstance(node, ast.Compare) and len(node.ops) > 1
        is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if isinstance(node, ast.BoolOp) or is_chain or is_not:
            yield node, condition(node)
    for node in parts:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            rewritten = _builtin(node.func.id, node.args, names)
            if rewritten:
                yield node, rewritten
    yield from _of_numbers(parts, names)


def _of_numbers(parts: list[ast.expr], names: Mapping[str, Any]) -> Iterator[tuple[ast.expr, str]]:
    """Yield what computes with numbers: `math.exp(x)`, `x.item()`, `numbers[i]` and `functions[i](x)`."""
    for node in parts:
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute(), keywords=[]):
                function = value_of(node.func, names)
                name = getattr(function, "__name__", "")
                texts = list(map(ast.unparse, node.args))
                if getattr(function, "__module__", "") == "math" and hasattr(jnp, name):
                    yield node, f"jnp.{name}({', '.join(texts)})"
                elif isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
                    yield node, ast.unparse(node.func.value)
            case ast.Call(func=ast.Subscript(value=several, slice=index), keywords=[]):
                functions = value_of(several, names)
                if isinstance(functions, list | tuple) and all(map(callable, functions)):
                    texts = map(ast.unparse, [index, several, *node.args])
                    yield node, f"jax.lax.switch({', '.join(texts)})"
            case ast.Subscript(value=several, slice=index) if is_traced(value_of(index, names)):
                numbers = value_of(several, names)
                if isinstance(numbers, list | tuple) and _are_numbers(numbers):
                    yield node, f"jnp.array({ast.unparse(several)})[{ast.unparse(index)}]"


def _are_numbers(values: Sequence[Any]) -> bool:
    """Return whether these are numbers, or arrays of one shape."""
    known = all(isinstance(one, int | float | complex | np.ndarray | np.generic | jax.Array) for one in values)
    return known and len({np.shape(one) for one in values}) == 1


def _builtin(name: str, arguments: list[ast.expr], names: Mapping[str, Any]) -> str:
    if name in names and getattr(names[name], "__module__", "") != "builtins":
        return ""  # The user has defined a function with this name.
    texts = list(map(ast.unparse, arguments))
    if name in ("max", "min") and len(arguments) == _PAIR:
        return f"jnp.{name}imum({', '.join(texts)})"
    if name in ("max", "min", "sum", "any", "all") and len(arguments) == 1:
        return f"jnp.{name}({texts[0]})"
    if name in ("float", "int", "bool") and len(arguments) == 1:
        return f"jnp.asarray({texts[0]}).astype({name})"
    return ""


def numpy_call(statement: ast.stmt, names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite a call of NumPy on a traced array: `np.sin(x)` -> `jnp.sin(x)`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module = value_of(node.func.value, names)
            is_numpy = isinstance(module, types.ModuleType) and module.__name__.split(".")[0] == "numpy"
            if is_numpy and hasattr(jnp, node.func.attr):
                new = ast.unparse(ast.Call(ast.Attribute(ast.Name("jnp"), node.func.attr), node.args, node.keywords))
                return ast.unparse(ast.fix_missing_locations(replace(statement, node, new))).splitlines()
    return None


def list_argument(statement: ast.stmt, is_list: Callable[[ast.expr], bool]) -> list[str] | None:
    """Rewrite a call that is given a list: `jnp.sum([1, 2])` -> `jnp.sum(jnp.array([1, 2]))`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and node.args and is_list(node.args[0]):
            new = f"jnp.array({ast.unparse(node.args[0])})"
            return ast.unparse(ast.fix_missing_locations(replace(statement, node.args[0], new))).splitlines()
    return None


def replace(statement: ast.stmt, old: ast.expr, new: str) -> ast.stmt:
    """Return a copy of the statement with the expression `old` replaced by `new`."""
    expression = ast.parse(new, mode="eval").body

    class Replacing(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            if node is old:
                return expression
            fields = {name: self._field(value) for name, value in ast.iter_fields(node)}
            return ast.copy_location(type(node)(**fields), node) if hasattr(node, "lineno") else type(node)(**fields)

        def _field(self, value: Any) -> Any:
            if isinstance(value, list):
                return [self._field(one) for one in value]
            return self.visit(value) if isinstance(value, ast.AST) else value

    return Replacing().visit(statement)


def checkified(statement: ast.stmt) -> list[str] | None:
    """Swap the two transformations: `checkify(vmap(f))` -> `vmap(checkify(f))`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and _called(node) == "checkify" and node.args:
            mapped = node.args[0]
            if isinstance(mapped, ast.Call) and _called(mapped) == "vmap" and mapped.args:
                inner = ast.Call(node.func, [mapped.args[0], *node.args[1:]], node.keywords)
                new = ast.unparse(ast.Call(mapped.func, [inner, *mapped.args[1:]], mapped.keywords))
                return ast.unparse(ast.fix_missing_locations(replace(statement, node, new))).splitlines()
    return None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
