"""Map the operands of an equation to the inputs of the programs that it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jax_debug_widgets._jax.compat.private import core

JITS = frozenset({"jit", "pjit"})
"""The names of the primitive for a jitted function, in all JAX versions."""


def operands_of(equation: core.JaxprEqn, key: str, operands: Sequence[Any]) -> list[Any]:
    """Select from `operands` those for the inputs of the program that is the parameter `key`.

    `operands` has one item for each operand of the equation.
    """
    match equation.primitive.name:
        case "cond":
            return [*operands[1:]]
        case "while":
            first, count = equation.params["cond_nconsts"], equation.params["body_nconsts"]
            return [*operands[:first], *operands[first + count :]] if key == "cond_jaxpr" else [*operands[first:]]
        case _:
            return [*operands]


def only_pulls_back(equation: core.JaxprEqn, variable: Any) -> bool:
    """Return whether an equation's programs use a variable only in their backward passes.

    An example is a `pull_back` in a loop.
    """
    inside = [(program, atoms) for program, atoms in _given_inside(equation, variable) if atoms]
    takers = [
        (one, atom)
        for program, atoms in inside
        for one in program.eqns
        for atom in one.invars
        if isinstance(atom, core.Var) and atom in atoms
    ]
    is_given_back = any(
        isinstance(one, core.Var) and one in atoms for program, atoms in inside for one in program.outvars
    )
    are_backward = all(
        "transpose(" in str(one.source_info.name_stack) or only_pulls_back(one, atom) for one, atom in takers
    )
    return bool(takers) and not is_given_back and are_backward


def _given_inside(equation: core.JaxprEqn, variable: Any) -> Iterator[tuple[core.Jaxpr, set[Any]]]:
    """Yield the programs that an equation runs, each with the inputs that are this variable."""
    params: Any = equation.params
    programs: dict[str, core.Jaxpr] = {}
    if equation.primitive.name == "while":
        programs = {key: params[key].jaxpr for key in ("cond_jaxpr", "body_jaxpr")}
    elif equation.primitive.name in ("scan", "cond", *JITS):
        programs = {str(number): program for number, program in enumerate(core.jaxprs_in_params(params))}
    for key, program in programs.items():
        operands = zip(program.invars, operands_of(equation, key, equation.invars), strict=True)
        yield program, {one for one, atom in operands if atom is variable}
