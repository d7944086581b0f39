"""Run the watched version of a loop's body, or of a program, every n-th time only, and the plain one otherwise.

A loop becomes a loop of turns: each runs the watched body once, and then the plain body in an inner loop; in a backward
pass the plain ones come first. A switch in each iteration would cost more, because XLA copies the values that go
through it. A switch is used for bodies with prints of their own (their loop must not change), for unrolled loops, and
if random keys are stacked. In `shard_map`, where types contain how values vary over the mesh, the switch is beside the
values (`watch_tap.py`). On a GPU, which asks the host at each switch, the kernels look at a condition beside the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jax_core

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.private import core, debugging, mlir
from jax_debug_widgets._jax.compat.registrations import registers
from jax_debug_widgets._jax.origins.place import VERSION
from jax_debug_widgets._jax.passes.emit import emit_answer_call

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr

ask_p = jax_core.Primitive("ask_host")
"""Returns a boolean from the host function `answer` each time the program runs."""


@ask_p.def_effectful_abstract_eval
def _ask_abstract_eval(answer: Any) -> tuple[Any, set[Any]]:
    del answer
    return core.ShapedArray((), np.dtype(bool)), {debugging.debug_effect}


@registers(features.CAPTURE)
def _register() -> None:
    mlir.register_lowering(ask_p, emit_answer_call, cacheable=False)


def is_long(equation: Any, every: int) -> bool:
    """Whether an equation is a loop that runs often enough for its iterations to be sampled."""
    if equation.primitive.name == "while":
        return _can_take_turns(equation) or not _lanes_that_end(equation.params)
    return equation.primitive.name == "scan" and equation.params["length"] >= every


def has_long_loop(jaxpr: Any, every: int) -> bool:
    """Whether a program has a loop that `is_long`."""
    return any(
        is_long(equation, every) or any(has_long_loop(one, every) for one in core.jaxprs_in_params(equation.params))
        for equation in jaxpr.eqns
    )


def by_call(plain: ClosedJaxpr, watched: ClosedJaxpr, takes: Callable[[], bool]) -> ClosedJaxpr:
    """Make a program that is `watched` in the calls that `takes` chooses."""

    def answer() -> tuple[np.ndarray]:
        return (np.array(takes()),)

    def either(*operands: Any) -> Any:
        return lax.cond(ask_p.bind(answer=answer), _version(watched), _version(plain), *operands)

    traced = _traced(either, plain.in_avals)
    return traced.replace(jaxpr=traced.jaxpr.replace(debug_info=plain.jaxpr.debug_info))


def by_iteration(equation: Any, watched: Any, every: int) -> list[Any]:
    """Return the equations of a loop that runs the body `watched` in its first iteration and every n-th after it.

    A loop that runs from its end does so in the same iterations.
    """
    is_scan = equation.primitive.name == "scan"
    if _can_take_turns(equation):
        loop = _scan_in_turns if is_scan else _while_in_turns
        return [_call(equation, loop(equation.params, watched, every))]
    if is_scan:
        return _scan(equation, watched, every)
    return [_while(equation, watched, every)]


def _can_take_turns(equation: Any) -> bool:
    if equation.effects:
        return False
    has_keys = any(jax.dtypes.issubdtype(one.aval.dtype, jax.dtypes.extended) for one in equation.outvars)
    return not has_keys and equation.params.get("unroll", 1) == 1


def _lanes_that_end(params: Any) -> tuple[int, ...]:
    """Return the shape of the condition of a `while`: under `vmap` its lanes may end one by one."""
    return params["cond_jaxpr"].out_avals[0].shape


def _call(equation: Any, function: Callable[..., Any]) -> Any:
    """Replace an equation by a call of `function`, with the same operands and results."""
    program = _traced(function, [atom.aval for atom in equation.invars])
    return equation.replace(
        primitive=core.closed_call_p,
        params={"call_jaxpr": program},
        effects=program.effects,
    )


def _turns(goes_on: Callable[[Any], Any], watched: Any, plain: Any, every: int, state: Any) -> Any:
    """While `goes_on(state)`, run `watched` once and `plain` up to `every - 1` times; return the last state."""

    def turn(state: Any) -> Any:
        def is_plain(numbered: Any) -> Any:
            number, state = numbered
            return (number < every) & goes_on(state)

        def run_plain(numbered: Any) -> Any:
            number, state = numbered
            return number + 1, plain(state)

        return lax.while_loop(is_plain, run_plain, (np.int32(1), watched(state)))[1]

    return lax.while_loop(goes_on, turn, state)


def _turns_back(is_last: Any, is_watched: Any, watched: Any, plain: Any, state: Any) -> Any:
    """Until `is_last(state)`, run `plain` while not `is_watched(state)`, then `watched` once; return the last state.

    A backward pass is watched where its forward pass is, in iterations counted from the start: so it ends with a
    watched iteration.
    """

    def turn(state: Any) -> Any:
        return watched(lax.while_loop(lambda state: ~is_watched(state), plain, state))

    return lax.while_loop(lambda state: ~is_last(state), turn, state)


def _while_in_turns(params: Any, watched: ClosedJaxpr, every: int) -> Callable[..., Any]:
    cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    lanes = _lanes_that_end(params)

    def loop(*operands: Any) -> Any:
        asked, used = operands[:cond_count], operands[cond_count : cond_count + body_count]

        def which_go_on(state: Any) -> Any:
            return core.jaxpr_as_fun(params["cond_jaxpr"])(*asked, *state)[0]

        def run(body: ClosedJaxpr) -> Callable[[Any], Any]:
            def step(state: Any) -> Any:
                new = core.jaxpr_as_fun(body)(*used, *state)
                if not lanes:
                    return new
                go_on = which_go_on(state)
                return [_where(go_on, one, other) for one, other in zip(new, state, strict=True)]

            return step

        initial = list(operands[cond_count + body_count :])
        return _turns(lambda state: which_go_on(state).any(), run(watched), run(params["body_jaxpr"]), every, initial)

    return loop


def _where(lanes: Any, new: Any, old: Any) -> Any:
    """Take `new` for the lanes of a `while` that go on, and `old` for those that have ended, as JAX does."""
    return lax.select(lax.broadcast_in_dim(lanes, new.shape, range(lanes.ndim)), new, old)


def _scan_in_turns(params: Any, watched: ClosedJaxpr, every: int) -> Callable[..., Any]:
    plain, length, reverse = params["jaxpr"], params["length"], params["reverse"]
    const_count, carry_count = versions.scan_counts(params)

    def loop(*operands: Any) -> Any:
        used, carry = operands[:const_count], list(operands[const_count : const_count + carry_count])
        slices = operands[const_count + carry_count :]
        made = [jnp.zeros((length, *one.shape), one.dtype) for one in plain.out_avals[carry_count:]]

        def run(body: ClosedJaxpr) -> Callable[[Any], Any]:
            def step(state: Any) -> Any:
                number, carry, made = state
                at = length - 1 - number if reverse else number
                current = [lax.dynamic_index_in_dim(one, at, keepdims=False) for one in slices]
                results = core.jaxpr_as_fun(body)(*used, *carry, *current)
                carry, new = results[:carry_count], results[carry_count:]
                updated = [
                    lax.dynamic_update_index_in_dim(one, part, at, 0) for one, part in zip(made, new, strict=True)
                ]
                return number + 1, list(carry), updated

            return step

        initial = np.int32(0), carry, made
        _, carry, made = turns(run(watched), run(plain), initial)
        return [*carry, *made]

    def turns(watched: Any, plain: Any, state: Any) -> Any:
        if not reverse:
            return _turns(lambda state: state[0] < length, watched, plain, every, state)

        def is_watched(state: Any) -> Any:
            return lax.rem(length - 1 - state[0], np.int32(every)) == 0

        return _turns_back(lambda state: state[0] == length, is_watched, watched, plain, state)

    return loop


def _scan(equation: Any, watched: ClosedJaxpr, every: int) -> list[Any]:
    params = equation.params
    numbers = jax.make_jaxpr(lambda: lax.iota(jnp.int32, params["length"]))().jaxpr
    body = _switched(params["jaxpr"], watched, every)
    (iota,) = (one.replace(source_info=equation.source_info) for one in numbers.eqns)
    scan = equation.replace(
        invars=[*equation.invars, iota.outvars[0]],
        params={**versions.more_of_scan(params, len(equation.invars), sliced=1), "jaxpr": body},
        effects=equation.effects | {debugging.debug_effect},
    )
    return [iota, scan]


def _while(equation: Any, watched: ClosedJaxpr, every: int) -> Any:
    params = equation.params
    condition, plain = params["cond_jaxpr"], params["body_jaxpr"]
    switched = _switched(plain, watched, every)

    def counted(*operands: Any) -> Sequence[Any]:
        return [*core.jaxpr_as_fun(switched)(*operands), operands[-1] + 1]

    def asked(*operands: Any) -> Any:
        return core.jaxpr_as_fun(condition)(*operands[:-1])

    counter = core.ShapedArray((), np.dtype(np.int32))
    return equation.replace(
        invars=[*equation.invars, core.Literal(np.int32(0), counter)],
        outvars=[*equation.outvars, core.DropVar(counter)],
        params={
            **params,
            "cond_jaxpr": _traced(asked, [*condition.in_avals, counter]),
            "body_jaxpr": _traced(counted, [*plain.in_avals, counter]),
        },
        effects=equation.effects | {debugging.debug_effect},
    )


def _switched(plain: ClosedJaxpr, watched: ClosedJaxpr, every: int) -> ClosedJaxpr:
    """Return the body with the number of the iteration as its last operand."""

    def either(*operands: Any) -> Any:
        *own, number = operands
        return lax.cond(number % every == 0, _version(watched), _version(plain), *own)

    return _traced(either, [*plain.in_avals, core.ShapedArray((), np.dtype(np.int32))])


def _version(program: ClosedJaxpr) -> Callable[..., Any]:
    """Return a branch of a switch. Its name lets `Place.inside` treat a print in both branches as one print."""

    def run(*operands: Any) -> Any:
        return core.jaxpr_as_fun(program)(*operands)

    run.__name__ = VERSION
    return run


def _traced(function: Callable[..., Any], avals: Sequence[Any]) -> ClosedJaxpr:
    types = [jax.ShapeDtypeStruct(one.shape, one.dtype, weak_type=getattr(one, "weak_type", False)) for one in avals]
    return jax.make_jaxpr(function)(*types)
