"""Run the body of a loop or branch iteration by iteration, each equation by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax.numpy as jnp

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.programs import opened

RunBody = Callable[[str, int | None, Any, Sequence[Any]], list[Any]]
"""Runs a body, a program and its constants, with its inputs: by its key and the number of the step."""

MOST_IN_LOOPS = 10_000
"""So many equations of one loop run one by one; what comes after them is not looked at."""


def turns_of(equation: core.JaxprEqn, inputs: Sequence[Any], run: RunBody) -> Iterator[None]:
    """Run one iteration after the other: each `None` comes after `run` has run one more body."""
    match equation.primitive.name:
        case "scan":
            return _scan(equation, inputs, run)
        case "while":
            return _while(equation, inputs, run)
        case "cond":
            return _cond(equation, inputs, run)
    return iter(())


def _scan(equation: core.JaxprEqn, inputs: Sequence[Any], run: RunBody) -> Iterator[None]:
    params = equation.params
    of_consts, of_carry = versions.scan_counts(params)
    read, carry, xs = inputs[:of_consts], list(inputs[of_consts : of_consts + of_carry]), inputs[of_consts + of_carry :]
    most = MOST_IN_LOOPS // max(len(opened(params["jaxpr"])[0].eqns), 1)
    order = range(params["length"])
    for step in (order[::-1] if params["reverse"] else order)[:most]:
        carry = run("jaxpr", step, params["jaxpr"], [*read, *carry, *(one[step] for one in xs)])[:of_carry]
        yield


def _while(equation: core.JaxprEqn, inputs: Sequence[Any], run: RunBody) -> Iterator[None]:
    params = equation.params
    of_cond, of_body = params["cond_nconsts"], params["body_nconsts"]
    cond, body, carry = inputs[:of_cond], inputs[of_cond : of_cond + of_body], list(inputs[of_cond + of_body :])
    most = MOST_IN_LOOPS // max(len(opened(params["body_jaxpr"])[0].eqns), 1)
    for step in range(most):
        (goes_on,) = run("cond_jaxpr", step, params["cond_jaxpr"], [*cond, *carry])
        yield
        if jnp.shape(goes_on) or not bool(goes_on):  # After `vmap` each lane ends by itself.
            return
        carry = run("body_jaxpr", step, params["body_jaxpr"], [*body, *carry])
        yield


def _cond(equation: core.JaxprEqn, inputs: Sequence[Any], run: RunBody) -> Iterator[None]:
    branches = equation.params["branches"]
    taken = min(max(int(inputs[0]), 0), len(branches) - 1)
    run(f"branch_{taken}_fun", None, branches[taken], inputs[1:])
    yield
