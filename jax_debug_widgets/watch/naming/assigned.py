"""Find the values that one execution of a statement assigns or returns, by name."""

from __future__ import annotations

from collections.abc import Sequence

from jax_debug_widgets._jax.origins.names_noted import gives_as_many, may_be
from jax_debug_widgets._jax.passes.uses import runs_program
from jax_debug_widgets.watch.naming.bindings_of_body import BodyBindings
from jax_debug_widgets.watch.naming.body import BodyWithFrames, Made
from jax_debug_widgets.watch.naming.escaping_values import what_escapes
from jax_debug_widgets.watch.naming.source_sites import SourceSite
from jax_debug_widgets.watch.naming.variable_types import is_array
from jax_debug_widgets.watch.syntax.statements import Statement


def assigned(
    bound: BodyBindings, call: SourceSite, statement: Statement, members: Sequence[int]
) -> list[tuple[str, Made]]:
    """Return the values that were noted while JAX traced the statement.

    Without notes, return its results that other equations use, as far as their names are known.
    """
    noted = bound.assigned(call, statement, members)
    if noted is not None:
        return noted
    place = call.file, call.span
    taken = _taken(bound.body, call, statement, members)
    return [(name, made) for name, made in taken if may_be(made[0], place, name) and _is_own(bound.body, made)]


def _is_own(body: BodyWithFrames, made: Made) -> bool:
    """Whether a result is the source's own: a jitted function also returns the residuals of its derivative."""
    equation = body.equations[made[1]]
    return not runs_program(equation) or gives_as_many(equation)


def _taken(
    body: BodyWithFrames, call: SourceSite, statement: Statement, members: Sequence[int]
) -> list[tuple[str, Made]]:
    """Return one value for one name. If one equation makes as many values as there are names, pair them in order."""
    made = [one for one in what_escapes(body, [*members], call.depth) if is_array(one[0])]
    if statement.is_return:
        return [(body.source(call.file).text(call.span), made[0])] if len(made) == 1 else []
    found: list[tuple[str, Made]] = []
    for target in statement.targets:
        names = [one.text for one in target.parts or (target,)]
        is_plain = all(one.is_plain and not one.text.startswith("*") for one in target.parts)
        if is_plain and len(made) == len(names) and len({number for _, number, _ in made}) == 1:
            found += zip(names, sorted(made, key=lambda one: one[2]), strict=True)
    return found
