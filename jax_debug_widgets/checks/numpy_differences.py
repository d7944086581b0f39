"""Make findings about results that differ from NumPy's without an error: `nanargmin`, integers divided by 0 (S15)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets._jax.passes.numpy_differences import DIVISION
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.moments import moment
from jax_debug_widgets.checks.written import written_at
from jax_debug_widgets.events import Finding

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_DIVIDING = frozenset({"floor_divide", "divmod", "div"})
"""The functions of JAX that divide integers."""


def numpy_difference(seen: LineHits, name_file: NameFile) -> Finding | None:
    """Make the finding about a result that differs from NumPy's; None if the source shows no such operation."""
    frame = seen.checked.frames[0]
    written = written_at(frame)
    if written is None:
        return None
    where = f"{name_file(frame.file)}:{frame.line}"
    span = frame.line, frame.column, frame.end_line, frame.end_column
    fix: tuple[str, ...] = ()
    if seen.checked.primitive == DIVISION:
        division = _division(written.node)
        if not division and written.called not in _DIVIDING:
            return None
        shape = seen.checked.facts
        at = (
            f" at {[int(one) for one in np.unravel_index(seen.numbers[1 + seen.checked.loops], shape)]}"
            if shape
            else ""
        )
        headline = f"`{written.text}` divides an integer by 0{at}{moment(seen)}"
        why = "JAX raises no error, and an integer has no NaN: the result has no meaning. NumPy warns and gives 0."
        fix, advice = (
            division,
            "Where the divisor is 0 this divides by 1. Choose what is right there." if division else "",
        )
    else:
        headline = f"{seen.checked.primitive} of NaNs alone gives -1{moment(seen)}"
        why = "NumPy raises a ValueError there; in a compiled program -1 is read as the last element later on."
        advice = "jnp.isnan(x).all(axis) says where that is so."
    return Finding.at(Kind.NUMPY.word, where, headline, why, fix, advice, file=frame.file, span=span, seen=seen.count)


def _division(node: ast.expr) -> tuple[str, ...]:
    """Return a division that divides by 1 in place of 0; empty if the expression is none."""
    match node:
        case ast.BinOp(left=left, op=ast.FloorDiv() as operator, right=right):
            safe = ast.parse("jnp.where(divisor == 0, 1, divisor)", mode="eval").body
            return f"divisor = {ast.unparse(right)}", ast.unparse(ast.BinOp(left, operator, safe))
    return ()
