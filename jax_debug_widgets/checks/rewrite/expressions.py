"""Rewrite expressions that need a value while JAX traces: `and`, `not`, `a if c else b`, `max(x, y)`, `float(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets.checks.namespace import is_traced, value_of
from jax_debug_widgets.checks.rewrite.choices import choice
from jax_debug_widgets.checks.rewrite.numpy_calls import numpy_calls

_PAIR = 2


def condition(node: ast.expr, names: Mapping[str, Any]) -> str:
    """Write a condition as an expression of arrays: `a and not b < c < d` -> `a & ~((b < c) & (c < d))`."""
    match node:
        case ast.BoolOp(op=operator, values=values):
            sign = " & " if isinstance(operator, ast.And) else " | "
            return sign.join(f"({_truth(value, names)})" for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"~({_truth(operand, names)})"
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as operator], comparators=[container]):
            text = f"jnp.isin({ast.unparse(left)}, jnp.array({_listed(container, names)}))"
            return text if isinstance(operator, ast.In) else f"~{text}"
        case ast.Compare(ops=[_, _, *_]):
            operands = [node.left, *node.comparators]
            pairs = zip(operands, node.ops, operands[1:], strict=False)
            return " & ".join(f"({condition(ast.Compare(left, [op], [right]), names)})" for left, op, right in pairs)
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return _builtin(name, node.args, names) or computed(node, names)
    return computed(node, names)


_DEEPEST = 4
"""The most calls that need a value, one inside the other."""


def computed(node: ast.expr, names: Mapping[str, Any]) -> str:
    """Write an expression without the calls that need a value: `float(x) > max(y, 1)` -> `x > jnp.maximum(y, 1)`."""
    for _ in range(_DEEPEST):
        changes: dict[ast.expr, str] = {}
        for old, new in _rewritten(ast.Expr(node), names):
            changes.setdefault(old, new)
        if not changes:
            break
        node = replaced(ast.Expr(node), changes).value  # pyright: ignore[reportAttributeAccessIssue]
    return "\n".join(numpy_calls(ast.Expr(node), names, only_of_traced=True) or [ast.unparse(node)])


def _listed(container: ast.expr, names: Mapping[str, Any]) -> str:
    """Write the container of an `in` as a list or tuple, because `jnp.array` takes no set and no dictionary."""
    if isinstance(container, ast.Set):
        return ast.unparse(ast.List(container.elts))
    text = ast.unparse(container)
    return f"list({text})" if isinstance(value_of(container, names), set | frozenset | dict) else text


def _truth(node: ast.expr, names: Mapping[str, Any]) -> str:
    """Write an operand of `and`, `or` or `not` as a boolean array, because `&` of numbers works on their bits."""
    is_inverted = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)
    is_boolean = isinstance(node, ast.BoolOp) or is_inverted or _is_boolean(node, names)
    return condition(node, names) if is_boolean else f"{ast.unparse(node)} != 0"


def expression(statement: ast.stmt, names: Mapping[str, Any], failing: ast.AST | None = None) -> list[str] | None:
    """Rewrite the part of a statement that needs a value; return None if there is none.

    Args:
      statement: the statement.
      names: the variables of its frame.
      failing: the part that was computed when the value was needed. If it is not known, the first part that may need
        one is rewritten.
    """
    parts = list(_rewritten(statement, names))
    if failing is not None and failing is not statement:
        parts = _around(failing, parts)
    for old, new in parts[:1]:
        return ast.unparse(ast.fix_missing_locations(replaced(statement, {old: new}))).splitlines()
    return None


def _around(failing: ast.AST, parts: Sequence[tuple[ast.expr, str]]) -> list[tuple[ast.expr, str]]:
    """Return the parts that need the value of `failing`: an outermost choice or condition first, else the innermost call."""
    if isinstance(
        failing, ast.ListComp | ast.SetComp | ast.DictComp
    ):  # Python 3.12 reports only the whole comprehension.
        return [one for one in parts if one[0] in ast.walk(failing)]
    needing = [
        (part, new) for part, new in parts if failing in ast.walk(part.test if isinstance(part, ast.IfExp) else part)
    ]
    conditions = [one for one in needing if isinstance(one[0], ast.IfExp | ast.BoolOp | ast.UnaryOp | ast.Compare)]
    return conditions or sorted(needing, key=lambda one: sum(1 for _ in ast.walk(one[0])))


def _rewritten(statement: ast.stmt, names: Mapping[str, Any]) -> Iterator[tuple[ast.expr, str]]:
    parts = [node for node in ast.walk(statement) if isinstance(node, ast.expr)]
    for node in parts:
        if isinstance(node, ast.IfExp) and (
            chosen := choice(condition(node.test, names), node.body, node.orelse, names)
        ):
            yield node, chosen
    for node in parts:
        is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if isinstance(node, ast.BoolOp) and node is getattr(statement, "value", None) and not _is_boolean(node, names):
            yield node, _operand_of(node, names)
        elif isinstance(node, ast.BoolOp) or is_not or (isinstance(node, ast.Compare) and _needs_value(node)):
            yield node, condition(node, names)
    yield from _of_items(parts, names)
    sizes = [id(size) for node in parts for size in _whole_numbers(node, names)]
    for node in parts:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and not node.keywords
            and id(node) not in sizes
        ):
            rewritten = _builtin(node.func.id, node.args, names)
            if rewritten:
                yield node, rewritten
    yield from _of_numbers(parts, names)


def _is_boolean(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether an expression is a boolean for sure, or a call, which may be one."""
    if isinstance(node, ast.BoolOp):
        return all(_is_boolean(one, names) for one in node.values)
    if isinstance(node, ast.Compare | ast.Call) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return True
    value = value_of(node, names)
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"


def _operand_of(node: ast.BoolOp, names: Mapping[str, Any]) -> str:
    """Write which operand `x or y` is; one that may be None is asked for None, as a default is."""
    *others, text = map(ast.unparse, node.values)
    may_be_none = any(value_of(one, names) is None for one in node.values)
    for other in reversed(others):
        first, second = (other, text) if isinstance(node.op, ast.Or) else (text, other)
        chosen = f"{first} if {other} is not None else {second}"
        text = chosen if may_be_none else f"jnp.where({other} != 0, {first}, {second})"
    return text


def _needs_value(comparison: ast.Compare) -> bool:
    """Return whether Python needs the value of a comparison: of a chain, or of `in`."""
    return len(comparison.ops) > 1 or isinstance(comparison.ops[0], ast.In | ast.NotIn)


def _whole_numbers(node: ast.expr, names: Mapping[str, Any]) -> Iterator[ast.expr]:
    """Yield the `int(...)` in a node that may be sizes or keys: the arguments of a call, and the item of a list."""
    arguments: list[ast.expr] = []
    if isinstance(node, ast.Call):
        arguments = [*node.args, *(one.value for one in node.keywords)]
    elif isinstance(node, ast.Subscript) and isinstance(_table(node.value, names), list | tuple | dict):
        arguments = [node.slice]
    inner = [part for one in arguments for part in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]
    yield from (one for one in inner if isinstance(one, ast.Call) and ast.unparse(one.func) == "int")


def _table(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression that may be a list or dictionary, written out or not; `MISSING` if unknown."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return value_of(node, names)


def _of_items(parts: list[ast.expr], names: Mapping[str, Any]) -> Iterator[tuple[ast.expr, str]]:
    """Yield items of lists and dictionaries of numbers: `numbers[i]`, `table[int(i)]`."""
    for node in parts:
        match node:
            case ast.Subscript(value=several, slice=ast.Call(func=ast.Name(id="int"), args=[index])):
                pass
            case ast.Subscript(value=several, slice=index) if is_traced(value_of(index, names)):
                pass
            case _:
                continue
        numbers, text = _table(several, names), ast.unparse(several)
        if isinstance(numbers, dict) and [*numbers] == [*range(len(numbers))]:
            numbers, text = [*numbers.values()], f"list({text}.values())"
        if isinstance(numbers, list | tuple) and _are_numbers(numbers):
            yield node, f"jnp.array({text})[{ast.unparse(index)}]"


def _of_numbers(parts: list[ast.expr], names: Mapping[str, Any]) -> Iterator[tuple[ast.expr, str]]:
    """Yield what computes with numbers: `math.exp(x)`, `x.item()` and `functions[i](x)`."""
    for node in parts:
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute(), keywords=[]):
                function = value_of(node.func, names)
                name = getattr(function, "__name__", "")
                texts = list(map(ast.unparse, node.args))
                if getattr(function, "__module__", "") == "math" and hasattr(jnp, name) and not _has_base(node):
                    yield node, f"jnp.{name}({', '.join(texts)})"
                elif isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
                    yield node, ast.unparse(node.func.value)
            case ast.Call(func=ast.Subscript(value=several, slice=index), keywords=[]):
                functions = value_of(several, names)
                if isinstance(functions, list | tuple) and all(map(callable, functions)):
                    texts = map(ast.unparse, [index, several, *node.args])
                    yield node, f"jax.lax.switch({', '.join(texts)})"


def _has_base(call: ast.Call) -> bool:
    """Return whether a call computes a logarithm to a given base. The functions of jax.numpy take no base."""
    return len(call.args) == _PAIR and "log" in ast.unparse(call.func)


def _are_numbers(values: Sequence[Any]) -> bool:
    """Return whether these are numbers, or arrays or lists of numbers of one shape."""
    if values and all(isinstance(one, list | tuple) for one in values):
        return len({len(one) for one in values}) == 1 and _are_numbers([part for one in values for part in one])
    known = all(isinstance(one, int | float | complex | np.ndarray | np.generic | jax.Array) for one in values)
    return known and len({np.shape(one) for one in values}) == 1


def _builtin(name: str, arguments: list[ast.expr], names: Mapping[str, Any]) -> str:
    if name in names and getattr(names[name], "__module__", "") != "builtins":
        return ""  # The user has defined a function with this name.
    texts = list(map(ast.unparse, arguments))
    if name in ("max", "min") and len(arguments) >= _PAIR:
        several = f"jnp.{name}(jnp.array([{', '.join(texts)}]))"
        return f"jnp.{name}imum({', '.join(texts)})" if len(arguments) == _PAIR else several
    match name, arguments:
        case "max" | "min" | "sum" | "any" | "all", [several]:
            return _reduced(name, several, names)
        case "sorted", [several]:
            return _reduced("sort", several, names)
        case "float" | "int" | "bool", [number]:
            return _number(name, number, names)
    return ""


def _number(name: str, argument: ast.expr, names: Mapping[str, Any]) -> str:
    """Write `float(x)` as an array; a tracer of such numbers stays as it is."""
    value, text = value_of(argument, names), ast.unparse(argument)
    is_one = is_traced(value) and value.dtype.kind == name[0]
    return text if is_one else f"jnp.asarray({text}).astype({name})"


def _reduced(name: str, argument: ast.expr, names: Mapping[str, Any]) -> str:
    """Write a reduction or `sort` of an array, or of a list of numbers; empty for a comprehension with a condition."""
    match argument:
        case ast.GeneratorExp() | ast.ListComp():
            if any(one.ifs for one in argument.generators):
                return ""
            return f"jnp.{name}(jnp.array({ast.unparse(ast.ListComp(argument.elt, argument.generators))}))"
    is_list = isinstance(argument, ast.List | ast.Tuple) or isinstance(value_of(argument, names), list | tuple)
    text = ast.unparse(argument)
    return f"jnp.{name}(jnp.array({text}))" if is_list else f"jnp.{name}({text})"


def replaced(statement: ast.stmt, changes: Mapping[ast.expr, str]) -> ast.stmt:
    """Return a copy of the statement in which the text of `changes` replaces each of its expressions."""
    expressions: dict[ast.AST, ast.expr] = {old: ast.parse(new, mode="eval").body for old, new in changes.items()}

    class Replacing(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            if node in expressions:
                return expressions[node]
            fields = {name: self._field(value) for name, value in ast.iter_fields(node)}
            return ast.copy_location(type(node)(**fields), node) if hasattr(node, "lineno") else type(node)(**fields)

        def _field(self, value: Any) -> Any:
            if isinstance(value, list):
                return [self._field(one) for one in value]
            return self.visit(value) if isinstance(value, ast.AST) else value

    return Replacing().visit(statement)


def checkified(statement: ast.stmt) -> list[str] | None:
    """Swap two transformations: `checkify(vmap(f))` -> `vmap(checkify(f))`; None if the statement has no such call."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and _called(node) == "checkify" and node.args:
            mapped = node.args[0]
            if isinstance(mapped, ast.Call) and _called(mapped) == "vmap" and mapped.args:
                inner = ast.Call(node.func, [mapped.args[0], *node.args[1:]], node.keywords)
                new = ast.unparse(ast.Call(mapped.func, [inner, *mapped.args[1:]], mapped.keywords))
                return ast.unparse(ast.fix_missing_locations(replaced(statement, {node: new}))).splitlines()
    return None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
