"""Find batched loops that run on for lanes whose results a choice leaves out.

Under `vmap` a `cond` becomes a `select_n` of the results of all branches, as `jnp.where` does, and a loop ends when its
condition is false in all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Frame, frames_in_body
from jax_debug_widgets._jax.passes.watch_pass import is_jaxs

LaneLoop = tuple[Frame, Frame]
"""The line of the loop, and the line of the choice."""


def lane_loops(jaxpr: core.Jaxpr, around: tuple[Frame, ...] = ()) -> Iterator[LaneLoop]:
    """Yield such loops in the user's functions, including those in functions that the program calls."""
    for equation in jaxpr.eqns:
        frames = (*frames_in_body(equation.source_info.traceback, jaxpr, around), *around)
        if _is_of_lanes(equation) and frames:
            for choice in _choices(jaxpr, equation):
                yield from (
                    (frames[0], line) for line in frames_in_body(choice.source_info.traceback, jaxpr, around)[:1]
                )
        for inner in core.jaxprs_in_params(equation.params):
            yield from lane_loops(getattr(inner, "jaxpr", inner), frames)


def _is_of_lanes(equation: core.JaxprEqn) -> bool:
    if equation.primitive.name != "while" or not equation.params["cond_jaxpr"].out_avals[0].shape:
        return False
    return not all(is_jaxs(equation.params[name].jaxpr) for name in ("cond_jaxpr", "body_jaxpr"))


def _choices(jaxpr: core.Jaxpr, loop: core.JaxprEqn) -> list[core.JaxprEqn]:
    """Return the choice that all results of a loop go through, in a list; [] if a result is used otherwise."""
    results = set(loop.outvars)
    users = [one for one in jaxpr.eqns if results.intersection(_variables(one.invars))]
    is_chosen = all(
        one.primitive.name == "select_n" and one.invars[0] not in results for one in users
    ) and not results.intersection(_variables(jaxpr.outvars))
    return users[:1] if is_chosen else []


def _variables(atoms: Sequence[Any]) -> list[core.Var]:
    return [one for one in atoms if isinstance(one, core.Var)]
