"""Make findings about the lines where NaNs and infinities arose ("were born") while a program ran (S11)."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets._jax.passes.births import ARGUMENTS, HAS_NAN, OF_FINITE, Birth
from jax_debug_widgets._jax.passes.derivative_records import DERIVATIVE
from jax_debug_widgets._jax.passes.words import numbers_of_words
from jax_debug_widgets.checks.birth_advice import for_derivative, for_value
from jax_debug_widgets.checks.definitions import span_of_argument
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.moments import moment
from jax_debug_widgets.checks.statement import names_around
from jax_debug_widgets.checks.written import SourceExpression, written_at
from jax_debug_widgets.events import Finding
from jax_debug_widgets.events.amounts import plural

if TYPE_CHECKING:
    from jax_debug_widgets._jax.passes.nan_arguments import ArgumentRecord
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_LONGEST = 40
"""The most characters of an expression in a headline."""

_ROUNDED = 0.01
"""The relative error of a number in the shortest float type, bfloat16."""


def born(seen: LineHits, name_file: NameFile) -> Finding | None:
    """Make the finding about a NaN or infinity that arose at a line.

    It is None if the source of the line is unknown, or if the line is a call that sets `mode` for indices out of bounds.
    """
    frame = seen.checked.frames[0]
    if seen.checked.primitive == ARGUMENTS:
        return _given(seen, name_file)
    if seen.checked.primitive == DERIVATIVE:
        return _of_derivative(seen, name_file)
    written = written_at(frame)
    if written is None or written.sets_mode:
        return None
    facts: Birth = seen.checked.facts
    own = seen.numbers[1 + seen.checked.loops :]
    kind, position, *words, others = own
    result, *values = numbers_of_words(facts.kinds, words)
    at = [int(one) for one in np.unravel_index(position, facts.shape)] if facts.shape else []
    lanes = [at[lane] for lane in facts.lanes]
    where = f"{name_file(frame.file)}:{frame.line}"
    text = written.text if len(written.text) <= _LONGEST else f"{written.text[:_LONGEST]}..."
    value = _text(result)
    derived = _is_derived(seen.checked.primitive, facts, written, values)
    what = f"`{text}` is {value}"
    if derived:
        what = f"the derivative of `{text}` is {'infinite' if math.isinf(result) else value}"
    elif derived is None:
        what = f"`{text}`, or its derivative, has {value}"
    headline = f"{what}{moment(seen, lanes)}"
    element = f" at {at}" if at else ""
    computed = (
        f"{seen.checked.primitive}({', '.join(map(_text, values))}) = {value}{element}"
        if values
        else f"{seen.checked.primitive} of {'finite' if kind == OF_FINITE else 'infinite'} numbers gives {value}{element}"
    )
    follow = f" In the same call {plural(others, 'other line')} had such values." if others else ""
    why = f"{computed}.{follow}"
    taken = names_around(frame.file, frame.line)
    fix, advice = for_derivative(written, taken) if derived else for_value(written, values, facts.kinds[0], taken)
    span = frame.line, frame.column, frame.end_line, frame.end_column
    return Finding.at(
        *(Kind.NONFINITE.word, where, headline, why, fix, advice),
        file=frame.file,
        span=span,
        seen=seen.count,
        lane=tuple(lanes),
    )


def is_infinite_argument(seen: LineHits) -> bool:
    """Return whether a record is about arguments with infinities, which may be intended, and none of them has NaN."""
    return seen.checked.primitive == ARGUMENTS and seen.numbers[-1] != HAS_NAN


def makes_residual(seen: LineHits) -> bool:
    """Return whether an un-jitted derivative, in its forward pass, made an infinity, which its backward pass may read."""
    facts = seen.checked.facts
    is_forward = isinstance(facts, Birth) and facts.unjitted and not facts.backward
    return is_forward and _kind_of(seen) == OF_FINITE


def is_of_residual(seen: LineHits) -> bool:
    """Return whether the backward pass of an un-jitted derivative made a NaN from an infinity that it did not make itself."""
    facts = seen.checked.facts
    is_backward = isinstance(facts, Birth) and facts.unjitted and facts.backward
    return is_backward and _kind_of(seen) != OF_FINITE


def _kind_of(seen: LineHits) -> int:
    return seen.numbers[1 + seen.checked.loops]


def with_argument(finding: Finding, given: LineHits) -> Finding:
    """Add to the finding about a NaN made from infinities that an argument was infinite when its function was called.

    The finding loses its advice.
    """
    facts: ArgumentRecord = given.checked.facts
    also = f"Argument `{facts.names[given.numbers[1]]}` of `{facts.function}` arrives with infinite numbers."
    return finding.saying(also, advice="")  # The values to mask come from outside the program.


def with_later(finding: Finding, later: Finding) -> Finding:
    """Add to an earlier finding that a later call, with infinities in an argument, made a NaN from them."""
    return finding.saying(f"Then {later.where}: {later.headline}.")


def _given(seen: LineHits, name_file: NameFile) -> Finding:
    """Make the finding about an argument that is not finite when its function is called."""
    facts: ArgumentRecord = seen.checked.facts
    frame = seen.checked.frames[0]
    span = span_of_argument(frame.file, frame.line, facts.names[seen.numbers[1]])
    count, first, state = seen.numbers
    has = "NaN" if state == HAS_NAN else "infinite numbers"
    headline = f"argument `{facts.names[first]}` of `{facts.function}` arrives with {has}{moment(seen)}"
    why = f"A result has NaN{' as well' * (state == HAS_NAN)}; it may come from the argument and not from this program."
    if count > 1:
        why = f"{plural(count, 'argument')} have {has}. {why}"
    where = f"{name_file(frame.file)}:{span[0]}"
    return Finding.at(Kind.NONFINITE.word, where, headline, why, file=frame.file, span=span, seen=seen.count)


def _of_derivative(seen: LineHits, name_file: NameFile) -> Finding:
    """Make the finding about an un-jitted derivative in which no operation made the NaN or infinity."""
    frame = seen.checked.frames[0]
    what = "gradient" if seen.checked.facts else "differentiated function"
    headline = f"a result of this {what} is not finite{moment(seen)}"
    why = (
        "Its arguments are finite, and no operation on them made the NaN or infinity. So another value that the function "
        "reads has it already: an argument that is not differentiated, a global, or a value computed from these."
    )
    advice = "Call jax.jit(jax.grad(f)) or jax.jit(jax.value_and_grad(f)): then `nonfinite` checks these values, too."
    where, span = f"{name_file(frame.file)}:{frame.line}", (frame.line, frame.column, frame.end_line, frame.end_column)
    return Finding.at(
        Kind.NONFINITE.word, where, headline, why, (), advice, file=frame.file, span=span, seen=seen.count
    )


_PRIMITIVES: dict[type[ast.AST] | str, set[str]] = {
    ast.Div: {"div"},
    ast.Pow: {"pow", "integer_pow", "square", "mul"},
    ast.Mult: {"mul"},
    ast.Add: {"add", "add_any"},
    ast.Sub: {"sub"},
    ast.MatMult: {"dot_general"},
    "power": {"pow", "integer_pow"},
    "arccos": {"acos", "arccos"},
    "arcsin": {"asin", "arcsin"},
    "divide": {"div"},
    "dot": {"dot_general"},
    "sum": {"reduce_sum"},
    "norm": {"sqrt", "reduce_sum", "mul", "integer_pow", "square", "abs"},
    "softmax": {"sub", "exp", "reduce_sum", "div"},
    "logsumexp": {"sub", "exp", "reduce_sum", "log", "add"},
    "log_softmax": {"sub", "exp", "reduce_sum", "log", "add"},
    "std": {"reduce_sum", "sub", "square", "sqrt"},
}
"""Operator or name of a function -> the primitives that it computes, where the function's name is not theirs."""


def _is_derived(primitive: str, facts: Birth, written: SourceExpression, values: Sequence[float]) -> bool | None:
    """Return whether an operation is part of the derivative of a line, not of the line itself; None if unknown.

    `values` are the operands of the operation, as far as they are known.
    """
    if not facts.backward and not facts.differentiated:
        return False
    node = written.node
    kind = type(node.op) if isinstance(node, ast.BinOp) else written.called
    own = _PRIMITIVES.get(kind, {str(kind)})
    if facts.backward:  # A line that runs only in the backward pass may be in a derivative rule of the user.
        return None if primitive in own and not facts.forward_too else True
    if kind in (ast.Pow, "power") and primitive in own:  # The derivative of a power is a power, too.
        match node:
            case ast.BinOp(right=ast.Constant(value=float(exponent))) if primitive == "pow" and len(values) > 1:
                return not math.isclose(values[1], exponent, rel_tol=_ROUNDED)
        return None
    return primitive not in own if own & facts.beside else None


def _text(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.6g}"
