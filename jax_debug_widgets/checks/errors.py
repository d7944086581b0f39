"""Explain an exception that JAX raised, at the user's line, and rewrite that line.

JAX's public error types are in `jax.errors`; other errors are recognized by their text.

Errors that a value is needed while tracing are in `needed_values`, errors about types in `type_errors`, errors about
values that are used outside of their time in `lifetimes`.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax

from jax_debug_widgets.checks.explanation import Explanation
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.leaks import trace_is_over
from jax_debug_widgets.checks.lifetimes import deleted, donated_twice, leak, outer_state
from jax_debug_widgets.checks.namespace import is_array, value_of
from jax_debug_widgets.checks.needed_values import ambiguous, concretized, mask, traced_argument, unhashable
from jax_debug_widgets.checks.raised import Raised, TextParts, head
from jax_debug_widgets.checks.rewrite.expressions import checkified
from jax_debug_widgets.checks.rewrite.in_place import by_method, copied, in_place, of_frozen, without_out
from jax_debug_widgets.checks.rewrite.lists import list_argument
from jax_debug_widgets.checks.rewrite.numpy_calls import numpy_calls
from jax_debug_widgets.checks.rewrite.slices import known_lengths
from jax_debug_widgets.checks.statement import place_at
from jax_debug_widgets.checks.type_errors import (
    branches,
    carry,
    no_array,
    no_pair,
    overflow,
    static,
    uncalled,
    unpacked,
)
from jax_debug_widgets.checks.words import (
    FORMAT,
    KNOWN_LENGTH,
    READ_ONLY,
    SLICE,
    WORDS,
)
from jax_debug_widgets.watch import is_library

_OUR_FILES = os.path.dirname(os.path.dirname(__file__)) + os.sep

_LONGEST_CODE = 48
"""The most characters of code in a headline."""


def explain(error: BaseException, name_file: Callable[[str], str] = os.path.basename) -> Explanation | None:
    """Explain an exception that has a traceback.

    Args:
      error: the exception.
      name_file: returns the name of a file for people, such as `In [3]`.

    Returns:
      None if no function explains the exception, or if its traceback has no frame of the user.
    """
    matched = _kind_of(error)
    frame = _user_frame(error) if matched else None
    if matched is None or frame is None:
        return None
    frame_object, position = frame
    line, column = position.lineno or 0, -1 if position.colno is None else position.colno
    place = place_at(position.filename, line, column)
    if place is None:
        return None
    failing = next((one for one in ast.walk(place.statement) if _range(one) == _range(position)), place.statement)
    raised = Raised(error, place, failing, {**frame_object.f_globals, **frame_object.f_locals}, name_file)
    parts = leak(raised) if trace_is_over(error) else matched(raised)
    return None if parts is None else _explanation(parts, raised, position)


def _range(place: Any) -> tuple[int | None, ...]:
    """Return the source range of a node, or of a frame's position."""
    columns = ("col_offset", "end_col_offset") if isinstance(place, ast.AST) else ("colno", "end_colno")
    return tuple(getattr(place, name, None) for name in ("lineno", "end_lineno", *columns))


def _explanation(parts: TextParts, raised: Raised, position: traceback.FrameSummary) -> Explanation:
    words = WORDS[parts.kind]
    shown = head(raised.statement)
    part = shown if parts.kind is Kind.IN_PLACE or not isinstance(raised.failing, ast.expr) else raised.failing
    code = _written(position.filename, part)
    names = {"code": _short(code), "names": parts.names or "an argument"}
    fix = _parsed(parts.fix)
    advice = parts.advice or ("" if fix else words.advice.format(**names))
    known = shown if parts.fix else None
    return Explanation(
        parts.kind,
        position.filename,
        known.lineno if known else position.lineno or 0,
        known.col_offset if known else _or_unknown(position.colno),
        (known.end_lineno if known else position.end_lineno) or position.lineno or 0,
        _or_unknown(known.end_col_offset if known else position.end_colno),
        words.headline.format(**names),
        words.why,
        fix,
        advice,
    )


def _or_unknown(column: int | None) -> int:
    return -1 if column is None else column


def _written(file: str, node: ast.stmt | ast.expr) -> str:
    """Return the source of a node as the user has written it."""
    return ast.get_source_segment("".join(linecache.getlines(file)), node) or ast.unparse(node)


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= _LONGEST_CODE else f"{line[: _LONGEST_CODE - 1]}…"


def _parsed(lines: list[str] | None) -> tuple[str, ...]:
    """Return the lines if they are valid Python, else an empty tuple."""
    if not lines:
        return ()
    try:
        # Wrapped in a function, so that `return` is allowed.
        ast.parse("def f():\n" + "\n".join(f"    {line}" for line in lines))
    except SyntaxError:
        return ()
    return tuple(lines)


def _user_frame(error: BaseException) -> tuple[FrameType, traceback.FrameSummary] | None:
    found = None
    walked = list(traceback.walk_tb(error.__traceback__))
    for (frame, _), summary in zip(walked, traceback.extract_tb(error.__traceback__), strict=False):
        # Methods that `dataclasses` generates have no source. Their file has the name of the source of `python -c`.
        is_known = bool(linecache.getlines(summary.filename)) and not (found and summary.filename == "<string>")
        if is_known and not (is_library(summary.filename) or summary.filename.startswith(_OUR_FILES)):
            found = frame, summary
    return found


# ---------------------------------------------------------------- the function that explains an exception
def _kind_of(error: BaseException) -> Callable[[Raised], TextParts | None] | None:
    for types, text, matched in _ERRORS:
        if isinstance(error, types) and re.search(text, str(error)):
            return matched
    return None


def _in_place(raised: Raised) -> TextParts:
    return TextParts(Kind.IN_PLACE, in_place(raised.statement, raised.names))


def _deleted_item(raised: Raised) -> TextParts | None:
    targets = raised.statement.targets if isinstance(raised.statement, ast.Delete) else []
    of_arrays = (isinstance(one, ast.Subscript) and is_array(value_of(one.value, raised.names)) for one in targets)
    return _in_place(raised) if any(of_arrays) else None


def _read_only(raised: Raised) -> TextParts | None:
    fix = copied(raised.statement, raised.names)
    return TextParts(Kind.IN_PLACE, fix, advice=READ_ONLY) if fix else None


def _changing_method(raised: Raised) -> TextParts | None:
    fix = by_method(raised.statement, raised.names)
    return TextParts(Kind.IN_PLACE, fix) if fix else None


def _frozen(raised: Raised) -> TextParts | None:
    fix = of_frozen(raised.statement, raised.names)
    return TextParts(Kind.FROZEN, fix) if fix else None


def _out(raised: Raised) -> TextParts:
    return TextParts(Kind.IN_PLACE, without_out(raised.statement))


def _sliced(raised: Raised) -> TextParts:
    fix = in_place(raised.statement, raised.names) or known_lengths(raised.statement, raised.names)
    if fix:
        return TextParts(Kind.SHAPE, fix, advice=KNOWN_LENGTH)
    return TextParts(Kind.SHAPE, advice=" ".join(filter(None, (traced_argument(raised), SLICE))))


def _by_numpy(raised: Raised) -> TextParts:
    if isinstance(raised.statement, ast.If | ast.While) and (found := concretized(raised)).fix:
        return TextParts(Kind.NUMPY_CALL, found.fix, advice=found.advice)
    return TextParts(Kind.NUMPY_CALL, numpy_calls(raised.statement, raised.names))


def _list(raised: Raised) -> TextParts:
    def is_list(node: ast.expr) -> bool:
        literal = isinstance(node, ast.List | ast.Tuple | ast.ListComp)
        return literal or isinstance(value_of(node, raised.names), list | tuple)

    return TextParts(Kind.LIST, list_argument(raised.statement, raised.failing, is_list))


_ITERATOR = (
    r"(?:iterator|generator|count|zip|map|enumerate)( object)?\b.*"
    r"(?:is not a valid JAX type|no leading axis to scan|passed to the function at path)"
)
"""The pattern of JAX's message about an iterator."""

_ARRAY = r"'(?:[\w.]*Tracer|(?:jaxlib\._jax\.)?ArrayImpl)'"

_LIST = (
    r"requires ndarray or scalar arguments|Using a non-tuple sequence for multidimensional indexing|"
    rf"(?:unsupported operand|not supported between).*(?:{_ARRAY} and '(?:list|tuple)'|'(?:list|tuple)' and {_ARRAY})"
)
"""The pattern of JAX's and Python's messages about a list where an array belongs."""

_ERRORS: tuple[tuple[tuple[type[BaseException], ...], str, Callable[[Raised], TextParts | None]], ...] = (
    (
        (TypeError,),
        r"do not support in-place item|'[\w.]*(?:Tracer|ArrayImpl)' object does not support item",
        _in_place,
    ),
    ((AttributeError,), r"^__delitem__$", _deleted_item),
    ((AttributeError,), r"^cannot assign to field", _frozen),
    ((AttributeError,), r"(?:ArrayImpl' object|Tracer) has no attribute '?(?:fill|append|put)\b", _changing_method),
    ((ValueError,), r"^(?:assignment destination|output array|sort array) is read-only", _read_only),
    ((NotImplementedError,), r"^(?:out argument of|The 'out' argument to) ", _out),
    ((jax.errors.NonConcreteBooleanIndexError,), "", mask),
    ((ValueError,), r"^The truth value of an array with more than one element is ambiguous", ambiguous),
    (
        (TypeError,),
        r"^cond_fun must return a boolean scalar, but got output type\(s\) \[\S*\[\d",
        lambda _raised: TextParts(Kind.TRUTH),
    ),
    (
        (TypeError,),
        r"^Pred must be a scalar, got [\s\S]* of shape \(\d",
        lambda _raised: TextParts(Kind.TRUTH),
    ),
    ((jax.errors.TracerArrayConversionError,), "", _by_numpy),
    ((jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError), "", concretized),
    ((jax.errors.ConcretizationTypeError,), "", concretized),
    ((jax.errors.UnexpectedTracerError,), "", leak),
    ((Exception,), r"^Cannot (?:mutate|extract) .* from (?:a )?different trace level", outer_state),
    ((TypeError,), r"unhashable type: '\w*Tracer'", unhashable),
    (
        (TypeError,),
        r"unsupported format string passed to \w*Tracer|format: a real number is required, not \w*Tracer",
        lambda _raised: TextParts(Kind.CONTROL_FLOW, advice=FORMAT),
    ),
    (
        (TypeError,),
        r"^(?:cond|switch) branch(?:es must have equal output types| outputs must have the same)",
        branches,
    ),
    ((TypeError,), r"true_fun and false_fun arguments should be callable", uncalled),
    ((TypeError,), r"^iteration over a 0-d array", unpacked),
    (
        (OverflowError,),
        r"An overflow was encountered while parsing an argument|Python int\w* \d+ (?:too|out)",
        overflow,
    ),
    (
        (TypeError,),
        r"Shapes must be 1D sequences of concrete values",
        lambda raised: TextParts(Kind.SHAPE, advice=traced_argument(raised)),
    ),
    (
        (TypeError,),
        r"parameters to jaxpr equations must have __hash__[\s\S]*Tracer",
        lambda raised: TextParts(Kind.SHAPE, advice=traced_argument(raised)),
    ),
    ((IndexError,), r"slice indices must have static start/stop/step|Slice entries must be static integers", _sliced),
    ((TypeError,), _LIST, _list),
    ((TypeError, ValueError), _ITERATOR, lambda _raised: TextParts(Kind.ITERATOR_OPERAND)),
    ((TypeError,), r"Error interpreting argument to .* as an abstract array", no_array),
    ((TypeError,), r"carry input and carry output must have|body_fun output and input must have", carry),
    ((TypeError,), r"^scan body output must be a pair", no_pair),
    (
        (ValueError,),
        r"[Cc]heckify-of-vmap-of-while",
        lambda raised: TextParts(Kind.CHECKIFY, checkified(raised.statement)),
    ),
    ((ValueError,), r"Non-hashable static arguments", static),
    ((RuntimeError, ValueError), r"Array has been deleted|[Bb]uffer has been deleted or donated", deleted),
    ((RuntimeError, ValueError), r"donate the same buffer twice", donated_twice),
    ((jax.errors.KeyReuseError,), "", lambda _raised: TextParts(Kind.KEY_REFUSED)),
)
"""Types of an exception, a pattern of its text, and the function that explains it; the first match counts."""
