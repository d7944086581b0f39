"""Add operands to an equation that runs programs, and inputs for them to these programs.

A program inside (the body of a loop, a branch) sees only its own variables. A pass that needs a variable from outside
uses it inside directly, and closes the equation over it afterwards: the variable becomes an operand of the equation and
an input of each of its programs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.api_util import shaped_abstractify
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core, effects, pe, sharding_impls
from jax_debug_widgets._jax.compat.private import linear_util as lu

_CALLS = frozenset({"jit", "pjit", *versions.CALLS, "checkpoint", "remat", "remat2"})
_RULES = frozenset({"custom_jvp_call", "custom_vjp_call"})


@functools.cache
def _fillers() -> Mapping[str, Any]:
    """Return, for each parameter with an entry for each operand, the entry for an added operand."""
    return {
        "in_shardings": sharding_impls.UNSPECIFIED,
        "in_layouts": None,
        "donated_invars": False,
        "in_specs": jax.sharding.PartitionSpec(),
    }


def _number(shape: tuple[int, ...] = ()) -> Any:
    return core.ShapedArray(shape, np.dtype("int32"))


def new_number() -> Any:
    """Return a new variable for an int32."""
    return core.Var(_number())


def with_programs(equation: core.JaxprEqn, rewrite: Callable[[str, core.Jaxpr], core.Jaxpr]) -> core.JaxprEqn:
    """Return the equation with each program in its parameters replaced by `rewrite(key, program)`.

    A branch has the key `branch_1_fun`.
    """

    def rewritten(key: str, value: Any) -> Any:
        if isinstance(value, tuple):
            parts = (rewritten(f"branch_{index}_fun", part) for index, part in enumerate(value))
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, ClosedJaxpr):
            return value.replace(jaxpr=rewrite(key, value.jaxpr))
        return rewrite(key, value) if isinstance(value, core.Jaxpr) else value

    return equation.replace(params={key: rewritten(key, value) for key, value in equation.params.items()})


def can_close(equation: core.JaxprEqn, *, in_mesh: bool = False) -> bool:
    """Whether `close_over` can hand operands to the programs inside this equation.

    Args:
      in_mesh: whether to accept a `shard_map` too, which is safe if no transformation comes after.
    """
    if any(isinstance(effect, effects.JaxprInputEffect) for effect in equation.effects):
        return False  # Their effects refer to inputs by position.
    name = equation.primitive.name
    return name in ("scan", "while", "cond") or name in _CALLS or name in _RULES or (in_mesh and name == "shard_map")


def close_over(equation: core.JaxprEqn, variables: Sequence[Any]) -> core.JaxprEqn:
    """Return the equation with further operands: variables that its programs use become inputs of these programs.

    Args:
      equation: an equation for which `can_close` holds.
      variables: variables that may occur inside, and are defined outside before the equation.
    """
    if not variables:
        return equation
    more, params, operands = list(variables), dict(equation.params), list(equation.invars)
    count = len(more)
    match equation.primitive.name:
        case "scan":
            place, _ = versions.scan_counts(params)
            params = versions.more_of_scan(params, place, read=count)
            params["jaxpr"] = with_inputs(params["jaxpr"], place, more)
        case "while":
            place, body = params["cond_nconsts"], params["body_nconsts"]
            params["cond_jaxpr"] = with_inputs(params["cond_jaxpr"], place, more)
            params["body_jaxpr"] = with_inputs(params["body_jaxpr"], body, more)
            params["cond_nconsts"], params["body_nconsts"] = place + count, body + count
            operands[place + body : place + body] = more
        case "cond":
            place = len(operands)
            params["branches"] = tuple(with_inputs(one, place - 1, more) for one in params["branches"])
        case name if name in _RULES:
            # The first operands are closed over: the user's derivative rules do not get them.
            place, key = params["num_consts"], "call_jaxpr"
            params["num_consts"] += count
            params[key] = with_inputs(params[key], place, more)
            if "out_trees" in params:
                params["out_trees"] = _behind(count, params["out_trees"])
        case _:
            place, key = len(operands), "jaxpr" if "jaxpr" in params else "call_jaxpr"
            params[key] = with_inputs(params[key], place, more)
            present = [name for name in _fillers() if name in params]
            params |= {name: (*params[name], *[_fillers()[name]] * count) for name in present}
    operands[place:place] = more
    return equation.replace(invars=operands, params=params)


def with_counter(equation: core.JaxprEqn, counter: Any) -> core.JaxprEqn:
    """Return a `scan` or `while` whose programs may use `counter`, a `new_number()`: how often the body has run, from 0."""
    params, operands, results = dict(equation.params), list(equation.invars), list(equation.outvars)
    if equation.primitive.name == "scan":
        read, at_end = versions.scan_counts(params)
        key, place = "jaxpr", read + at_end
        params = versions.more_of_scan(params, place, carried=1)
        carried, also = counter, ()
    else:
        key, place, at_end = "body_jaxpr", len(operands), len(results)
        # Where lanes finish one by one, JAX selects the carry by lane. Each lane has a counter, and the highest one
        # counts.
        lanes = params["cond_jaxpr"].jaxpr.outvars[0].aval.shape
        carried: Any = core.Var(_number(lanes)) if lanes else counter
        also = ("cond_jaxpr",)
    operands.insert(place, core.Literal(np.zeros(carried.aval.shape, np.int32)[()], carried.aval))
    for program in (key, *also):
        inside = params[program].jaxpr
        at = place if key == "jaxpr" else len(inside.invars)
        if carried is not counter:
            furthest, _ = computed(lambda each: lax.reduce_max(each, range(each.ndim)), [carried], counter)
            inside = inside.replace(eqns=[*furthest, *inside.eqns])
        if program == "cond_jaxpr" and len(equation.invars) == 1:
            inside = _with_opaque_outcome(inside, carried)
        params[program] = params[program].replace(jaxpr=with_inputs(inside, at, [carried]))
    count, following = computed(lambda each: lax.add(each, np.int32(1)), [carried])
    body = params[key].jaxpr
    outputs = [*body.outvars[:at_end], following, *body.outvars[at_end:]]
    body = body.replace(eqns=[*body.eqns, *count], outvars=outputs, debug_info=body.debug_info.with_unknown_names())
    params[key] = params[key].replace(jaxpr=body)
    results.insert(at_end, core.DropVar(carried.aval))
    return equation.replace(invars=operands, outvars=results, params=params)


def _with_opaque_outcome(condition: core.Jaxpr, counter: Any) -> core.Jaxpr:
    """Return the condition of a `while` in a form that hides the number of iterations from XLA.

    If XLA knew the number, it could remove the loop with its prints.

    XLA looks for that in loops with several operands only: not in the user's, and so not in that with a counter either.
    """
    also, outcome = computed(lambda goes_on, count: goes_on & (count >= 0), [*condition.outvars, counter])
    return condition.replace(eqns=[*condition.eqns, *also], outvars=[outcome])


def computed(
    function: Callable[..., Any], operands: Sequence[Any], result: Any = None
) -> tuple[list[core.JaxprEqn], Any]:
    """Trace `function` for the variables `operands`; return its equations, and the variable of its result.

    Args:
      function: takes arrays; returns one array.
      operands: variables of the program.
      result: the variable of the result; a new one by default.
    """
    program = _traced(lambda *values: [function(*values)], operands)
    result = core.Var(program.outvars[0].aval) if result is None else result
    names = dict(zip(program.invars, operands, strict=True)) | {program.outvars[0]: result}
    return renamed(program.eqns, names), result


def computed_for(
    function: Callable[..., Sequence[Any]], operands: Sequence[Any]
) -> tuple[list[core.JaxprEqn], list[Any]]:
    """Return the equations of `function(*operands)`, and the atoms that hold its results.

    `jax.make_jaxpr` is not used, because it jits the function, which takes three times as long.
    """
    types = [shaped_abstractify(versions.type_of(operand.aval)) for operand in operands]
    program, _, constants = pe.trace_to_jaxpr_dynamic(_wrapped(function), types)
    # Constants come first, either as `constvars` or, since jax 0.8, as inputs.
    inputs = [*program.constvars, *program.invars]
    values = [core.Literal(value, one.aval) for value, one in zip(constants, inputs, strict=False)]
    names = dict[Any, Any](zip(inputs, [*values, *operands], strict=True))
    equations = renamed(program.eqns, names)
    return equations, [one if isinstance(one, core.Literal) else names[one] for one in program.outvars]


def done(function: Callable[..., Any], operands: Sequence[Any]) -> list[core.JaxprEqn]:
    """Return the equations of `function(*operands)`, which returns nothing."""
    program = _traced(lambda *values: function(*values) or [], operands)
    return renamed(program.eqns, dict(zip(program.invars, operands, strict=True)))


def _traced(function: Callable[..., list[Any]], operands: Sequence[Any]) -> core.Jaxpr:
    # Use the variables' own types: in a `shard_map` they contain the mesh axes over which a value varies.
    return pe.trace_to_jaxpr_dynamic(_wrapped(function), [operand.aval for operand in operands])[0]


def _wrapped(function: Callable[..., Sequence[Any]]) -> Any:
    return lu.wrap_init(function, debug_info=core.DebugInfo("computed", "operands", None, None))


def renamed(equations: Sequence[core.JaxprEqn], names: dict[Any, Any]) -> list[core.JaxprEqn]:
    """Return a copy of the equations with other variables, by `names`; new variables for results are added to `names`.

    Variables that are computed elsewhere and are not in `names` stay.
    """
    copies = []
    for equation in equations:
        for variable in equation.outvars:
            names.setdefault(variable, core.Var(variable.aval))
        operands = [atom if isinstance(atom, core.Literal) else names.get(atom, atom) for atom in equation.invars]
        copies.append(equation.replace(invars=operands, outvars=[names[variable] for variable in equation.outvars]))
    return copies


def with_inputs(program: Any, place: int, variables: Sequence[Any]) -> Any:
    """Return a `Jaxpr` or `ClosedJaxpr` (one class since jax 0.11) with these variables as inputs from position `place` on."""
    if not isinstance(program, core.Jaxpr):
        return program.replace(jaxpr=with_inputs(program.jaxpr, place, variables))
    inputs = [*program.invars[:place], *variables, *program.invars[place:]]
    return program.replace(invars=inputs, debug_info=program.debug_info.with_unknown_names())


def used_in(equation: core.JaxprEqn, variables: Sequence[Any]) -> list[Any]:
    """Return the members of `variables` that occur free in the programs inside the equation."""
    occurring = {atom for jaxpr in core.jaxprs_in_params(equation.params) for atom in _free(jaxpr)}
    return [one for one in variables if isinstance(one, core.Var) and one in occurring]


def _free(jaxpr: core.Jaxpr) -> Iterator[Any]:
    """Yield the variables that a program uses and does not define, also those of programs inside it."""
    defined = {*jaxpr.constvars, *jaxpr.invars}
    for equation in jaxpr.eqns:
        yield from (atom for atom in equation.invars if isinstance(atom, core.Var) and atom not in defined)
        defined.update(equation.outvars)
    yield from (atom for atom in jaxpr.outvars if isinstance(atom, core.Var) and atom not in defined)


def _behind(count: int, out_trees: Callable[[], tuple[Any, Any, list[int | None]]]) -> Callable[[], Any]:
    """Return `out_trees` of a `custom_vjp` with `count` added to the positions of operands that are residuals."""

    def shifted() -> tuple[Any, Any, list[int | None]]:
        results, residuals, forwarded = out_trees()
        return results, residuals, [None if place is None else place + count for place in forwarded]

    return shifted
