"""Explain errors that say that a value is needed while JAX traces: for a branch, a loop, a mask, a size or a text."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import jax

from jax_debug_widgets._jax.tracing.leaks import origin_of, within_derivatives
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.namespace import is_array, is_traced, value_of
from jax_debug_widgets.checks.raised import Raised, TextParts, head
from jax_debug_widgets.checks.rewrite.branches import branch
from jax_debug_widgets.checks.rewrite.expressions import expression, replaced
from jax_debug_widgets.checks.rewrite.in_place import in_place
from jax_debug_widgets.checks.rewrite.loops import for_loop, while_loop
from jax_debug_widgets.checks.rewrite.masks import boolean_mask, masked_update, sized
from jax_debug_widgets.checks.rewrite.stored import stored_outside
from jax_debug_widgets.checks.words import (
    ARGUMENT,
    ARGUMENT_OF_CALLER,
    BOTH_BRANCHES,
    CHECKED,
    COMPUTED,
    FORMAT,
    RETURNED,
    STORED,
    VARYING,
)


def mask(raised: Raised) -> TextParts:
    """Explain an array of booleans as an index: the number of its elements is not known while JAX traces."""
    assigned = in_place(raised.statement, raised.names)
    if assigned and "jnp.where" in assigned[0]:
        return TextParts(Kind.IN_PLACE, assigned)
    updated = masked_update(raised.statement, raised.names)
    return TextParts(Kind.SHAPE, updated or boolean_mask(raised.statement, raised.place.after, raised.names))


def unhashable(raised: Raised) -> TextParts:
    """Explain a tracer that is hashed: as a key, or in the object of a method that a loop or a branch is given."""
    functions: dict[ast.expr, str] = {}
    for node in ast.walk(raised.failing):
        for one in node.args if isinstance(node, ast.Call) else ():
            if isinstance(one, ast.Attribute) and _holds_tracers(value_of(one.value, raised.names)):
                functions[one] = f"lambda *args: {ast.unparse(one)}(*args)"
    if not functions:
        return concretized(raised)
    fix = ast.unparse(ast.fix_missing_locations(replaced(raised.statement, functions))).splitlines()
    return TextParts(Kind.HASHED, fix)


def _holds_tracers(owner: Any) -> bool:
    is_object = hasattr(owner, "__dict__") and not isinstance(owner, ModuleType | type)
    return is_object and not is_array(owner) and any(map(is_traced, jax.tree.leaves(owner)))


def concretized(raised: Raised) -> TextParts:
    """Explain an error about a value that was needed: for a branch or loop, for a size, or by Python."""
    statement, names = raised.statement, raised.names
    if type(raised.error) is jax.errors.ConcretizationTypeError and (by_size := sized(statement, raised.failing)):
        is_bound = any("=N" in line for line in by_size)
        return TextParts(
            Kind.SHAPE, by_size, advice="N is the largest number of elements that there can be." if is_bound else ""
        )
    after = raised.place.after
    if isinstance(statement, ast.Assert) or _only_raises(statement):
        return TextParts(Kind.CONTROL_FLOW, advice=CHECKED)
    if isinstance(statement, ast.If):
        fix = branch(statement, after, names)
        both = BOTH_BRANCHES if fix and "jnp.where" in fix[0] else ""
        setting = traced_argument(raised) if _may_be_setting(statement.test, names) else ""
        return TextParts(
            Kind.CONTROL_FLOW, fix, advice=" ".join(filter(None, (setting if "static" in setting else "", both)))
        )
    if isinstance(statement, ast.While | ast.For):
        is_while = isinstance(statement, ast.While)
        fix = while_loop(statement, after, names) if is_while else for_loop(statement, after, names)
        return TextParts(Kind.CONTROL_FLOW, fix, advice="" if fix else traced_argument(raised))
    if isinstance(statement, ast.Match) or _is_formatted(raised):
        return TextParts(
            Kind.CONTROL_FLOW, advice=traced_argument(raised) if isinstance(statement, ast.Match) else FORMAT
        )
    # A size is needed by a JAX function, which names the argument in the message; Python's `float` needs a value.
    of_python = r"problem arose with|\b(?:item|tolist)\(\) method"
    is_size = type(raised.error) is jax.errors.ConcretizationTypeError and not re.search(of_python, raised.text)
    kind = Kind.SHAPE if is_size else Kind.CONTROL_FLOW
    stored = stored_outside(statement, raised.failing, raised.place.function, names)
    if stored is not None:
        fix, advice = stored, STORED if stored else RETURNED
    else:
        fix, advice = expression(statement, names, raised.failing), traced_argument(raised)
        advice = advice if "static" in advice or not fix else ""
    return TextParts(kind, fix, advice=advice)


def ambiguous(raised: Raised) -> TextParts | None:
    """Explain a condition that is an array of several elements; None if it is not an array of JAX."""
    statement, names = raised.statement, raised.names
    tested = head(statement) if isinstance(statement, ast.If | ast.While) else raised.failing
    values = [value_of(node, names) for node in ast.walk(tested) if isinstance(node, ast.expr)]
    if not any(is_array(value) and value.ndim for value in values):
        return None
    is_block = isinstance(statement, ast.While | ast.For)
    is_choice = isinstance(statement, ast.If)
    fix = branch(statement, raised.place.after, names) if is_choice else expression(statement, names, raised.failing)
    is_for_each = bool(fix) and "jax.lax" not in "".join(fix) and not is_block
    return TextParts(Kind.TRUTH, fix if is_for_each else None)


def _may_be_setting(test: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether a condition asks for one argument that is no float: `train`, `not train`, `mode == 1`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() as name) | (ast.Name() as name):
            pass
        case ast.Compare(left=ast.Name() as name, comparators=[ast.Constant()]):
            pass
        case _:
            return False
    value: Any = names.get(name.id)
    return is_traced(value) and _is_number(value) and value.dtype.kind in "biu"


def _only_raises(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and all(isinstance(one, ast.Raise) for one in statement.body)


def _is_formatted(raised: Raised) -> bool:
    """Return whether the failing value is needed for a text: in an f-string, after `%`, in `format` or in `print`."""
    around = [
        node for node in ast.walk(raised.statement) if raised.failing is not node and raised.failing in ast.walk(node)
    ]
    for node in around:
        match node:
            case ast.JoinedStr() | ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
                return True
            case ast.Call(func=ast.Name(id="print")) | ast.Call(func=ast.Attribute(attr="format")):
                return True
    return False


def traced_argument(raised: Raised) -> str:
    """Name the argument that the failing value comes from, through earlier assignments; empty if there is none."""
    function = raised.place.function
    if function is None:
        return ""
    arguments = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    defined = {
        target.id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    todo: list[ast.AST] = [raised.failing]
    seen: set[str] = set()
    numbers: list[str] = []
    while todo:
        for node in ast.walk(todo.pop()):
            if isinstance(node, ast.Name) and node.id not in seen and is_traced(raised.names.get(node.id)):
                seen.add(node.id)
                if node.id in arguments:
                    numbers += [node.id] if _is_number(raised.names[node.id]) else []
                elif node.id in defined:
                    todo.append(defined[node.id])
    # Integers come first, because a size is usually an integer.
    numbers.sort(key=lambda name: raised.names[name].dtype.kind not in "iub")
    return _argument_text(numbers[0], raised.names[numbers[0]], function.name) if numbers else ""


def _argument_text(name: str, tracer: Any, function: str) -> str:
    """Say what an argument of a function is: the argument that a jitted function traces, or a value of a lane or step."""
    origin = origin_of(within_derivatives(tracer))
    if origin.by == "vmap":
        return VARYING.format(name=name, part="lane", by="jax.vmap")
    if origin.by and origin.by.startswith(("fori", "scan", "while")):
        return VARYING.format(name=name, part="step", by=f"jax.lax.{re.sub('_(cond|body)$', '_loop', origin.by)}")
    if origin.by != "jit" or origin.function == function:
        return ARGUMENT.format(name=name, function=function)
    traced = origin.function if origin.function.isidentifier() else "a function"
    if not origin.argument or traced != origin.function:
        return COMPUTED.format(name=name, function=traced)
    keyword = re.sub(r"^kwargs\['(\w+)'\]$", r"\1", origin.argument)
    setting = f"static_argnames={keyword!r}" if keyword.isidentifier() else "static_argnums=..."
    return ARGUMENT_OF_CALLER.format(name=name, argument=origin.argument, function=traced, setting=setting)


def _is_number(value: Any) -> bool:
    """Return whether a traced value is one number, and not an array or a PRNG key."""
    return value.ndim == 0 and not jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
