"""Find the events that are phantoms: `vmap` runs code that the user's program would not have run.

With a batched predicate, a `cond` becomes a `select` of all branches, and a `while` goes on until its last lane has finished.
So just before JAX batches one of these, its debugging equations get one more operand, their *guard*: whether the event of a
lane is real. It is computed from the predicate and changes nothing else. For the condition of a `while` see `conditions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat.caching import cached
from jax_debug_widgets._jax.compat.private import batching, core
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted
from jax_debug_widgets._jax.origins.equation import Lanes
from jax_debug_widgets._jax.origins.kernel_prints import has_debugging
from jax_debug_widgets._jax.passes.callbacks import has_callbacks
from jax_debug_widgets._jax.passes.conditions import CAUSE, counting, with_presence
from jax_debug_widgets._jax.passes.operands import (
    can_close,
    close_over,
    computed,
    renamed,
    used_in,
    with_inputs,
    with_programs,
)
from jax_debug_widgets._jax.passes.tap import as_tap, debugging_primitives


def batch_cond(
    theirs: Any, axis: Any, operands: Sequence[Any], dims: Sequence[Any], **params: Any
) -> Callable[[], Any]:
    """Call JAX's batching rule for `cond`, with guards in the branches if they become a `select`."""
    branches, index_dim = params["branches"], dims[0]
    becomes_select = index_dim is not None and "branches_platforms" not in params
    if not becomes_select or not any(has_debugging(branch.jaxpr) for branch in branches):
        return partial(theirs, axis, operands, dims, **params)
    batched = core.typeof(operands[0])
    which = core.mapped_aval(batched.shape[index_dim], index_dim, batched)
    params["branches"] = tuple(_guarded_branch(branch, index, which) for index, branch in enumerate(branches))
    return partial(theirs, axis, [*operands, operands[0]], [*dims, index_dim], **params)


def batch_while(
    theirs: Any, axis: Any, operands: Sequence[Any], dims: Sequence[Any], **params: Any
) -> Callable[[], Any]:
    """Call JAX's batching rule for `while`, with guards in the body and condition if lanes may finish at different times."""
    body, condition = params["body_jaxpr"], params["cond_jaxpr"]
    in_body, in_condition = has_debugging(body.jaxpr), has_debugging(condition.jaxpr)
    # If an inner `vmap` has batched the predicate, the guards exist already, and are batched like the predicate.
    is_guarded = bool(condition.out_avals[0].shape)
    # If the lanes are sharded explicitly (`AxisType.Explicit`), our equations would need shardings too.
    is_explicit = getattr(axis, "explicit_mesh_axis", None) is not None
    if is_guarded or is_explicit or not (in_body or in_condition) or not _predicate_is_batched(axis, dims, **params):
        return partial(theirs, axis, operands, dims, **params)
    if in_body:
        operands, dims, params = _with_guarded_body(operands, dims, params)
    if not in_condition:
        return partial(theirs, axis, operands, dims, **params)
    params |= {"body_jaxpr": counting(params["body_jaxpr"]), "cond_jaxpr": _guarded_condition(condition)}

    def batch() -> Any:
        results, their_dims = theirs(axis, [*operands, np.int32(0)], [*dims, None], **params)
        return results[:-1], their_dims[:-1]

    return batch


def _with_guarded_body(
    operands: Sequence[Any], dims: Sequence[Any], params: dict[str, Any]
) -> tuple[Sequence[Any], Sequence[Any], dict[str, Any]]:
    body, split, consts = params["body_jaxpr"], params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    guarded = _guarded_body(body, params["cond_jaxpr"], split, params["body_nconsts"])
    if guarded is body:
        return operands, dims, params
    params = params | {"body_jaxpr": guarded, "body_nconsts": consts}
    operands = [*operands[:consts], *operands[:split], *operands[consts:]]
    return operands, [*dims[:consts], *dims[:split], *dims[consts:]], params


@uninterrupted()
def _predicate_is_batched(
    axis: Any, dims: Sequence[Any], cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int
) -> bool:
    """Repeat JAX's fixed-point search for whether the loop predicate is batched; JAX does not expose its result."""
    batched = [dim is not None for dim in dims]
    in_condition, in_body = batched[:cond_nconsts], batched[cond_nconsts : cond_nconsts + body_nconsts]
    carry = batched[cond_nconsts + body_nconsts :]
    try:
        while True:
            _, after = batching.batch_jaxpr(body_jaxpr, axis, in_body + carry, instantiate=carry)
            if after == carry:
                break
            carry = [one or other for one, other in zip(carry, after, strict=True)]
        return batching.batch_jaxpr(cond_jaxpr, axis, in_condition + carry, instantiate=False)[1][0]
    except Exception:  # noqa: BLE001 - JAX's own rule will raise the same, for the user.
        return False


# Cached, so that un-jitted code that runs this again finds its inner functions compiled.
@cached
def _guarded_branch(branch: Any, index: int, kind: Any) -> Any:
    """Guard a branch: its new last input, an int32 of type `kind`, is the index of the branch that is taken."""
    which = core.Var(kind)
    is_taken, taken = computed(lambda which: lax.eq(which, np.int32(index)), [which])
    jaxpr = _guarded(branch.jaxpr, taken, "cond")
    jaxpr = jaxpr.replace(eqns=[*is_taken, *jaxpr.eqns])
    return branch.replace(jaxpr=with_inputs(jaxpr, len(jaxpr.invars), [which]))


@cached
def _guarded_body(body: Any, condition: Any, cond_nconsts: int, body_nconsts: int) -> Any:
    """Guard a body by its loop's condition; the condition's constants become inputs after the body's own.

    The body is returned as it is if the condition must not run a second time.
    """
    carry = body.jaxpr.invars[body_nconsts:]
    consts = [core.Var(variable.aval) for variable in condition.jaxpr.invars[:cond_nconsts]]
    holding = _copied(condition.jaxpr, [*consts, *carry])
    if holding is None:
        return body
    equations, constants, active = holding
    jaxpr = _guarded(body.jaxpr, active, "while")
    jaxpr = jaxpr.replace(eqns=[*equations, *jaxpr.eqns], constvars=[*jaxpr.constvars, *constants])
    return ClosedJaxpr(with_inputs(jaxpr, body_nconsts, consts), [*body.consts, *condition.consts])


@cached
def _guarded_condition(condition: Any) -> Any:
    return condition.replace(jaxpr=with_presence(condition.jaxpr, _guarded))


def nowhere(condition: core.Jaxpr) -> core.Jaxpr:
    """Guard the condition of a `while` so that its debugging equations are phantoms in all lanes."""
    nobody = core.Literal(np.False_, core.ShapedArray((), np.dtype("bool")))
    return _guarded(condition, nobody, CAUSE, _with_this_guard)


def _copied(jaxpr: core.Jaxpr, inputs: Sequence[Any]) -> tuple[list[core.JaxprEqn], list[Any], Any] | None:
    """Copy the equations that compute the only output of a program, for other inputs.

    Return the equations, the variables of the constants, and the output. Return None if the equations must not run a
    second time, because they have effects or call the host.
    """
    needed, equations = {jaxpr.outvars[0]}, []
    for equation in reversed(jaxpr.eqns):
        if needed.isdisjoint(equation.outvars):
            continue
        if equation.effects or has_callbacks(jaxpr.replace(eqns=[equation])):
            return None
        needed.update(atom for atom in equation.invars if isinstance(atom, core.Var))
        equations.append(equation)
    constants = [core.Var(variable.aval) for variable in jaxpr.constvars]
    names: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *inputs), strict=True))
    copies = renamed(equations[::-1], names)
    output = jaxpr.outvars[0]
    return copies, constants, output if isinstance(output, core.Literal) else names[output]


def _guarded(jaxpr: core.Jaxpr, guard: Any, cause: str, with_guard: Any = None) -> core.Jaxpr:
    """Return the program with `guard`, a variable that it does not define, as an operand of its debugging equations."""
    with_guard = with_guard or _with_guard
    equations: list[core.JaxprEqn] = []
    for equation in jaxpr.eqns:
        if equation.primitive in debugging_primitives():
            equations += with_guard(equation, guard, cause)
        elif any(map(has_debugging, core.jaxprs_in_params(equation.params))) and can_close(equation):
            inner = with_programs(equation, lambda _key, program: _guarded(program, guard, cause, with_guard))
            equations.append(close_over(inner, used_in(inner, [guard])))
        else:
            equations.append(equation)
    return jaxpr.replace(eqns=equations)


def _with_guard(equation: core.JaxprEqn, guard: Any, cause: str) -> list[core.JaxprEqn]:
    equation = as_tap(equation)
    params = dict(equation.params)
    if not params["guards"]:
        return _with_this_guard(equation, guard, cause)
    *values, before = equation.invars
    params["guards"] = (*params["guards"], cause)
    anded, both = computed(lambda inner, outer: inner & outer, [before, guard])
    return [*anded, equation.replace(invars=[*values, both], params=params)]


def _with_this_guard(equation: core.JaxprEqn, guard: Any, cause: str) -> list[core.JaxprEqn]:
    """Make a tap of a debugging equation, with the scalar `guard` as its only guard."""
    equation = as_tap(equation)
    params, lanes = dict(equation.params), equation.params["lanes"]
    count = len(equation.invars) - bool(params["guards"])
    params |= {"guards": (cause,), "lanes": Lanes(lanes.sizes, (*lanes.mapped[:count], (False,) * len(lanes.sizes)))}
    return [equation.replace(invars=[*equation.invars[:count], guard], params=params)]
