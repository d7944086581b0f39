"""Mark the evaluations of a `while`'s condition that a lane's own program would not make.

If `vmap` batches the predicate, JAX goes on until the last lane has finished, and evaluates the condition twice in each
iteration: once to decide whether to go on, and once in the body, to select the lanes that take the result. A lane's own
program evaluates it only in the first way, until the lane has finished. So the loop gets a counter, which stops for a
lane that has finished, and the taps of the evaluation in the body are all phantoms.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr
from jax.sharding import AxisType

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.caching import cached
from jax_debug_widgets._jax.compat.private import core, effects
from jax_debug_widgets._jax.origins.kernel_prints import has_debugging
from jax_debug_widgets._jax.passes.callbacks import has_callbacks
from jax_debug_widgets._jax.passes.operands import computed, new_number, renamed, with_inputs

CAUSE = "condition"
"""The name, in a tap's `guards`, of the guard in a loop's condition."""


@jax.custom_batching.custom_vmap
def _furthest(count: Any) -> Any:
    """Return the highest count of all lanes: how often the loop itself has run."""
    return count


@_furthest.def_vmap
def _of_all_lanes(_size: int, _batched: Any, count: Any) -> Any:
    return _furthest(count.max(0)), False


@cached
def counting(body: Any) -> Any:
    """Add a carried int32 to the body of a `while`: the number of times that it has run."""
    counter = new_number()
    count, following = computed(lambda each: lax.add(each, np.int32(1)), [counter])
    inside = body.jaxpr
    equations, outputs = [*inside.eqns, *count], [*inside.outvars, following]
    inside = inside.replace(eqns=equations, outvars=outputs, debug_info=inside.debug_info.with_unknown_names())
    return body.replace(jaxpr=with_inputs(inside, len(inside.invars), [counter]))


def with_presence(condition: core.Jaxpr, guarded: Any) -> core.Jaxpr:
    """Return the condition of a `counting` loop with a guard, which `guarded(jaxpr, guard, cause)` adds.

    The count of a finished lane is below the highest count. On each device lanes may finish at other times.
    """
    counter, kind = new_number(), condition.outvars[0].aval
    equations, present = computed(lambda count: versions.varying_like(lax.eq(count, _furthest(count)), kind), [counter])
    jaxpr = guarded(condition, present, CAUSE)
    jaxpr = jaxpr.replace(eqns=[*equations, *jaxpr.eqns])
    return with_inputs(jaxpr, len(jaxpr.invars), [counter])


def is_asked_twice(equation: core.JaxprEqn) -> bool:
    """Whether JAX would lower the condition of a `while` twice, and `with_one_predicate` can replace that lowering."""
    is_while = equation.primitive is lax.while_p
    if not is_while or not can_have_one_predicate(equation):
        return False
    condition = equation.params["cond_jaxpr"].jaxpr
    return has_debugging(condition) or has_callbacks(condition)


def can_have_one_predicate(equation: core.JaxprEqn) -> bool:
    """Whether the lanes of a `while` end one by one, and `with_one_predicate` supports it."""
    # With ordered effects JAX lowers it in another way. Effects on a `Ref` refer to operands by position. With explicit
    # shardings (`AxisType.Explicit`), `with_one_predicate` would have to give shardings too.
    predicate = equation.params["cond_jaxpr"].out_avals[0]
    is_explicit = AxisType.Explicit in predicate.sharding.mesh.axis_types
    is_ordered = bool(effects.ordered_effects.filter_in(equation.params["cond_jaxpr"].effects))
    has_refs = any(isinstance(effect, effects.JaxprInputEffect) for effect in equation.effects)
    return bool(predicate.shape) and not (is_ordered or has_refs or is_explicit)


def with_one_predicate(equation: core.JaxprEqn, again: core.Jaxpr) -> core.JaxprEqn:
    """Write a `while` as JAX would lower it: one predicate for all lanes, and `again` evaluated for each lane in the body.

    Args:
      equation: a `while` for which `can_have_one_predicate` holds.
      again: its condition, with the same inputs and constants.
    """
    params = dict(equation.params)
    asking, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
    split, in_body = params["cond_nconsts"], params["body_nconsts"]
    any_lane, goes_on = computed(lambda lanes: lax.reduce_or(lanes, range(lanes.ndim)), asking.outvars)
    asking = asking.replace(eqns=[*asking.eqns, *any_lane], outvars=[goes_on])

    consts = [core.Var(variable.aval) for variable in again.invars[:split]]
    constants = [core.Var(variable.aval) for variable in again.constvars]
    before = body.invars[in_body:]
    names: dict[Any, Any] = dict(zip((*again.constvars, *again.invars), (*constants, *consts, *before), strict=True))
    equations = [*body.eqns, *renamed(again.eqns, names)]
    running, results = names[again.outvars[0]], []
    for old, new in zip(before, body.outvars, strict=True):
        selection, result = computed(_selected, [running, new, old])
        equations += selection
        results.append(result)
    body = body.replace(
        constvars=[*body.constvars, *constants],
        eqns=equations,
        outvars=results,
        effects=body.effects | again.effects,
        debug_info=body.debug_info.with_unknown_names(),
    )
    closed = ClosedJaxpr(with_inputs(body, 0, consts), [*params["body_jaxpr"].consts, *params["cond_jaxpr"].consts])
    params |= {"cond_jaxpr": params["cond_jaxpr"].replace(jaxpr=asking), "body_jaxpr": closed}
    params["body_nconsts"] += split
    operands = [*equation.invars[:split], *equation.invars]
    return equation.replace(invars=operands, params=params)


def _selected(running: Any, new: Any, old: Any) -> Any:
    """Select for each lane the new value or, if the lane has finished, the old one; the lanes are the first axes."""
    return lax.select(lax.broadcast_in_dim(running, new.shape, range(running.ndim)), new, old)
