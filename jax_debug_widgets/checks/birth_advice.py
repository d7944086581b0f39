"""Advise what to write instead of an expression that makes a NaN or an infinity, or whose derivative makes one (S11)."""

from __future__ import annotations

import ast
import math
from collections.abc import Container

from jax_debug_widgets.checks.rewrite.names import unused
from jax_debug_widgets.checks.written import SourceExpression

Advice = tuple[tuple[str, ...], str]
"""The lines to write instead, which may be none, and a sentence: what to know about the lines, or what else to do."""

_EDGES = {"sqrt": "{x} > 0", "log": "{x} > 0"}
"""Function -> the condition under which its derivative is finite; at the edge of the domain it is infinite."""

_INSIDE = "-1 + 1e-6, 1 - 1e-6"
_CLIPPED = "The derivative is infinite at -1 and 1. Where the clip changes the argument the derivative is 0."

_MASK = (
    "A jnp.where around the result alone does not remove the infinite derivative: 0 * inf is NaN. Mask the "
    "argument as well."
)
_MASKED_ROW = (
    "Where all elements are -inf there is no finite result: leave one finite, or write a large negative number, -1e30, "
    "in place of -inf."
)
_TIED = (
    "Eigenvalues (for svd: singular values) are equal there, and the derivative of their vectors does not exist. Use only what "
    "depends on the values, such as jnp.linalg.eigvalsh, or break the tie: add small, different numbers to the diagonal."
)
_PRODUCT = (
    "0 * inf is NaN, in a derivative also where jnp.where leaves the product out. Mask the infinite factor itself."
)
_DIVIDED = "Where the divisor is 0 this divides by 1. Choose what is right there."
_FEW = "The sum of squares is divided by the number of elements minus ddof: take more elements than ddof, or a smaller ddof."
_OF_CALLED = {
    "log": "Of probabilities take jax.nn.log_softmax or logsumexp; x * log(x) is 0 at 0 as jax.scipy.special.xlogy(x, x).",
    "exp": "Subtract the maximum first, as jax.nn.softmax, logsumexp and softplus do; or clip the argument.",
    "cholesky": "The matrix is not positive definite. Add to its diagonal: a + 1e-6 * jnp.eye(a.shape[-1]).",
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp"), _MASKED_ROW),
}
"""Function -> what to do if it makes the NaN or infinity itself."""

_DOMAINS = {"sqrt": "jnp.maximum({x}, 0.0)", **dict.fromkeys(("arccos", "arcsin"), "jnp.clip({x}, -1.0, 1.0)")}
"""Function -> its argument, moved into the domain of the function."""


def for_derivative(written: SourceExpression, taken: Container[str]) -> Advice:
    """Say how to avoid a derivative that is not finite; `taken` are the names that the lines must not assign."""
    if known := _known(written, taken):
        return known
    x, is_safe = unused("x", taken), unused("is_safe", taken)
    match written.node:
        case ast.Call(func=function, args=[argument], keywords=[]) if written.called in _EDGES:
            edge, result = _EDGES[written.called], f"{ast.unparse(function)}({{}})"
        case ast.Call(args=[array], keywords=options) if written.called == "norm" and not _has_order(options):
            given = "".join(f", {ast.unparse(one)}" for one in options)
            argument = ast.parse(f"jnp.sum(jnp.square({ast.unparse(array)}){given})", mode="eval").body
            edge, result = "{x} > 0", "jnp.sqrt({})"
        case ast.Call(args=[array], keywords=options) if written.called == "std":
            given = "".join(f", {ast.unparse(one)}" for one in options)
            argument = ast.parse(f"jnp.var({ast.unparse(array)}{given})", mode="eval").body
            edge, result = "{x} > 0", "jnp.sqrt({})"
        case ast.BinOp(left=argument, op=ast.Pow(), right=ast.Constant(value=float(power))) if 0 < power < 1:
            edge, result = "{x} > 0", f"{{}} ** {power}"
        case _:
            return (), _MASK
    first = ()
    if isinstance(argument, ast.Name):
        x = argument.id
    else:
        first = (f"{x} = {ast.unparse(argument)}",)
    safe = result.format(f"jnp.where({is_safe}, {x}, 0.5)")
    return (*first, f"{is_safe} = {edge.format(x=x)}", f"jnp.where({is_safe}, {safe}, 0.0)"), _MASK


def _known(written: SourceExpression, taken: Container[str]) -> Advice | None:
    """Return the advice for a function with a derivative that needs more than a mask."""
    if written.called in ("softmax", "log_softmax", "logsumexp"):
        return (), _MASKED_ROW
    if written.called in ("eigh", "eig", "svd"):
        return (), _TIED
    match written.node:
        case ast.Call(args=[ast.Call(args=logits, keywords=options) as inner], keywords=[]) if (
            written.called == "log" and _called(inner) == "softmax"
        ):
            given = ", ".join(map(ast.unparse, [*logits, *options]))
            return (f"jax.nn.log_softmax({given})",), "It computes both at once, without the 0 between them."
        case ast.Call(func=function, args=[argument], keywords=[]) if written.called in ("arccos", "arcsin"):
            return (f"{ast.unparse(function)}(jnp.clip({ast.unparse(argument)}, {_INSIDE}))",), _CLIPPED
        case ast.Call(func=function, args=[one, other], keywords=[]) if written.called == "arctan2":
            y, x, is_safe = ast.unparse(one), ast.unparse(other), unused("is_safe", taken)
            call = f"{ast.unparse(function)}(jnp.where({is_safe}, {y}, 0.0), jnp.where({is_safe}, {x}, 1.0))"
            return (f"{is_safe} = ({y} != 0) | ({x} != 0)", call), "The angle of (0, 0) has no derivative: it gets 0."
    return None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _has_order(options: list[ast.keyword]) -> bool:
    return not {one.arg for one in options} <= {"axis", "keepdims"}


def for_value(written: SourceExpression, operands: list[float], dtype: str, taken: Container[str]) -> Advice:
    """Advise how to avoid a value that is not finite.

    Args:
      written: the expression that computed the value.
      operands: the operands of the operation; empty if they are not known.
      dtype: the name of the dtype of the value.
      taken: the names that the lines must not assign.
    """
    if dtype == "float16":
        return (), "float16 ends at 65504: compute this in float32 or bfloat16."
    known = _known(written, taken) if written.called == "arctan2" else None
    match written.node:
        case _ if known is not None:
            return known
        case ast.BinOp(left=left, op=ast.Div(), right=right) if operands[1:] == [0]:
            text, first = ast.unparse(right), ()
            if any(isinstance(one, ast.Call | ast.BinOp) for one in ast.walk(right)):
                divisor = unused("divisor", taken)
                first, text = (f"{divisor} = {text}",), divisor
            divided = ast.BinOp(left, ast.Div(), ast.parse(f"jnp.where({text} == 0, 1.0, {text})", mode="eval").body)
            return (*first, ast.unparse(divided)), _DIVIDED
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=float(power))) if 0 < power < 1:
            return for_derivative(written, taken)
        case ast.Call(func=function, args=[argument], keywords=[]) if written.called in _DOMAINS:
            text = f"{ast.unparse(function)}({_DOMAINS[written.called].format(x=ast.unparse(argument))})"
            return (), f"The argument is outside of the function's domain. If by rounding alone: {text}."
    is_product = isinstance(written.node, ast.BinOp) and isinstance(written.node.op, ast.Mult)
    is_zero_times_inf = is_product and 0 in operands and any(map(math.isinf, operands))
    is_of_few = written.called in ("var", "std") and operands[1:] == [0]
    return (), _PRODUCT if is_zero_times_inf else _FEW if is_of_few else _OF_CALLED.get(written.called, "")
