"""Find the program that JAX makes of one operation, for operations that no public function gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.studies.export.proofs import spec_of, variables_of
from jax_debug_widgets._jax.studies.texts import name_of


def own_program(equation: core.JaxprEqn) -> Any | None:
    """The program that JAX makes of an equation when it lowers it, by the equation's variables; None if there is none."""
    function = _function_of(equation)
    if function is None or equation.effects:
        return None
    variables = variables_of(equation)

    def run(*values: Any) -> Any:
        given = dict(zip(variables, values, strict=True))
        return function(*(one.val if isinstance(one, core.Literal) else given[one] for one in equation.invars))

    try:
        program = jax.make_jaxpr(run)(*map(spec_of, variables))
    except Exception:  # noqa: BLE001 - it runs, or is lowered, in another way.
        return None
    return None if name_of(equation) in _names_in(program.jaxpr) else program


def _names_in(jaxpr: core.Jaxpr) -> set[str]:
    inner = (_names_in(program) for one in jaxpr.eqns for _, program in programs_in(one))
    return {name_of(one) for one in jaxpr.eqns}.union(*inner)


def _function_of(equation: core.JaxprEqn) -> Callable[..., Any] | None:
    """What computes the results: the expansion of a high-level primitive, or what a library's primitive calls."""
    operation = versions.high_level(equation)
    if operation is not None:
        return lambda *values: jax.tree.leaves(operation.expand(*jax.tree.unflatten(operation.in_tree, values)))
    computes: Any = getattr(equation.primitive, "impl", None)
    if not callable(computes):
        return None
    return lambda *values: computes(*values, **equation.params)
