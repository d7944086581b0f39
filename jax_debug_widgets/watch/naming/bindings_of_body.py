"""Look up the names of a program's variables in the notes from its trace: see `_jax/tracing/bindings.py`."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from jax_debug_widgets._jax.origins.name_places import CallPlace, place_of_arguments
from jax_debug_widgets._jax.origins.name_registry import Names, VariableNote
from jax_debug_widgets._jax.origins.names_noted import are_as_traced, is_noted, names_of_results, noted_of_input, way_to
from jax_debug_widgets._jax.origins.origins import Origin, ordinals_of
from jax_debug_widgets.watch.naming.body import BodyWithFrames, Made
from jax_debug_widgets.watch.naming.source_sites import SourceSite
from jax_debug_widgets.watch.naming.variable_types import is_array
from jax_debug_widgets.watch.syntax.mentions import is_part
from jax_debug_widgets.watch.syntax.noted import plain_targets
from jax_debug_widgets.watch.syntax.statements import Span, Statement, may_be_alias

Identity = tuple[tuple[Hashable, ...], VariableNote]
"""The path of equations that leads to a value, see `BodyContext.path`, and the note of its variable."""


class BodyBindings:
    """The notes about the variables of `body`."""

    def __init__(self, body: BodyWithFrames) -> None:
        self.body = body
        of_inputs = {one: noted for one in body.jaxpr.invars if (noted := _noted_of_input(body, one))}
        self._inputs = {one: {**ChainMap(*(own.names for _, own in noted))} for one, noted in of_inputs.items()}
        self._results = _results(body)
        results = (one for own in self._results.values() for one in own)
        self._names = {**self._inputs, **{one.made[0]: {**one.before, **one.names} for one in results}}
        self._identities = {one: list(_identities(body, noted)) for one, noted in of_inputs.items()}
        for number, own in self._results.items():
            way = way_to(body.equations[number])
            self._identities |= {one.made[0]: list(_identities(body, [(way, of) for of in one.noted])) for one in own}

    def arguments(self) -> list[tuple[str, Any]] | None:
        """Return the inputs of the body with the names that its function gives them; None if that was not noted.

        An input that the function unpacks into variables (`u, v = state`) has the names of these variables.
        """
        named = [(name, one) for one, names in self._inputs.items() for name in argument_names(self.body, names)]
        return named or None

    def assigned(self, call: SourceSite, statement: Statement, members: Sequence[int]) -> list[tuple[str, Made]] | None:
        """Return the values that one execution of a statement assigns or returns, by name; None if that was not noted."""
        place = call.file, call.span
        if not is_noted(place):
            return None
        found: list[tuple[str, Made]] = []
        known: set[Origin] = set()
        for one in (one for number in members for one in self._results.get(number, ())):
            # Further equations of a transformed program at this place come after the value.
            names = [*one.names.get(place, ()), *(one.before.get(place, ()) if one.origin not in known else ())]
            found += [(name, one.made) for name in names if is_of_statement(name, statement)]
            known.add(one.origin)
        body, depth = self.body, call.depth
        rules = {level.runs_rule for number in members for level in body.levels[number][depth:]}
        # Perhaps only the residuals of a derivative rule are left here.
        is_of_derivative = not rules.isdisjoint(("forward", "backward"))
        is_traced = "batching" not in rules and are_as_traced(body.equations[number] for number in members)
        return found if found or is_of_derivative or is_traced else None

    def aliases(self) -> Iterator[tuple[Any, str, str, Statement]]:
        """Yield each variable with the further names that statements without a computation give it.

        Each item has the variable, the name, the file and the statement.
        """
        for variable, names in self._names.items():
            yield from ((variable, *alias) for alias in aliases(self.body, names))

    def given_to_calls(self) -> Iterator[tuple[Any, str, CallPlace, str]]:
        """Yield the variables that are arguments of calls.

        Each item has the variable, the function's file, the call, and the argument's name.
        """
        for variable, names in self._names.items():
            for (file, place), own in names.items():
                if isinstance(place, CallPlace):
                    yield from ((variable, file, place, name) for name in own)

    def identities(self, variable: Any) -> tuple[Identity, ...]:
        """Return keys of a value that are equal in all programs that JAX derives from this one."""
        return tuple(self._identities.get(variable, ()))


def _identities(body: BodyWithFrames, noted: Iterable[Identity]) -> Iterator[Identity]:
    """Yield the notes of one variable, each with the path of calls that JAX inlined around it.

    A note of an inlined value may have been taken inside the call or of the call's result, whose path is shorter.
    """
    for way, one in noted:
        for length in range(len(way), -1, -1):
            yield (*body.around.path, *way[:length]), one


def argument_names(body: BodyWithFrames, names: Names) -> Sequence[str]:
    """Return the names that the body's function gives an input with these names; empty if it is not an argument."""
    file, line, _ = body.origin
    place, function = place_of_arguments(file, line), body.function
    if function is None or place not in names:
        return ()
    apart = (
        (file, one.span)
        for one in function.statements
        if isinstance(one.value, ast.Name) and not one.body and any(target.parts for target in one.targets)
    )
    own = [name for one in apart for name in names.get(one, ())]
    return own[:1] or names[place]


def aliases(body: BodyWithFrames, names: Names) -> Iterator[tuple[str, str, Statement]]:
    """Yield the names that are given by statements that compute nothing, each with the file and the statement.

    For `h = a if c else b` no note says which branch ran; the first branch in the source is used for both.
    """
    found = [
        (name, file, statement)
        for (file, span), own in names.items()
        for statement in (body.source(file).statements_at(span) if isinstance(span, Span) else ())
        if statement.targets and may_be_alias(statement)
        for name in own
    ]
    firsts: dict[tuple[str, str, Span], Span] = {}
    for name, file, statement in found:
        place = name, file, statement.whole or statement.span
        firsts[place] = min(firsts.get(place, statement.span), statement.span)
    for name, file, statement in found:
        if statement.span == firsts[name, file, statement.whole or statement.span]:
            yield name, file, statement


def is_of_statement(name: str, statement: Statement) -> bool:
    """Whether a statement assigns or returns the value of this name, or a part of it."""
    targets = [text for target in statement.targets for text in plain_targets(target)]
    return not targets or any(is_part(name, text) for text in targets)


def _noted_of_input(body: BodyWithFrames, variable: Any) -> Sequence[Identity]:
    if body.is_tangent(variable):
        return ()
    uses = [
        (body.equations[number], position)
        for number in body.uses.consumers.get(variable, ())
        if not body.uses.transposed[number] and number not in body.tangents
        for position, atom in enumerate(body.equations[number].invars)
        if atom is variable
    ]
    return noted_of_input(variable, uses)


class _Result(NamedTuple):
    """A result of an equation: its names, its names before a transformation, and the origin of that variable."""

    made: Made
    names: Names
    before: Names
    origin: Origin
    noted: Sequence[VariableNote]


def _results(body: BodyWithFrames) -> dict[int, list[_Result]]:
    ordinals = ordinals_of(body.equations, map(bool, body.uses.transposed))
    named = [names_of_results(*each) for each in zip(body.equations, ordinals, strict=True)]
    own = [{(place, name) for one in results for place in one.names for name in one.names[place]} for results in named]
    in_body = set().union(*own)
    found: dict[int, list[_Result]] = {}
    for number, results in enumerate(named):
        known = in_body if body.uses.transposed[number] else own[number]
        for position, names, before, origin, noted in results:
            variable = body.equations[number].outvars[position]
            left = {
                place: [name for name in before[place] if (place, name) not in known]
                for place in (() if body.is_tangent(variable) else before)
            }
            if (names or any(left.values())) and is_array(variable):
                found.setdefault(number, []).append(_Result((variable, number, position), names, left, origin, noted))
    return found
