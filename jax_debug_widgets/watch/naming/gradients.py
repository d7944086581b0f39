"""Find the cotangents of named values in a backward pass: see `_jax/tracing/cotangents.py`."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax.origins.name_places import place_of_arguments
from jax_debug_widgets._jax.origins.name_registry import VariableNote
from jax_debug_widgets._jax.tracing.marks import Mark, cotangent_of
from jax_debug_widgets.watch.naming.arguments import argument_span
from jax_debug_widgets.watch.naming.bindings_of_body import aliases, argument_names, is_of_statement
from jax_debug_widgets.watch.naming.body import BodyWithFrames, Made
from jax_debug_widgets.watch.naming.source_sites import SourceSite, outer_of
from jax_debug_widgets.watch.naming.variable_types import is_array
from jax_debug_widgets.watch.syntax.statements import Span


@dataclass(frozen=True, eq=False)
class Gradient:
    """A cotangent.

    Attributes:
      name: the name of the value that it belongs to, which `function` assigns at `call`.
      of: the note of that value.
      number: the number of the equation that makes it.
      is_alias: whether it is another name for a known gradient.
    """

    variable: Any
    name: str
    of: VariableNote
    number: int
    call: SourceSite
    function: str
    is_alias: bool = False


def gradients(body: BodyWithFrames) -> Iterator[Gradient]:
    """Yield the gradients of named values, in the order of the backward pass."""
    for number, equation in enumerate(body.equations):
        mark = cotangent_of(equation)
        if mark is None or mark.is_of_input or not is_array(equation.outvars[0]) or number in body.tangents:
            continue
        levels = body.levels[number]
        for depth, level in enumerate(levels):
            call = SourceSite(outer_of(levels[:depth]), level.file, Span(*level.span))
            place = call.file, call.span
            if place in mark.places and (mark.is_sure or _is_of_innermost(body, number, depth)):
                statements = body.source(call.file).statements_at(call.span)
                names = [
                    name for name in mark.noted.names[place] if any(is_of_statement(name, one) for one in statements)
                ]
                for name in names:
                    yield Gradient(equation.outvars[0], name, mark.noted.value, number, call, level.function)


def gradients_of_arguments(body: BodyWithFrames, known: Container[VariableNote]) -> Iterator[Gradient]:
    """Yield the gradients of the arguments of the body's function.

    Args:
      known: the notes of values whose gradients are found otherwise.
    """
    function, (file, line, _) = body.function, body.origin
    if function is None:
        return
    for variable, mark, number in _of_innermost(body):
        is_argument = mark.is_of_input and place_of_arguments(file, line) in mark.places
        for name in argument_names(body, mark.noted.names) if is_argument and mark.noted.value not in known else ():
            call = SourceSite((), file, argument_span(function, name))
            yield Gradient(variable, name, mark.noted.value, number, call, function.name)


def gradients_of_aliases(body: BodyWithFrames) -> Iterator[Gradient]:
    """Yield the gradients of further names for known values, each from the statement that gives the name on."""
    for variable, mark, number in _of_innermost(body):
        for name, file, statement in aliases(body, {place: mark.noted.names[place] for place in mark.places}):
            call = SourceSite((), file, statement.span)
            yield Gradient(variable, name, mark.noted.value, number, call, statement.function_name, is_alias=True)


def _of_innermost(body: BodyWithFrames) -> Iterator[tuple[Any, Mark, int]]:
    for number, equation in enumerate(body.equations):
        mark = cotangent_of(equation)
        if mark is None or not is_array(equation.outvars[0]) or number in body.tangents:
            continue
        if mark.is_sure or _is_of_innermost(body, number, 0):
            yield equation.outvars[0], mark, number


def gradients_asked_for(body: BodyWithFrames) -> dict[VariableNote, list[Made]]:
    """Map the note of a value to the gradients that derivatives with respect to it return."""
    found: dict[VariableNote, list[Made]] = {}
    for number, equation in enumerate(body.equations):
        mark = cotangent_of(equation)
        # The differentiated argument itself has another gradient, of all that is computed from it.
        is_outermost = body.uses.derived[number][:1] != (False,)
        if mark is not None and not mark.places and is_outermost and is_array(equation.outvars[0]):
            found.setdefault(mark.noted, []).append((equation.outvars[0], number, 0))
    return found


def _is_of_innermost(body: BodyWithFrames, number: int, depth: int) -> bool:
    """Whether this is a cotangent of the innermost derivative: an outer one has other cotangents of the same values."""
    *outer, own = body.derived_from(number, depth) or (False,)
    return own and not any(outer)
