"""Find writes that may restore the old value: `jnp.where(is_new, new, x[i])` written to `x[i]`, as loops do on a condition."""

from __future__ import annotations

from typing import Any

from jax_debug_widgets._jax.compat.private import core

Definitions = dict[Any, Any]
"""Variable -> the equation that computes it, or the atom that it is another name of, inside or outside of a jitted call."""

_SAME = frozenset({"broadcast_in_dim", "convert_element_type", "expand_dims", "reshape", "squeeze"})
"""Primitives that give the elements of their operand."""

_MOST_STEPS = 100
"""A function that is called with its own result has names in a circle: it is one program, and has its variables once."""

_READS = frozenset({"dynamic_slice", "gather"})


def define(jaxpr: core.Jaxpr, definitions: Definitions) -> None:
    """Add the variables of a body, and of the jitted functions that it calls."""
    for equation in jaxpr.eqns:
        definitions.update(dict.fromkeys(equation.outvars, equation))
        if equation.primitive.name in ("jit", "pjit"):
            inner = equation.params["jaxpr"].jaxpr
            define(inner, definitions)
            definitions.update(zip(inner.invars, equation.invars, strict=True))
            definitions.update(zip(equation.outvars, inner.outvars, strict=True))


def may_keep(array: Any, update: Any, definitions: Definitions) -> bool:
    """Whether the written value is a choice, and one of its cases is read from the same array."""
    return bool(put_back(array, update, definitions))


def put_back(array: Any, update: Any, definitions: Definitions) -> list[Any]:
    """The equations that read from an array what may be written back into it, by a choice."""
    written, chosen = _source(array, definitions), equation_of(update, definitions)
    if chosen is None or chosen.primitive.name != "select_n":
        return []
    reads = (equation_of(case, definitions) for case in chosen.invars[1:])
    return [
        read
        for read in reads
        if read is not None
        and read.primitive.name in _READS
        and isinstance(written, core.Var)
        and _source(read.invars[0], definitions) is written
    ]


def equation_of(atom: Any, definitions: Definitions) -> Any:
    """The equation that computes the elements of `atom`; None if it is not found."""
    for _ in range(_MOST_STEPS):
        source = _source(atom, definitions)
        made = definitions.get(source) if isinstance(source, core.Var) else None
        if made is None or made.primitive.name not in _SAME:
            return made
        atom = made.invars[0]
    return None


def _source(atom: Any, definitions: Definitions) -> Any:
    """The variable that others are names of."""
    for _ in range(_MOST_STEPS):
        if not isinstance(atom, core.Var) or hasattr(definitions.get(atom), "primitive") or atom not in definitions:
            return atom
        atom = definitions[atom]
    return None
