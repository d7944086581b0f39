"""Find writes that may restore the old value: `jnp.where(is_new, new, x[i])` written to `x[i]`, as in conditional loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax_debug_widgets._jax.compat.private import core

Definitions = dict[Any, Any]
"""Variable -> the equation that computes it, or another name of it, inside or outside of a jitted call."""

_SAME = frozenset({"broadcast_in_dim", "convert_element_type", "expand_dims", "reshape", "squeeze"})
"""Primitives that return the elements of their operand."""

_MOST_STEPS = 100
"""The most steps along the names of a value. Names may form a circle: a function called with its own result shares its
variables.
"""

_READS = frozenset({"dynamic_slice", "gather"})


def define(jaxpr: core.Jaxpr, definitions: Definitions) -> list[Any]:
    """Add the variables of a body, and of the jitted functions that it calls; return the equations of all of them.

    A function that is called again has the same variables but other operands. It is then added with new variables.
    """
    equations: list[Any] = []
    for equation in jaxpr.eqns:
        equations.append(equation)
        definitions.update(dict.fromkeys(equation.outvars, equation))
        if equation.primitive.name in ("jit", "pjit"):
            inner = equation.params["jaxpr"].jaxpr
            inner = _renamed(inner) if any(one in definitions for one in inner.invars) else inner
            equations += define(inner, definitions)
            definitions.update(zip(inner.invars, equation.invars, strict=True))
            definitions.update(zip(equation.outvars, inner.outvars, strict=True))
    return equations


def _renamed(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """Return the same program with new variables."""
    given = [*jaxpr.invars, *(one for equation in jaxpr.eqns for one in equation.outvars)]
    new: dict[Any, Any] = {one: core.Var(one.aval) for one in given}

    def of(atoms: Sequence[Any]) -> list[Any]:
        return [atom if isinstance(atom, core.Literal) else new.get(atom, atom) for atom in atoms]

    equations = [one.replace(invars=of(one.invars), outvars=of(one.outvars)) for one in jaxpr.eqns]
    return jaxpr.replace(invars=of(jaxpr.invars), outvars=of(jaxpr.outvars), eqns=equations)


def may_keep(write: Any, definitions: Definitions) -> bool:
    """Whether a `dynamic_update_slice` writes a choice, and one of its cases is read from where it is written."""
    return bool(put_back(write, definitions))


def put_back(write: Any, definitions: Definitions) -> list[Any]:
    """Return the equations that read a value which a `dynamic_update_slice` may write back to the same place, by a choice."""
    array, update, *starts = write.invars
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
        and not _are_elsewhere(read, starts, definitions)
    ]


def _are_elsewhere(read: Any, starts: Sequence[Any], definitions: Definitions) -> bool:
    """Whether a read is known to have other indices than a write. Indices that are computed may be equal."""
    own = read.invars[1:]
    if read.primitive.name == "gather":
        axes = read.params["dimension_numbers"].start_index_map
        starts = [starts[axis] for axis in axes] if len(axes) == 1 else []
    pairs = ([_index(one, definitions) for one in both] for both in zip(own, starts, strict=False))
    return any(None not in both and both[0] != both[1] for both in pairs)


def _index(atom: Any, definitions: Definitions) -> Any:
    """Return the variable of a loop or function, or the number, that an index is; None if the index is computed."""
    source, made = _origin(atom, definitions)
    while made is not None and made.primitive.name == "select_n":  # JAX counts a negative index from the end.
        source, made = _origin(made.invars[1], definitions)
    if made is not None:
        return None
    return source.val if isinstance(source, core.Literal) else source


def equation_of(atom: Any, definitions: Definitions) -> Any:
    """Return the equation that computes the elements of `atom`; None if it is not found."""
    return _origin(atom, definitions)[1]


def _origin(atom: Any, definitions: Definitions) -> tuple[Any, Any]:
    """Return the first variable or literal that has the elements of `atom`, and the equation that computes it, or None."""
    for _ in range(_MOST_STEPS):
        source = _source(atom, definitions)
        made = definitions.get(source) if isinstance(source, core.Var) else None
        if made is None or not _hands_on(made):
            return source, made
        atom = made.invars[0]
    return None, None


def _hands_on(equation: Any) -> bool:
    """Whether an equation only returns the elements of its operand; jax 0.8 writes `x[0]` of one element as a full slice."""
    if equation.primitive.name == "slice":
        return equation.outvars[0].aval.shape == equation.invars[0].aval.shape
    return equation.primitive.name in _SAME


def _source(atom: Any, definitions: Definitions) -> Any:
    """Return the variable that the others are names of."""
    for _ in range(_MOST_STEPS):
        if not isinstance(atom, core.Var) or hasattr(definitions.get(atom), "primitive") or atom not in definitions:
            return atom
        atom = definitions[atom]
    return None
