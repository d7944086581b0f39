"""Remove our marks from programs that the user gets from `jax.make_jaxpr` and `trace`: the user's rules cannot handle them."""

from __future__ import annotations

from typing import Any

from jax_debug_widgets._jax.compat.caching import cached
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.operands import with_programs
from jax_debug_widgets._jax.tracing.marks import is_mark


def without_marks(program: Any) -> Any:
    """Remove the identities that mark tangents, and their copies, from a program; the same object if there are none."""
    return _stripped(program) if _has_marks(program.jaxpr) else program


@cached
def _stripped(program: Any) -> Any:
    return program.replace(jaxpr=_without(program.jaxpr))


def _has_marks(jaxpr: core.Jaxpr) -> bool:
    return any(
        is_mark(equation) or any(map(_has_marks, core.jaxprs_in_params(equation.params))) for equation in jaxpr.eqns
    )


def _without(jaxpr: core.Jaxpr) -> core.Jaxpr:
    if not _has_marks(jaxpr):
        return jaxpr
    given: dict[Any, Any] = {}

    def of(atom: Any) -> Any:
        return atom if isinstance(atom, core.Literal) else given.get(atom, atom)

    equations = []
    for equation in jaxpr.eqns:
        operands = [of(atom) for atom in equation.invars]
        if is_mark(equation):
            given[equation.outvars[0]] = operands[0]
        else:
            inside = with_programs(equation, lambda _key, program: _without(program))
            equations.append(inside.replace(invars=operands))
    return jaxpr.replace(eqns=equations, outvars=[of(atom) for atom in jaxpr.outvars])
