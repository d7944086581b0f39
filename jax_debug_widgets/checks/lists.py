"""Find lists of numbers in the arguments of a jitted function: each number is an operand of its own (S7)."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.checked import Checked
from jax_debug_widgets.checks.calling import calling_line, is_called_at
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.written import written_at
from jax_debug_widgets.events import Finding

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_MANY = 8
"""The fewest numbers in a list that make a finding."""

_MANY_IN_A_TREE = 64
"""The fewest Python numbers in one argument that make a finding if they are in no list."""

_LONGEST = 40
"""The most characters of code in a headline."""


@dataclass(frozen=True)
class NumbersInArgument:
    """Numbers in an argument.

    Attributes:
      name: the parameter.
      path: the path from it to their container: `['w']`.
      kind: the type of the container: `list`; empty if there are several containers.
      count: how many numbers there are.
      given: the position of the argument, or its keyword; None if the user's line does not give it.
    """

    name: str
    path: str
    kind: str
    count: int
    given: int | str | None = None


def numbers_in(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], jit: Any) -> Iterator[Checked]:
    """Yield a record for each list of numbers in the arguments of a call, at the user's line that calls."""
    frame = calling_line()
    if frame is None:
        return
    statics, static_names = set(jit.static_argnums or ()), set(jit.static_argnames or ())
    names = _parameters(function)
    by_position = {
        number: names[number] if number < len(names) else f"args[{number}]"
        for number in range(len(args))
        if not {number, number - len(args)} & statics
    }
    is_here = is_called_at(frame)
    for given, name in (*by_position.items(), *((name, name) for name in kwargs)):
        if name not in static_names:
            value = args[given] if isinstance(given, int) else kwargs[given]
            yield from _checked(NumbersInArgument(name, "", "", 0, given if is_here else None), value, frame)


def numbers_as_arguments(seen: LineHits, name_file: NameFile) -> Finding:
    """Make the finding of a list of numbers that is an argument."""
    frame = seen.checked.frames[0]
    numbers: NumbersInArgument = seen.checked.facts
    where = f"{name_file(frame.file)}:{frame.line}"
    span = frame.line, frame.column, frame.end_line, frame.end_column
    what = f"is a {numbers.kind} of" if numbers.kind else "has"
    shown, call = _written(frame, numbers)
    headline = f"`{shown}` {what} {numbers.count} numbers: {numbers.count} operands of the program"
    why = "JAX traces, compiles and copies each of them by itself, and compiles again for each other length."
    fix = (call,) if numbers.kind else ()
    advice = "Pass one array." if fix else "Pass arrays: jax.tree.map(jnp.asarray, ...), or one array for all of them."
    return Finding.at(Kind.NUMBERS.word, where, headline, why, fix, advice, file=frame.file, span=span, seen=seen.count)


def _written(frame: Frame, numbers: NumbersInArgument) -> tuple[str, str]:
    """Return the numbers as the user's line has them, and the line's call with an array in their place."""
    written = written_at(frame) if numbers.given is not None else None
    call = written.node if written is not None else None
    name = f"{numbers.name}{numbers.path}"
    if not isinstance(call, ast.Call) or any(isinstance(one, ast.Starred) for one in call.args):
        return name, f"jnp.array({name})"
    by_name = {one.arg: one.value for one in call.keywords}
    by_position = dict(enumerate(call.args))
    given = by_position.get(numbers.given) if isinstance(numbers.given, int) else by_name.get(numbers.given)
    if given is None:
        return name, f"jnp.array({name})"
    text = ast.unparse(given)
    if numbers.path:
        shown = f"{text}{numbers.path}" if text.isidentifier() else name
        return shown, f"jnp.array({shown})"
    array: ast.expr = ast.Call(ast.parse("jnp.array", mode="eval").body, [given], [])
    args = [array if one is given else one for one in call.args]
    keywords = [ast.keyword(one.arg, array) if one.value is given else one for one in call.keywords]
    return (text if len(text) <= _LONGEST else name), ast.unparse(ast.Call(call.func, args, keywords))


def _checked(numbers: NumbersInArgument, value: Any, frame: Frame) -> Iterator[Checked]:
    found = list(_lists(numbers, value))
    if not found:
        count = sum(map(_is_number, jax.tree.leaves(value)))
        found = [replace(numbers, count=count)] if count >= _MANY_IN_A_TREE else []
    for one in found:
        yield Checked("lists", f"{one.name}{one.path}", (frame,), one)


def _lists(numbers: NumbersInArgument, value: Any) -> Iterator[NumbersInArgument]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _lists(replace(numbers, path=f"{numbers.path}[{key!r}]"), one)
    elif isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        leaves = jax.tree.leaves(value)
        if len(leaves) >= _MANY and all(map(_is_number, leaves)) and _is_rectangular(value):
            yield replace(numbers, kind=type(value).__name__, count=len(leaves))
        else:
            for number, one in enumerate(value):
                yield from _lists(replace(numbers, path=f"{numbers.path}[{number}]"), one)


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, bool | int | float | complex | np.generic)


def _is_rectangular(value: Any) -> bool:
    if not isinstance(value, list | tuple):
        return True
    sizes = {len(one) if isinstance(one, list | tuple) else -1 for one in value}
    return len(sizes) <= 1 and all(map(_is_rectangular, value))


def _parameters(function: Any) -> list[str]:
    try:
        return [
            name
            for name, one in inspect.signature(function).parameters.items()
            if one.kind <= one.POSITIONAL_OR_KEYWORD
        ]
    except (TypeError, ValueError):
        return []
