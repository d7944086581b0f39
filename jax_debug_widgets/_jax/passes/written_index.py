"""Find the index as the user wrote it, before JAX normalises it.

JAX adds the size to negative indices, in their own type, and converts all to int32. In a table of 300 rows an int8
index -128 becomes -84, because 300 does not fit int8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import frames_of
from jax_debug_widgets._jax.passes.checked import BodyFacts
from jax_debug_widgets._jax.passes.kept_writes import Definitions
from jax_debug_widgets._jax.passes.words import recorded_type, word_count, words_of

_MOVES = frozenset({"broadcast_in_dim", "expand_dims", "reshape", "squeeze"})
_MOST_STEPS = 20


@dataclass(frozen=True)
class WrittenType:
    """The type of an index as the user wrote it, and the type in which JAX adds the size to it; "" if JAX does not add it."""

    name: str
    counts: str


@dataclass(frozen=True, eq=False)
class WrittenIndex:
    """An index as the user wrote it.

    Attributes:
      atom: the variable or literal that holds it.
      type: see `WrittenType`.
      shape: its shape where the array is indexed.
      moves: the equations that change its shape, the last one first.
    """

    atom: Any
    type: WrittenType
    shape: tuple[int, ...]
    moves: tuple[Any, ...]

    def moved(self, array: Any) -> Any:
        """Return the array of `atom` in the final shape; an array with that shape is returned as it is."""
        for equation in reversed(self.moves) if array.shape != self.shape else ():
            array = equation.primitive.bind(array, **equation.params)
        return array


def written_indices(equation: Any, atoms: Sequence[Any], body: BodyFacts) -> list[WrittenIndex]:
    """Return the written index of each atom that an equation indexes with; [] if all are int32, or one is unknown."""
    found = [_followed(equation, atom, body) for atom in atoms]
    known = [one for one in found if one is not None]
    is_plain = all(one.type.name == "int32" for one in known)
    return known if len(known) == len(found) and not is_plain else []


def columns_of(indices: Any, count: int, definitions: Definitions) -> list[Any]:
    """Return the atoms that are the columns of an array of indices; [] if they are unknown."""
    made: Any = definitions.get(indices) if isinstance(indices, core.Var) else None
    if (
        getattr(made, "primitive", None) is lax.concatenate_p
        and made.params["dimension"] == made.outvars[0].aval.ndim - 1
    ):
        return list(made.invars) if len(made.invars) == count else []
    return [indices] if count == 1 else []


def words_of_columns(columns: Sequence[Any]) -> list[Any]:
    """Return the words of indices side by side; each index has as many words as the largest type needs."""
    count = max(word_count(recorded_type(one.dtype)) for one in columns)
    words = [words_of(one) for one in columns]
    axis = columns[0].ndim - 1
    return [lax.concatenate([one[min(at, len(one) - 1)] for one in words], axis) for at in range(count)]


def beyond(columns: Sequence[Any], last: Sequence[int], sizes: Sequence[int]) -> Any:
    """Return which indices, side by side, are beyond the last valid one, or too negative to count from the end."""
    each = list[Any]()
    for one, most, size in zip(columns, last, sizes, strict=True):
        limits, bad = jnp.iinfo(one.dtype), lax.full_like(one, False, bool)
        if most <= limits.max:
            bad = lax.gt(one, lax.full_like(one, most))
        if limits.min <= -size:
            bad = lax.bitwise_or(bad, lax.lt(one, lax.full_like(one, -size)))
        each.append(bad)
    return lax.concatenate(each, columns[0].ndim - 1)


def _followed(equation: Any, atom: Any, body: BodyFacts) -> WrittenIndex | None:
    shape, moves, counts, found = atom.aval.shape, list[Any](), "", None
    line = frames_of(equation.source_info.traceback)[:1]
    is_converted = False
    for _ in range(_MOST_STEPS):
        if isinstance(atom, core.Literal) or not jnp.issubdtype(atom.aval.dtype, jnp.integer):
            break
        if atom in body.scope:
            found = WrittenIndex(atom, WrittenType(str(atom.aval.dtype), counts), shape, tuple(moves))
        made = None if atom in body.inputs else body.definitions.get(atom)
        if made is None or not hasattr(made, "primitive"):
            atom = made
        elif made.primitive.name in _MOVES:
            moves.append(made)
            atom = made.invars[0]
        elif not counts and (plain := _uncounted(made, body)) is not None:
            atom, counts = plain, str(made.outvars[0].aval.dtype)
        elif (
            not is_converted
            and made.primitive.name == "convert_element_type"
            and frames_of(made.source_info.traceback)[:1] == line
        ):
            atom, is_converted = made.invars[0], True
        else:
            break
        if atom is None:
            break
    return found


def _uncounted(equation: Any, body: BodyFacts) -> Any:
    """Return the index in `select(index < 0, index + size, index)`; None for other equations."""
    if equation.primitive.name != "select_n" or len(equation.invars) != 3:  # noqa: PLR2004
        return None
    _, plain, counted = (_source(one, body) for one in equation.invars)
    made: Any = body.definitions.get(counted) if isinstance(counted, core.Var) else None
    is_counted = getattr(made, "primitive", None) is lax.add_p and _source(made.invars[0], body) is plain
    return plain if is_counted else None


def _source(atom: Any, body: BodyFacts) -> Any:
    """Return the variable of a body, or of a function that it calls, that the others are names of."""
    for _ in range(_MOST_STEPS):
        made = None if isinstance(atom, core.Literal) or atom in body.inputs else body.definitions.get(atom)
        if made is None or hasattr(made, "primitive"):
            break
        atom = made
    return atom
