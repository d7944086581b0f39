"""Run the watched version of a loop's body, or of a program, every n-th time only, and the plain one otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import core, debugging
from jax._src.interpreters import mlir
from jax.extend import core as jax_core

from jax_debug_widgets._jax.emit import emit_answer_call

ask_p = jax_core.Primitive("ask_host")
"""A Boolean that the host function `answer` gives each time the program runs."""


@ask_p.def_effectful_abstract_eval
def _ask_abstract_eval(answer: Any) -> tuple[Any, set[Any]]:
    del answer
    return core.ShapedArray((), np.dtype(bool)), {debugging.debug_effect}


mlir.register_lowering(ask_p, emit_answer_call, cacheable=False)


def is_long(equation: Any, every: int) -> bool:
    """Whether an equation is a loop that runs often enough for its iterations to be sampled."""
    name = equation.primitive.name
    return name == "while" or (name == "scan" and equation.params["length"] >= every)


def has_long_loop(jaxpr: Any, every: int) -> bool:
    """Whether there is such a loop in a program, outside `shard_map`."""
    return any(True for _ in _long_loops(jaxpr, every))


def _long_loops(jaxpr: Any, every: int) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        if equation.primitive.name == "shard_map":
            continue
        if is_long(equation, every):
            yield equation
        for inner in core.jaxprs_in_params(equation.params):
            yield from _long_loops(inner, every)


def by_call(plain: core.ClosedJaxpr, watched: core.ClosedJaxpr, every: int) -> core.ClosedJaxpr:
    """A program that is `watched` in its first call and every n-th after it."""
    calls = itertools.count()

    def answer() -> tuple[np.ndarray]:
        return (np.array(next(calls) % every == 0),)

    def either(*operands: Any) -> Any:
        return lax.cond(ask_p.bind(answer=answer), core.jaxpr_as_fun(watched), core.jaxpr_as_fun(plain), *operands)

    traced = _traced(either, plain.in_avals)
    return traced.replace(jaxpr=traced.jaxpr.replace(debug_info=plain.jaxpr.debug_info))


def by_iteration(equation: Any, watched: Any, every: int) -> list[Any]:
    """A loop that runs the body `watched` in its first iteration and every n-th after it, as equations."""
    if equation.primitive.name == "scan":
        return _scan(equation, watched, every)
    return [_while(equation, watched, every)]


def _scan(equation: Any, watched: core.ClosedJaxpr, every: int) -> list[Any]:
    params = equation.params
    numbers = jax.make_jaxpr(lambda: lax.iota(jnp.int32, params["length"]))().jaxpr
    body = _switched(params["jaxpr"], watched, every)
    (iota,) = (one.replace(source_info=equation.source_info) for one in numbers.eqns)
    changed = {**params, "jaxpr": body}
    if "linear" in params:  # JAX before 0.10
        changed["linear"] = (*params["linear"], False)
    scan = equation.replace(
        invars=[*equation.invars, iota.outvars[0]],
        params=changed,
        effects=equation.effects | {debugging.debug_effect},
    )
    return [iota, scan]


def _while(equation: Any, watched: core.ClosedJaxpr, every: int) -> Any:
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


def _switched(plain: core.ClosedJaxpr, watched: core.ClosedJaxpr, every: int) -> core.ClosedJaxpr:
    """The body with the number of the iteration as its last operand."""

    def either(*operands: Any) -> Any:
        *own, number = operands
        return lax.cond(number % every == 0, core.jaxpr_as_fun(watched), core.jaxpr_as_fun(plain), *own)

    return _traced(either, [*plain.in_avals, core.ShapedArray((), np.dtype(np.int32))])


def _traced(function: Callable[..., Any], avals: Sequence[Any]) -> core.ClosedJaxpr:
    types = [jax.ShapeDtypeStruct(one.shape, one.dtype, weak_type=getattr(one, "weak_type", False)) for one in avals]
    return jax.make_jaxpr(function)(*types)
