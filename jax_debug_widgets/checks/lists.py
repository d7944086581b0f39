"""Find lists of numbers in the arguments of a jitted function: each number is an operand of its own (S7)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.checked import Checked
from jax_debug_widgets.checks.calling import calling_line
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.events import Finding

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_MANY = 8
"""The fewest numbers in a list that make a finding."""

_MANY_IN_A_TREE = 64
"""The fewest Python numbers in one argument that make a finding if they are in no list."""


@dataclass(frozen=True)
class NumbersInArgument:
    """Numbers in an argument.

    Attributes:
      name: the expression for their container: `params['w']`.
      kind: the type of the container: `list`; empty if there are several containers.
      count: how many numbers there are.
    """

    name: str
    kind: str
    count: int


def numbers_in(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], jit: Any) -> Iterator[Checked]:
    """Yield a record for each list of numbers in the arguments of a call, at the user's line that calls."""
    frame = calling_line()
    statics, static_names = set(jit.static_argnums or ()), set(jit.static_argnames or ())
    names = _parameters(function)
    for number, value in enumerate(args):
        name = names[number] if number < len(names) else f"args[{number}]"
        if frame is not None and not {number, number - len(args)} & statics and name not in static_names:
            yield from _checked(value, name, frame)
    for name, value in kwargs.items():
        if frame is not None and name not in static_names:
            yield from _checked(value, name, frame)


def numbers_as_arguments(seen: LineHits, name_file: NameFile) -> Finding:
    """Make the finding of a list of numbers that is an argument."""
    frame = seen.checked.frames[0]
    numbers: NumbersInArgument = seen.checked.facts
    where = f"{name_file(frame.file)}:{frame.line}"
    span = frame.line, frame.column, frame.end_line, frame.end_column
    what = f"is a {numbers.kind} of" if numbers.kind else "has"
    headline = f"`{numbers.name}` {what} {numbers.count} numbers: {numbers.count} operands of the program"
    why = "JAX traces, compiles and copies each of them by itself, and compiles again for each other length."
    fix = (f"jnp.array({numbers.name})",) if numbers.kind else ()
    advice = "Pass one array." if fix else "Pass arrays: jax.tree.map(jnp.asarray, ...), or one array for all of them."
    return Finding.at(Kind.NUMBERS.word, where, headline, why, fix, advice, file=frame.file, span=span, seen=seen.count)


def _checked(value: Any, name: str, frame: Frame) -> Iterator[Checked]:
    found = list(_lists(value, name))
    if not found:
        count = sum(map(_is_number, jax.tree.leaves(value)))
        found = [NumbersInArgument(name, "", count)] if count >= _MANY_IN_A_TREE else []
    for one in found:
        yield Checked("lists", one.name, (frame,), one)


def _lists(value: Any, name: str) -> Iterator[NumbersInArgument]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _lists(one, f"{name}[{key!r}]")
    elif isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        leaves = jax.tree.leaves(value)
        if len(leaves) >= _MANY and all(map(_is_number, leaves)) and _is_rectangular(value):
            yield NumbersInArgument(name, type(value).__name__, len(leaves))
        else:
            for number, one in enumerate(value):
                yield from _lists(one, f"{name}[{number}]")


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
