"""Explain an exception that JAX raised, at the user's line, and rewrite that line.

JAX's public error types are in `jax.errors`; other errors are recognized by their text.

It has more than 300 lines because each kind of exception has a function of a few lines here, in one table.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import jax

from jax_debug_widgets.checks.explanation import Explanation
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.leaks import trace_is_over, where_from
from jax_debug_widgets.checks.namespace import MISSING, is_array, is_traced, leaves_of, value_of
from jax_debug_widgets.checks.rewrite.branches import branch
from jax_debug_widgets.checks.rewrite.expressions import checkified, expression, list_argument
from jax_debug_widgets.checks.rewrite.in_place import by_method, copied, in_place, without_out
from jax_debug_widgets.checks.rewrite.loops import for_loop, while_loop
from jax_debug_widgets.checks.rewrite.masks import boolean_mask, sized
from jax_debug_widgets.checks.rewrite.numpy_calls import numpy_calls
from jax_debug_widgets.checks.statement import PlacedStatement, place_at
from jax_debug_widgets.checks.words import (
    ARGUMENT,
    BOTH_BRANCHES,
    CHECKED,
    FORMAT,
    PAIR,
    READ_ONLY,
    SLICE,
    STRUCTURE,
    WORDS,
)
from jax_debug_widgets.watch import is_library

_OUR_FILES = os.path.dirname(os.path.dirname(__file__)) + os.sep

_LONGEST_CODE = 48
"""The most characters of code in a headline."""


@dataclass(frozen=True)
class _Raised:
    """An exception, with the innermost user frame that it passed through; `failing` is the node that was computed."""

    error: BaseException
    place: PlacedStatement
    failing: ast.AST
    names: Mapping[str, Any]
    name_file: Callable[[str], str]

    @property
    def text(self) -> str:
        return str(self.error)

    @property
    def statement(self) -> ast.stmt:
        return self.place.statement


@dataclass(frozen=True)
class _Said:
    """The parts that fill in the texts of a kind."""

    kind: Kind
    fix: list[str] | None = None
    names: str = ""
    advice: str = ""


def explain(error: BaseException, name_file: Callable[[str], str] = os.path.basename) -> Explanation | None:
    """Explain an exception that has a traceback.

    Args:
      error: the exception.
      name_file: gives the name by which people know a file, such as `In [3]`.

    Returns:
      None if the exception is not of a known kind, or if its traceback has no user frame.
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
    raised = _Raised(error, place, failing, {**frame_object.f_globals, **frame_object.f_locals}, name_file)
    said = _leak(raised) if trace_is_over(error) else matched(raised)
    return None if said is None else _explanation(said, raised, position)


def _range(place: Any) -> tuple[int | None, ...]:
    """Return the source range of a node, or of a frame's position."""
    columns = ("col_offset", "end_col_offset") if isinstance(place, ast.AST) else ("colno", "end_colno")
    return tuple(getattr(place, name, None) for name in ("lineno", "end_lineno", *columns))


def _explanation(said: _Said, raised: _Raised, position: traceback.FrameSummary) -> Explanation:
    words = WORDS[said.kind]
    head = _head(raised.statement)
    names = {"code": _short(_written(position.filename, head)), "names": said.names or "an argument"}
    fix = _parsed(said.fix)
    advice = said.advice or ("" if fix else words.advice.format(**names))
    known = head if said.fix else None
    return Explanation(
        said.kind,
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


def _head(statement: ast.stmt) -> ast.stmt | ast.expr:
    """Return the part of a statement to show: for a compound statement its head."""
    if isinstance(statement, ast.If | ast.While):
        return statement.test
    if isinstance(statement, ast.Match):
        return statement.subject
    return statement.iter if isinstance(statement, ast.For) else statement


def _written(file: str, node: ast.stmt | ast.expr) -> str:
    """Return the source of a node as the user has written it."""
    return ast.get_source_segment("".join(linecache.getlines(file)), node) or ast.unparse(node)


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= _LONGEST_CODE else f"{line[: _LONGEST_CODE - 1]}…"


def _parsed(lines: list[str] | None) -> tuple[str, ...]:
    """Return the lines if they are valid Python, else none."""
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
        if not (is_library(summary.filename) or summary.filename.startswith(_OUR_FILES)):
            found = frame, summary
    return found


# ---------------------------------------------------------------- which exceptions
def _kind_of(error: BaseException) -> Callable[[_Raised], _Said | None] | None:
    for types, text, matched in _ERRORS:
        if isinstance(error, types) and re.search(text, str(error)):
            return matched
    return None


def _in_place(raised: _Raised) -> _Said:
    return _Said(Kind.IN_PLACE, in_place(raised.statement, raised.names))


def _deleted_item(raised: _Raised) -> _Said | None:
    targets = raised.statement.targets if isinstance(raised.statement, ast.Delete) else []
    of_arrays = (isinstance(one, ast.Subscript) and is_array(value_of(one.value, raised.names)) for one in targets)
    return _in_place(raised) if any(of_arrays) else None


def _read_only(raised: _Raised) -> _Said | None:
    fix = copied(raised.statement, raised.names)
    return _Said(Kind.IN_PLACE, fix, advice=READ_ONLY) if fix else None


def _changing_method(raised: _Raised) -> _Said | None:
    fix = by_method(raised.statement, raised.names)
    return _Said(Kind.IN_PLACE, fix) if fix else None


def _out(raised: _Raised) -> _Said:
    return _Said(Kind.IN_PLACE, without_out(raised.statement))


def _mask(raised: _Raised) -> _Said:
    assigned = in_place(raised.statement, raised.names)
    if assigned and "jnp.where" in assigned[0]:
        return _Said(Kind.IN_PLACE, assigned)
    return _Said(Kind.SHAPE, boolean_mask(raised.statement, raised.place.after, raised.names))


def _concretized(raised: _Raised) -> _Said:
    """Handle an error that says that a value was needed: for a branch or loop, for a size, or by NumPy."""
    statement, names = raised.statement, raised.names
    if type(raised.error) is jax.errors.ConcretizationTypeError and (by_size := sized(statement, raised.failing)):
        return _Said(Kind.SHAPE, by_size, advice="N is the largest number of elements that there can be.")
    after = raised.place.after
    if isinstance(statement, ast.If):
        fix = branch(statement, after, names)
        by_where = bool(fix) and "jnp.where" in fix[0]
        return _Said(Kind.CONTROL_FLOW, fix, advice=BOTH_BRANCHES if by_where else "")
    if isinstance(statement, ast.While | ast.For):
        is_while = isinstance(statement, ast.While)
        fix = while_loop(statement, after, names) if is_while else for_loop(statement, after, names)
        return _Said(Kind.CONTROL_FLOW, fix, advice="" if fix else _traced_argument(raised))
    if isinstance(statement, ast.Match | ast.Assert):
        advice = _traced_argument(raised) if isinstance(statement, ast.Match) else CHECKED
        return _Said(Kind.CONTROL_FLOW, advice=advice)
    if _is_formatted(raised):
        return _Said(Kind.CONTROL_FLOW, advice=FORMAT)
    # A size is needed by a JAX function, which names the argument in the message; Python's `float` needs a value.
    of_python = r"problem arose with|\b(?:item|tolist)\(\) method"
    is_size = type(raised.error) is jax.errors.ConcretizationTypeError and not re.search(of_python, raised.text)
    kind = Kind.SHAPE if is_size else Kind.CONTROL_FLOW
    return _Said(kind, expression(statement, names, raised.failing), advice=_traced_argument(raised))


def _ambiguous(raised: _Raised) -> _Said | None:
    """Handle an array of several elements that is a condition; None if it is not an array of JAX."""
    statement, names = raised.statement, raised.names
    tested = _head(statement) if isinstance(statement, ast.If | ast.While) else raised.failing
    values = [value_of(node, names) for node in ast.walk(tested) if isinstance(node, ast.expr)]
    if not any(is_array(value) and value.ndim for value in values):
        return None
    is_block = isinstance(statement, ast.While | ast.For)
    is_choice = isinstance(statement, ast.If)
    fix = branch(statement, raised.place.after, names) if is_choice else expression(statement, names, raised.failing)
    is_for_each = bool(fix) and "jax.lax" not in "".join(fix) and not is_block
    return _Said(Kind.TRUTH, fix if is_for_each else None)


def _is_formatted(raised: _Raised) -> bool:
    """Return whether the failing value is needed for a text: in an f-string, after `%`, or as an argument of `print`."""
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


def _sliced(raised: _Raised) -> _Said:
    return _Said(Kind.SHAPE, advice=" ".join(filter(None, (_traced_argument(raised), SLICE))))


def _by_numpy(raised: _Raised) -> _Said:
    return _Said(Kind.NUMPY_CALL, numpy_calls(raised.statement, raised.names))


def _list(raised: _Raised) -> _Said:
    def is_list(node: ast.expr) -> bool:
        literal = isinstance(node, ast.List | ast.Tuple | ast.ListComp)
        return literal or isinstance(value_of(node, raised.names), list | tuple)

    return _Said(Kind.LIST, list_argument(raised.statement, raised.failing, is_list))


def _leak(raised: _Raised) -> _Said:
    held = where_from(raised.error, list(_leaves(raised)), raised.name_file)
    return _Said(Kind.LEAK, advice=f"{held} {WORDS[Kind.LEAK].advice}" if held else "")


def _deleted(raised: _Raised) -> _Said:
    gone = dict.fromkeys(name for name, leaf in _leaves(raised) if not is_traced(leaf) and leaf.is_deleted())
    verb = "were" if len(gone) > 1 else "was"
    return _Said(Kind.DONATED, names=f"{', '.join(f'`{name}`' for name in gone) or 'an array here'} {verb}")


def _donated_twice(raised: _Raised) -> _Said:
    by_identity: dict[int, list[str]] = {}
    for name, leaf in _leaves(raised):
        by_identity.setdefault(id(leaf), []).append(name)
    same = next((list(dict.fromkeys(names)) for names in by_identity.values() if len(set(names)) > 1), [])
    return _Said(Kind.DONATED_TWICE, names=" and ".join(f"`{name}`" for name in same) or "two arguments here")


def _leaves(raised: _Raised) -> Iterator[tuple[str, Any]]:
    """Yield the arrays that the statement names, each once, with the longest expression in the source for it."""
    outermost = [node for node in _named(raised.statement) if value_of(node, raised.names) is not MISSING]
    for node in outermost:
        yield from leaves_of(node, raised.names)


def _named(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        yield node
        if isinstance(node, ast.Name):
            return
    for child in ast.iter_child_nodes(node):
        yield from _named(child)


_TYPE = r"[^\s,\[]+(?:\[[^\]]*\])?"
"""The pattern of a type in JAX's messages: `float32[2,3]`."""

_CARRY = re.compile(
    rf"The input carry (?:component )?(\S+) has type ({_TYPE}) but the corresponding output carry component has type ({_TYPE})"
)


_STRUCTURE = re.compile(
    r"The input carry (?:component )?(\S+) is an? (.+?) but the corresponding component of the carry output is an? (.+?), so|"
    r"the input tree structure is:\s+()PyTreeDef\((.*)\)\s+the output tree structure is:\s+PyTreeDef\((.*)\)"
)


def _carry(raised: _Raised) -> _Said:
    changed = [f"`{name}` {before} → {after}" for name, before, after in _CARRY.findall(raised.text)]
    structures = [
        f"{_carried(one[0])}{_structure(one[1] or one[4])} → {_structure(one[2] or one[5])}"
        for one in _STRUCTURE.findall(raised.text)
    ]
    words = ", ".join([*changed, *structures]) or "see JAX's message"
    begins = [f"`{name}` with jnp.full({shape}, ..., jnp.{dtype})" for name, shape, dtype in _begins(raised.text)]
    advice = f"{WORDS[Kind.CARRY].advice.format(names=words)} For example {', '.join(begins)}." if begins else ""
    return _Said(Kind.CARRY, names=words, advice=STRUCTURE if structures else advice)


def _carried(name: str) -> str:
    """Write the name of a carry; the carry of a `fori_loop` has no name of the user's."""
    return f"`{name}` " if name and not name.startswith("loop_carry") else ""


def _structure(words: str) -> str:
    """Write a structure of JAX's messages shorter: `<class 'dict'> with 1 child` as `dict with 1 child`."""
    named = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", words)
    known = dict.fromkeys(("ShapedArray", "ArrayImpl", "*"), "an array") | {"NoneType": "None"}
    return known.get(named, named)


def _no_pair(raised: _Raised) -> _Said:
    returned = raised.text.partition("got ")[2].rstrip(". ")
    return _Said(Kind.CARRY, names=f"the body returns {returned}, and no pair", advice=PAIR)


def _begins(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, shape and dtype for each scalar that a loop begins with and returns as an array."""
    for name, before, after in _CARRY.findall(text):
        known = re.fullmatch(r"([a-z]+\d+)\[([\d,]+)\]", after)
        if known and before.endswith("[]"):
            yield name, f"({known[2]},)", known[1]


_DIFFER = re.compile(
    rf"The output of (.+?) has type ({_TYPE}) but the corresponding output of (.+?) has type ({_TYPE})|"
    r"(\S+) output(?: at path \S+)? is (.+?) but (\S+) output(?: at path \S+)? is ([^,]+)"
)


def _branches(raised: _Raised) -> _Said:
    found = _DIFFER.search(raised.text)
    one, type_one, other, type_other = filter(None, found.groups()) if found else ("", "", "", "")
    types = (re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", name) for name in (type_one, type_other))
    first, second = (name.replace("a pytree leaf", "one array") for name in types)
    return _Said(Kind.BRANCHES, names=f": {first} of {one}, {second} of {other}" if found else "")


def _no_array(raised: _Raised) -> _Said | None:
    kind = re.search(r"type <class '([\w.]+)'>", raised.text)
    path = re.search(r"passed to the function at path ([^\s.]+)", raised.text)
    if kind is None:
        return None
    name = path[1] if path else ""
    setting = f"static_argnames={re.split(r'[.[]', name)[0]!r}" if name.isidentifier() else "static_argnames=..."
    return _Said(
        Kind.NO_ARRAY,
        names=f"{f'`{name}`' if name else 'an argument'} is of type {kind[1].removeprefix('builtins.')}",
        advice=WORDS[Kind.NO_ARRAY].advice.format(setting=setting),
    )


def _overflow(raised: _Raised) -> _Said:
    found = re.search(r"value (-?\d+)|Python int\w* (-?\d+)", raised.text)
    return _Said(Kind.OVERFLOW, names=f"{found[1] or found[2]} does" if found else "a number here does")


def _static(raised: _Raised) -> _Said:
    kind = re.search(r"type <class '([\w.]+)'>", raised.text)
    if kind is None:
        return _Said(Kind.STATIC)
    literals = {ast.List: "list", ast.Dict: "dict", ast.Set: "set"}
    keywords = [one for node in ast.walk(raised.failing) if isinstance(node, ast.Call) for one in node.keywords]
    types = {
        one.arg: literals.get(type(one.value)) or type(value_of(one.value, raised.names)).__name__ for one in keywords
    }
    name = next((name for name, of in types.items() if name and of == kind[1].rpartition(".")[2]), "")
    return _Said(Kind.STATIC, names=f"{f'`{name}`' if name else 'an argument'} of type {kind[1]}")


def _traced_argument(raised: _Raised) -> str:
    """Say why the failing value is traced: the argument that it comes from, through earlier assignments."""
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
    # A size is an integer more often than not.
    numbers.sort(key=lambda name: raised.names[name].dtype.kind not in "iub")
    return ARGUMENT.format(name=numbers[0], function=function.name) if numbers else ""


def _is_number(value: Any) -> bool:
    """Return whether a traced value is one number; a PRNG key is none."""
    return value.ndim == 0 and not jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


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

_ERRORS: tuple[tuple[tuple[type[BaseException], ...], str, Callable[[_Raised], _Said | None]], ...] = (
    (
        (TypeError,),
        r"do not support in-place item|'[\w.]*(?:Tracer|ArrayImpl)' object does not support item",
        _in_place,
    ),
    ((AttributeError,), r"^__delitem__$", _deleted_item),
    ((AttributeError,), r"(?:ArrayImpl' object|Tracer) has no attribute '?(?:fill|append|put)\b", _changing_method),
    ((ValueError,), r"^(?:assignment destination|output array|sort array) is read-only", _read_only),
    ((NotImplementedError,), r"^(?:out argument of|The 'out' argument to) ", _out),
    ((jax.errors.NonConcreteBooleanIndexError,), "", _mask),
    ((ValueError,), r"^The truth value of an array with more than one element is ambiguous", _ambiguous),
    (
        (TypeError,),
        r"^cond_fun must return a boolean scalar, but got output type\(s\) \[\S*\[\d",
        lambda _raised: _Said(Kind.TRUTH),
    ),
    (
        (TypeError,),
        r"^Pred must be a scalar, got [\s\S]* of shape \(\d",
        lambda _raised: _Said(Kind.TRUTH),
    ),
    ((jax.errors.TracerArrayConversionError,), "", _by_numpy),
    ((jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError), "", _concretized),
    ((jax.errors.ConcretizationTypeError,), "", _concretized),
    ((jax.errors.UnexpectedTracerError,), "", _leak),
    ((TypeError,), r"unhashable type: '\w*Tracer'", _concretized),
    (
        (TypeError,),
        r"unsupported format string passed to \w*Tracer|format: a real number is required, not \w*Tracer",
        lambda _raised: _Said(Kind.CONTROL_FLOW, advice=FORMAT),
    ),
    (
        (TypeError,),
        r"^(?:cond|switch) branch(?:es must have equal output types| outputs must have the same)",
        _branches,
    ),
    (
        (OverflowError,),
        r"An overflow was encountered while parsing an argument|Python int\w* \d+ (?:too|out)",
        _overflow,
    ),
    (
        (TypeError,),
        r"Shapes must be 1D sequences of concrete values",
        lambda raised: _Said(Kind.SHAPE, advice=_traced_argument(raised)),
    ),
    (
        (TypeError,),
        r"parameters to jaxpr equations must have __hash__[\s\S]*Tracer",
        lambda raised: _Said(Kind.SHAPE, advice=_traced_argument(raised)),
    ),
    ((IndexError,), r"slice indices must have static start/stop/step|Slice entries must be static integers", _sliced),
    ((TypeError,), _LIST, _list),
    ((TypeError, ValueError), _ITERATOR, lambda _raised: _Said(Kind.ITERATOR_OPERAND)),
    ((TypeError,), r"Error interpreting argument to .* as an abstract array", _no_array),
    ((TypeError,), r"carry input and carry output must have|body_fun output and input must have", _carry),
    ((TypeError,), r"^scan body output must be a pair", _no_pair),
    ((ValueError,), r"[Cc]heckify-of-vmap-of-while", lambda raised: _Said(Kind.CHECKIFY, checkified(raised.statement))),
    ((ValueError,), r"Non-hashable static arguments", _static),
    ((RuntimeError, ValueError), r"Array has been deleted|[Bb]uffer has been deleted or donated", _deleted),
    ((RuntimeError, ValueError), r"donate the same buffer twice", _donated_twice),
)
"""Types of an exception, a pattern of its text, and the function that explains it; the first match counts."""
