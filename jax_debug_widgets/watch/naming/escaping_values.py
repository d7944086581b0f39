"""Find the results of a place's equations that other equations use: its statement assigns them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jax.extend import core as jax_core

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.origins.frames import Level
from jax_debug_widgets._jax.origins.inputs import only_pulls_back
from jax_debug_widgets._jax.origins.origins import is_residual_result
from jax_debug_widgets._jax.tracing.copies import is_given_as_cotangent
from jax_debug_widgets._jax.tracing.marks import is_named
from jax_debug_widgets.watch.naming.body import BodyWithFrames, Made
from jax_debug_widgets.watch.naming.source_sites import outer_of


def what_escapes(body: BodyWithFrames, members: list[int], depth: int) -> list[Made]:
    """Return the results of these equations that others use: variable, equation, position among its results."""
    inside = set(members)
    found = []
    for number in members:
        equation = body.equations[number]
        # The result of a naming identity is a tangent.
        if _only_guards(body, number) or is_given_as_cotangent(equation) or is_named(equation):
            continue
        for position, variable in enumerate(equation.outvars):
            if body.is_tangent(variable) or is_residual_result(equation, position):
                continue
            is_result = variable in body.uses.results and not (
                _is_kept(body, number, position, inside, depth) or _asking_for_tangents(body, number, depth)
            )
            if is_result or is_taken(body, variable, inside, depth):
                found.append((variable, number, position))
    return found or _escaping_from_rule(body, members, depth)


def is_taken(body: BodyWithFrames, variable: Any, inside: set[int], depth: int) -> bool:
    """Whether the forward pass uses a variable outside of these equations."""
    outside = (one for one in _users(body, variable) if one not in inside)
    return any(
        not (
            body.is_backward(one, depth)
            or _only_pushes(body, one, inside, depth)
            or _only_keeps(body, one, depth)
            or only_pulls_back(body.equations[one], variable)
            or _is_kept_for_tangents(body, body.makers[variable][1], one, depth)
        )
        for one in outside
    )


def _escaping_from_rule(body: BodyWithFrames, members: list[int], depth: int) -> list[Made]:
    """Return the results of a statement in a derivative rule that others use, even if only the backward pass does."""
    if not any(_is_in_rule(body.levels[number][:depth]) for number in members):
        return []
    inside, results = set(members), {one for one in body.jaxpr.outvars if not isinstance(one, jax_core.Literal)}
    return [
        (variable, number, position)
        for number in members
        for position, variable in enumerate(body.equations[number].outvars)
        if (variable in results or not inside.issuperset(body.uses.consumers.get(variable, ())))
        and not _is_beside(body, number, position, inside)
    ]


def _users(body: BodyWithFrames, variable: Any) -> Iterator[int]:
    """Yield the equations that take a variable.

    An equation that was moved out of a loop is replaced by the users of its results.

    So is an equation that JAX adds itself, such as one that makes an array of a number that a `shard_map` keeps.
    """
    for number in body.uses.consumers.get(variable, ()):
        is_passed = number in body.moved and not body.uses.transposed[number]
        if is_passed or _is_jaxs_own(body, number):
            for made in body.equations[number].outvars:
                yield from _users(body, made)
        else:
            yield number


def _is_jaxs_own(body: BodyWithFrames, number: int) -> bool:
    """Whether an equation has no place in the source, and none of its results is a result of the body."""
    made = body.equations[number].outvars
    return not body.levels[number] and not any(variable in body.uses.results for variable in made)


def _only_pushes(body: BodyWithFrames, number: int, inside: set[int], depth: int) -> bool:
    """Whether an equation computes only tangents of the results of these equations, seen from one of their frames."""
    at = body.tangents.get(number)
    if at is None or depth < at:
        return False
    if depth > at:
        return True
    own, others = body.levels[min(inside)][depth], body.levels[number]
    return len(others) > depth and (own.file, own.span) == (others[depth].file, others[depth].span)


def _is_kept_for_tangents(body: BodyWithFrames, number: int, consumer: int, depth: int) -> bool:
    """Whether the consumer is outside of a frame around the equation that asks for tangents: that frame returns copies."""
    levels, other = body.levels[number], body.levels[consumer]

    def is_inside(at: int) -> bool:
        is_in_frame = len(other) > at and (levels[at].file, levels[at].span) == (other[at].file, other[at].span)
        return is_in_frame and outer_of(levels[:at]) == outer_of(other[:at])

    return not all(map(is_inside, _asking_for_tangents(body, number, depth)))


def _asking_for_tangents(body: BodyWithFrames, number: int, depth: int) -> list[int]:
    """Return the frames, down to `depth`, that ask for tangents of an equation's results, or for a function that pulls back."""
    levels = enumerate(body.levels[number][: depth + 1])
    return [at for at, level in levels if level.pushes or (_VJP_COPIES and level.differentiates == "vjp")]


_VJP_COPIES = not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM
"""Whether the results of `jax.vjp` are copies; on jax 0.8 `jax.vjp` calls other functions of JAX."""


def _only_keeps(body: BodyWithFrames, number: int, depth: int) -> bool:
    """Whether an equation only selects, for each lane of a `cond`, the residuals of its branches."""
    equation = body.equations[number]
    if equation.primitive.name != "select_n" or equation.outvars[0] in body.uses.results:
        return False
    users = body.uses.consumers.get(equation.outvars[0], ())
    return bool(users) and all(body.is_backward(one, depth) for one in users)


def _only_guards(body: BodyWithFrames, number: int) -> bool:
    """Whether an equation is an identity: under `vmap` each branch of a `cond` gets `select(which, stop_gradient(x), x)`.

    JAX adds it so that lanes that do not take the branch contribute no derivative.
    """
    equation = body.equations[number]
    if equation.primitive.name != "select_n" or len(equation.invars) != len(("which", "stopped", "given")):
        return False
    _, stopped, given = equation.invars
    made = body.maker_of(stopped)
    maker = body.equations[made[1]] if made else None
    return maker is not None and maker.primitive.name == "stop_gradient" and maker.invars[0] is given


def _is_kept(body: BodyWithFrames, number: int, position: int, inside: set[int], depth: int) -> bool:
    """Whether a result is a residual: the program is differentiated from outside, and only its transposed program needs it.

    JAX puts residuals after the program's own results. A residual is an operand of an operation, or a further result of
    it: the first result of an operation is its own.
    """
    if not body.around.derived:
        return False
    equation = body.equations[number]
    name = equation.primitive.name
    # A loop that only pushes tangents forward has no residuals: its first stacked result is its own as well.
    own = versions.scan_counts(equation.params)[1] + body.around.pushed if name == "scan" else 1
    if name == "shard_map" and versions.SHARD_MAP_KEEPS_FIRST:
        if position < len(equation.outvars) - 1:
            return True
    elif name in ("jit", "pjit", "scan", "cond", "shard_map") and position >= own:
        return True
    variable, results = equation.outvars[position], body.uses.results
    same = [one for one in body.of_one_operation(equation) if one in inside]
    beside = [one for other in same if other != number for one in body.equations[other].outvars]
    return _is_taken_in(body, variable, inside.difference(same)) or any(
        is_taken(body, one, inside, depth)
        or _is_taken_in(body, one, inside.difference(same))
        or (one in results and results[one] < results[variable])
        for one in beside
    )


def _is_beside(body: BodyWithFrames, number: int, position: int, inside: set[int]) -> bool:
    """Whether JAX computes this result beside the operation's own, the first, for the derivative."""
    equation = body.equations[number]
    if equation.primitive.name in ("jit", "pjit"):
        paths = equation.params["jaxpr"].jaxpr.debug_info.result_paths
        return position > 0 and len(paths or ()) != len(equation.outvars)
    return any(one < number for one in body.of_one_operation(equation) if one in inside)


def _is_taken_in(body: BodyWithFrames, variable: Any, equations: set[int]) -> bool:
    return not equations.isdisjoint(body.uses.consumers.get(variable, ()))


def _is_in_rule(levels: Sequence[Level]) -> bool:
    """Whether these frames lead to a derivative rule in which nothing is differentiated."""
    own = [number for number, level in enumerate(levels) if level.runs_rule]
    return bool(own) and not any(level.derivatives for level in levels[own[-1] + 1 :])
