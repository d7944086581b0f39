"""Find the values of a program that belong to the variables of its source.

Each equation knows the range of the source that made it, and the ranges of the calls around it. The equations from the
right side of an assignment compute the assigned values. Several equations may do so: `h = jax.nn.gelu(x @ w)` is a
dozen. The notes from the trace decide which results have names; residuals of derivatives have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jax_debug_widgets._jax.origins.frames import Level
from jax_debug_widgets._jax.origins.libraries import is_library
from jax_debug_widgets._jax.origins.name_registry import VariableNote
from jax_debug_widgets._jax.tracing.marks import is_named
from jax_debug_widgets.watch.naming.arguments import arguments
from jax_debug_widgets.watch.naming.assigned import assigned
from jax_debug_widgets.watch.naming.bindings_of_body import BodyBindings
from jax_debug_widgets.watch.naming.body import BodyWithFrames, Made
from jax_debug_widgets.watch.naming.escaping_values import what_escapes
from jax_debug_widgets.watch.naming.fields import fields_of_self
from jax_debug_widgets.watch.naming.gradients import (
    Gradient,
    gradients,
    gradients_asked_for,
    gradients_of_aliases,
    gradients_of_arguments,
)
from jax_debug_widgets.watch.naming.instances import instances
from jax_debug_widgets.watch.naming.named import Named
from jax_debug_widgets.watch.naming.source_sites import SourceSite
from jax_debug_widgets.watch.naming.variable_types import is_array
from jax_debug_widgets.watch.syntax.mentions import is_part, texts_of
from jax_debug_widgets.watch.syntax.statements import Span, Statement


@dataclass(frozen=True, eq=False)
class Assignment:
    """A statement of the source that a body runs.

    Attributes:
      values: each name with its variable, of all executions.
      function: the name of the function that the statement is in.
      is_run: whether any of its equations is in the forward pass.
    """

    body: BodyWithFrames
    call: SourceSite
    statement: Statement
    values: Sequence[tuple[str, Made]]
    function: str
    is_run: bool


Ranges = set[tuple[str, Span]]
"""Ranges in files: the file, and the range in it."""


def named_values(bound: BodyBindings, wanted: Callable[[str], bool], mingled: Ranges) -> list[Named]:
    """Return the values and gradients of a body that have names in the wanted files, in the order in which they are made.

    Args:
      mingled: collects the ranges that compute several values whose names are ambiguous.
    """
    body = bound.body
    if body.around.moved:  # These equations do not compute what their statement assigns.
        return []
    taken = list(arguments(bound, wanted))
    found = [
        _argument(bound, one.variable, one.name, one.file, one.span, one.function, carried=one.carried) for one in taken
    ]
    found += [_argument(bound, *field, is_alias=True) for field in fields_of_self(body, taken, wanted)]
    own = _assignments(bound, wanted)
    mingled.update((one.call.file, one.call.span) for one in own if _is_mingled(one))
    for one in own:
        for name, (variable, number, _) in one.values:
            found.append(_named(bound, variable, number, name, one))
    aliases = list(_aliases(bound, found, wanted))
    gradients_of = gradients_asked_for(body)
    whole = [*found, *(one for one in aliases if not one.is_alias)]
    found += [*aliases, *(one for value in whole for one in _asked_for(bound, value, gradients_of))]
    others = (*gradients(body), *gradients_of_arguments(body, gradients_of), *gradients_of_aliases(body))
    found += (_gradient(body, one) for one in others if wanted(one.call.file))
    found.sort(key=lambda one: one.equation)
    return _distinct(found)


def _gradient(body: BodyWithFrames, one: Gradient) -> Named:
    about = one.number, body.primitive_of(one.number), body.stack_of(one.number)
    at = one.call.file, one.call.span, one.function, *about
    identities = ((body.path_of(one.number), one.of),)
    return Named(
        one.variable, one.name, "gradient", True, *at, False, identities, is_alias=one.is_alias, outer=one.call.outer
    )


def _aliases(bound: BodyBindings, found: Sequence[Named], wanted: Callable[[str], bool]) -> Iterator[Named]:
    """Yield the values to which statements only give another name.

    The first such name counts as the value's own if an equation of the body makes the value and it has no other name.
    """
    body, known = bound.body, {one.variable for one in found}
    for variable, name, file, statement in bound.aliases():
        if not (is_array(variable) and wanted(file)):
            continue
        number = body.makers[variable][1] if variable in body.makers else -1
        primitive = body.primitive_of(number) if number >= 0 else "argument"
        stack = body.stack_of(number) if number >= 0 else str(body.place.stack)
        is_alias = number < 0 or variable in known
        known.add(variable)
        identities = bound.identities(variable) if is_alias else _identities(bound, variable)
        at = file, statement.span, statement.function_name, number, primitive, stack
        yield Named(variable, name, "value", True, *at, identities=identities, is_alias=is_alias)


def _asked_for(
    bound: BodyBindings, value: Named, gradients_of: Mapping[VariableNote, Sequence[Made]]
) -> Iterator[Named]:
    """Yield the gradients that were requested with respect to a value."""
    body = bound.body
    noted = bound.identities(value.variable)
    for variable, number, _ in (made for _, one in noted for made in gradients_of.get(one, ())):
        about = {"equation": number, "primitive": body.primitive_of(number), "stack": body.stack_of(number)}
        identities = (_identity(body, value.variable),)
        yield replace(value, variable=variable, role="gradient", identities=identities, **about)


def _assignments(bound: BodyBindings, wanted: Callable[[str], bool]) -> list[Assignment]:
    body = bound.body
    found: list[Assignment] = []
    for call, members, forward in _calls(body, wanted):
        for statement in body.source(call.file).statements_at(call.span):
            around = (*([statement.whole] if statement.whole else ()), *statement.outside)
            if any(_is_run(body, SourceSite(call.outer, call.file, span)) for span in around):
                continue  # An array's own items and properties (`f(x)[0]`, `f(x).T`) are operations.
            repeats = statement.repeats or _is_repeated(body, members, call)
            parts = instances(body, call, forward, repeats=repeats)
            by_part = [assigned(bound, call, statement, part) for part in parts]
            values = [one for own in by_part for one in own]
            function = body.levels[members[0]][call.depth].function
            found.append(Assignment(body, call, statement, values, function, bool(parts)))
    return found


def _is_run(body: BodyWithFrames, call: SourceSite) -> bool:
    return any(not body.is_backward(number, call.depth) for number in body.calls.get(call, ()))


def _is_mingled(one: Assignment) -> bool:
    """Whether a statement assigns several names, one of them has no value yet, and several values are left for it."""
    names = [text for target in one.statement.targets if target.parts for text in texts_of(target)][1:]
    if not one.is_run or all(any(is_part(name, text) for name, _ in one.values) for text in names):
        return False
    body, depth, known = one.body, one.call.depth, {made[0] for _, made in one.values}
    members = [number for number in body.calls[one.call] if not body.is_backward(number, depth)]
    return sum(is_array(made[0]) and made[0] not in known for made in what_escapes(body, members, depth)) > 1


_Called = tuple[SourceSite, list[int], list[int]]
"""A place, all its equations, and its equations of the forward pass."""


def _calls(body: BodyWithFrames, wanted: Callable[[str], bool]) -> Iterator[_Called]:
    for call, members in body.calls.items():
        if wanted(call.file) and not _takes_next(body.levels[members[0]][: call.depth + 1]):
            yield call, members, [one for one in members if not body.is_backward(one, call.depth)]


def _takes_next(levels: Sequence[Level]) -> bool:
    """Whether the last frame is a comprehension that takes its next item. Its range is then that of the frame around it."""
    *_, caller, own = (None, *levels)
    return caller is not None and (caller.file, caller.span) == (own.file, own.span) and caller.function != own.function


def every_value(body: BodyWithFrames, named: Sequence[Named], is_asked: Callable[[Named], bool]) -> list[Named]:
    """Return `named` and every other result of an equation, named by its expression, and by its primitive if ambiguous.

    Args:
      is_asked: whether a value is requested in another way than by its expression. In a file whose names are not
        wanted, the other values are named by their primitive.
    """
    # The operand of a naming identity is the same gradient as its result.
    comes_by = [body.equations[one.equation] for one in named if one.role == "gradient"]
    given = [atom for one in comes_by if is_named(one) for atom in one.invars]
    known = {one.variable for one in named} | {atom for atom in given if is_array(atom)}
    found = list(named)
    places = [place_of(body, number) for number in range(len(body.equations))]
    primitives: dict[Any, set[str]] = {}
    for place, equation in zip(places, body.equations, strict=True):
        if place is not None and not is_named(equation):
            primitives.setdefault(place, set()).add(equation.primitive.name)
    for number, (place, equation) in enumerate(zip(places, body.equations, strict=True)):
        for variable in equation.outvars:
            if place is None or variable in known or not is_array(variable) or is_named(equation):
                continue
            own, is_transposed = place
            primitive, span = equation.primitive.name, Span(*own.span)
            at = own.file, span, own.function, number, primitive, body.stack_of(number)
            one = Named(variable, primitive, "value", False, *at)
            if body.wanted(own.file) or is_asked(one):
                name = body.source(own.file).text(span) or primitive
                # `(h ** 2).mean()` has several equations: the sum, the division, and residuals of derivatives.
                how = [primitive] * (len(primitives[place]) > 1) + ["transposed"] * is_transposed
                one = replace(one, name=name + (f" ({', '.join(how)})" if how else ""))
            found.append(one)
    found.sort(key=lambda one: one.equation)
    return found


def place_of(body: BodyWithFrames, number: int) -> tuple[Level, bool] | None:
    """Return the user's innermost frame of an equation, else a library's, and whether the equation makes a cotangent.

    Return None if the equation has no frames.
    """
    levels = body.levels[number]
    if not levels:
        return None
    own = next((one for one in reversed(levels) if not is_library(one.file)), levels[-1])
    return own, any(map(body.uses.is_cotangent, body.equations[number].outvars))


def _identity(body: BodyWithFrames, variable: Any) -> Any:
    """Return a key that is unique for one variable of one body.

    JAX may share a body among loops that different equations run.
    """
    return id(body.around.equation), variable


def _identities(bound: BodyBindings, variable: Any) -> tuple[Any, ...]:
    return _identity(bound.body, variable), *bound.identities(variable)


def _argument(
    bound: BodyBindings,
    variable: Any,
    name: str,
    file: str,
    span: Span,
    function: str,
    *,
    carried: bool = False,
    is_alias: bool = False,
) -> Named:
    identities, stack = _identities(bound, variable), str(bound.body.place.stack)
    return Named(
        variable, name, "value", True, file, span, function, -1, "argument", stack, carried, identities, is_alias
    )


def _named(bound: BodyBindings, variable: Any, number: int, name: str, one: Assignment) -> Named:
    primitive, stack = bound.body.primitive_of(number), bound.body.stack_of(number)
    at = one.call.file, one.call.span, one.function, number, primitive, stack
    return Named(variable, name, "value", True, *at, identities=_identities(bound, variable), outer=one.call.outer)


def _is_repeated(body: BodyWithFrames, members: list[int], call: SourceSite) -> bool:
    """Whether a Python loop leads to this place, or its function was inlined several times."""
    levels = body.levels[members[0]][: call.depth]
    # The name of a library's call comes from its loop.
    is_put_in = body.is_put_in(members[0]) and not is_library(body.origin[0])
    return is_put_in or any(level.maps or Span(*level.span) in body.source(level.file).repeated for level in levels)


def _distinct(found: list[Named]) -> list[Named]:
    """Leave out duplicates: an assignment in a `return`, a name of the same value in two frames."""
    seen: set[tuple[Any, ...]] = set()
    kept = []
    for one in found:
        key = (one.variable, one.name, one.role, one.file, one.span)
        if key not in seen:
            seen.add(key)
            kept.append(one)
    return kept
