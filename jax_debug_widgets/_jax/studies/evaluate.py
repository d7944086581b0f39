"""Run a traced program equation by equation, and keep the results of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.passes.program_difference import on_host
from jax_debug_widgets._jax.studies.programs import opened, runs_one_call
from jax_debug_widgets._jax.studies.stepping import bind
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets.graphs.program import CALLS

Path = tuple[tuple[int, str], ...]

Values = dict[tuple[Path, int], tuple[np.ndarray, ...]]
"""The path and number of an equation, as in `graphs.Program` -> its results; PRNG keys as their numbers."""


def evaluate(traced: Traced) -> tuple[list[np.ndarray], Values]:
    """The results of a program, and of each of its equations; of loops and branches as a whole.

    Raises:
      Exception: what an equation raises.
    """
    values: Values = {}
    operands = [jnp.asarray(one) for one in traced.operands]
    results = _run(traced.jaxpr, traced.consts, operands, (), values, is_whole=True)
    return [on_host(one) for one in results], values


def given_to(traced: Traced) -> list[np.ndarray]:
    """The operands of a program as NumPy arrays; PRNG keys as their numbers."""
    return [on_host(jnp.asarray(one)) for one in traced.operands]


def _run(
    jaxpr: core.Jaxpr,
    consts: Sequence[Any],
    operands: Sequence[Any],
    path: Path,
    values: Values,
    *,
    is_whole: bool = False,
) -> list[Any]:
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *operands), strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else known[atom]

    for number, equation in enumerate(jaxpr.eqns):
        inputs = [read(atom) for atom in equation.invars]
        bodies = list(programs_in(equation)) if equation.primitive.name in CALLS else []
        if len(bodies) == 1 and len(bodies[0][1].invars) == len(inputs):
            ((key, _),) = bodies
            inner, inner_consts = opened(equation.params[key])
            within = path if is_whole and runs_one_call(jaxpr) else (*path, (number, key))
            results = _run(inner, inner_consts, inputs, within, values)
        else:
            results = bind(equation, inputs)
            values[path, number] = tuple(on_host(one) for one in results if _is_array(one))
        known.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _is_array(value: Any) -> bool:
    """Whether a value has numbers; a `Ref` has others later."""
    return isinstance(value, jax.Array | np.ndarray | np.generic)
