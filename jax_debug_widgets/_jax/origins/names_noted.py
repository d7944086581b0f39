"""Find the names of variables that `bindings.py` noted while programs were traced."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from jax_debug_widgets._jax.origins.inlining import inlined_from
from jax_debug_widgets._jax.origins.name_places import NamePlace
from jax_debug_widgets._jax.origins.name_registry import Names, VariableNote, book, type_of
from jax_debug_widgets._jax.origins.origins import Operation, Ordinal, Origin, origins_of_result, origins_of_uses


def way_to(equation: Any) -> tuple[Hashable, ...]:
    """Return the operations of the calls that JAX has inlined around an equation, inside its program."""
    return tuple(book.made_of(Operation(call)) for call in inlined_from(equation))


def is_noted(place: NamePlace) -> bool:
    """Return whether names were noted for values computed at a place."""
    return place in book.places


def may_be(variable: Any, place: NamePlace, name: str) -> bool:
    """Return whether a variable has a type that was noted for a name at a place; a batched variable has more axes.

    If no type was noted for the name, return True, unless the name is that of a tree with noted leaves.
    """
    known, (own, count) = book.types_of(place, name), type_of(variable.aval)
    if not known:
        return not any(one.startswith((f"{name}.", f"{name}[")) for one in book.names_at(place))
    return any(dtype == own and axes <= count for dtype, axes in known)


def gives_as_many(equation: Any) -> bool:
    """Return whether an equation has as many results as the operation from which it was made.

    Return True if no result of that operation has a name.
    """
    return not book.is_known_otherwise(equation)


def are_as_traced(equations: Iterable[Any]) -> bool:
    """Return whether Python has made these equations, and JAX has not transformed them since."""
    return all(book.is_traced(variable) for one in equations for variable in one.outvars)


class ResultNames(NamedTuple):
    """The names of a result of an equation at each place: its own, and those of the result from which JAX made it.

    Attributes:
      position: which of the results it is.
      names: its own names.
      before: in a transformed program, the names of the result from which JAX made it.
      origin: the origin of the result, by which `before` was found.
      noted: the notes of all these names.
    """

    position: int
    names: Names
    before: Names
    origin: Origin
    noted: Sequence[VariableNote]


def names_of_results(equation: Any, ordinal: Ordinal) -> list[ResultNames]:
    """Return the names of each result of an equation that has any.

    Args:
      equation: the equation.
      ordinal: its ordinal in its program, see `ordinals_of`.
    """
    is_new = are_as_traced([equation])
    found: list[ResultNames] = []
    for position, variable in enumerate(equation.outvars):
        own, derived = book.of_variable(variable), book.of_derived(variable)
        if is_new and own is None and derived is None:
            continue
        origin = next(origins_of_result(equation, position, ordinal))
        before = () if is_new else book.of_origin(origin)
        if ordinal and not is_new and not ordinal[-1]:
            # The equation may have been the only one in a program that is inlined twice.
            first = next(origins_of_result(equation, position, None))
            if alone := book.of_origin(first):
                origin, before = first, (*before, *alone)
        if not before and derived is not None:
            before = [derived]
        if noted := (*((own,) if own else ()), *before):
            found.append(ResultNames(position, own.names if own else {}, _together(before), origin, noted))
    return found


def noted_of_input(
    variable: Any, uses: Sequence[tuple[Any, int]]
) -> Sequence[tuple[tuple[Hashable, ...], VariableNote]]:
    """Return the notes of an input of a program, the latest last.

    Each comes with the inlined calls around the use of the input, see `way_to`.

    Args:
      variable: the input.
      uses: the equations of the forward pass that use it, each with the position of the operand.
    """
    origins = ((one, origin) for one, position in uses for origin in origins_of_uses(one, position, is_traced=False))
    taker, before = next(((one, noted) for one, origin in origins if (noted := book.of_origin(origin))), (None, ()))
    own = book.of_variable(variable)
    known = (*book.of_given(variable), *((own,) if own else ()))
    return (*((way_to(taker), one) for one in before), *(((), one) for one in known))


def _together(noted: Sequence[VariableNote]) -> Names:
    return ChainMap(*(one.names for one in noted)) if noted else {}
