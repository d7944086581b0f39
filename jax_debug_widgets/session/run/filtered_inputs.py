"""Restore the arguments of a function under `equinox.filter_jit` as the user gave them.

Equinox gives JAX the arrays of the arguments as lists, and beside them the parts that are not arrays. For a run in memory, both
are put together again. A file cannot hold the other parts. They are taken from an example of each argument, and the arrays
replace the arrays of the example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets.session.run.input_trees import array_of

if TYPE_CHECKING:
    from jax_debug_widgets.archive.stored_call import StoredCall

_FIRST, _FUNCTION, _REST = "'first'", "'fun'", "'rest'"
"""Equinox's names for the arrays of the first argument, of the function itself, and of the other arguments."""


def are_of_filter_jit(args: Sequence[Any]) -> bool:
    """Whether these are arguments that `equinox.filter_jit` gave to JAX."""
    match args:
        case [dict(given_away), dict(kept), tuple(rest)]:
            return sorted(map(repr, [*given_away, *kept])) == [_FIRST, _FUNCTION, _REST] and len(rest) == 3  # noqa: PLR2004
    return False


def arguments_before_filter_jit(args: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the user's arguments from the arguments that `equinox.filter_jit` gave to JAX."""
    given_away, kept, (_, *structures) = args
    parts = {**given_away, **kept}
    first, (rest, kwargs) = (
        jax.tree.unflatten(
            tree, [one if other is None else other for one, other in zip(parts[name], others, strict=True)]
        )
        for name, (others, tree) in zip(("first", "rest"), structures, strict=True)
    )
    return (first, *rest)[:-1], kwargs  # Equinox adds one argument, so that there is a first one.


def of_filter_jit(tree: Mapping[str, Any]) -> bool:
    """Whether a stored call is one of `equinox.filter_jit`: donated arrays, other arrays, and parts that are not arrays."""
    return sorted(_parts(tree)) == [_FIRST, _FUNCTION, _REST]


def filtered_arguments(stored: StoredCall, like: Sequence[Any]) -> tuple[Any, ...]:
    """Return the positional arguments of a stored call.

    Raises:
      ValueError: the example has other arrays than the call.
    """
    name, parts = stored.tree.get("name"), _parts(stored.tree)
    if not like or _arrays_in(parts[_FUNCTION]):
        raise ValueError(
            f"equinox.filter_jit has called `{name}`, and a file has of its arguments the arrays alone: give an example of "
            f"each, whose arrays do not matter, replay(run, call, {name}, like=(model, x))"
        )
    found = [array_of(stored.leaves[number]) for part in (_FIRST, _REST) for number in _arrays_in(parts[part])]
    leaves, tree = jax.tree.flatten(tuple(like))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)]
    wanted, given = (
        [f"{one.dtype}{list(one.shape)}" for one in some] for some in (found, [leaves[at] for at in places])
    )
    if wanted != given:
        raise ValueError(
            f"`{name}` was given the arrays {', '.join(wanted)}. Those in like= are {', '.join(given) or 'none'}"
        )
    for place, array in zip(places, found, strict=True):
        leaves[place] = array
    return jax.tree.unflatten(tree, leaves)


def _parts(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return Equinox's three parts of the arguments; empty for other arguments."""
    match tree.get("args"):
        case [["dict", list(given_away)], ["dict", list(kept)], ["tuple", list()]]:
            pairs = [*given_away, *kept]
            return dict(pairs) if all(isinstance(pair, list) and len(pair) == 2 for pair in pairs) else {}  # noqa: PLR2004
    return {}


def _arrays_in(node: Any) -> list[int]:
    """Return the numbers of the arrays in one part."""
    match node:
        case ["list" | "tuple", list(nodes)]:
            return [number for one in nodes for number in _arrays_in(one)]
        case ["leaf", int(number)]:
            return [number]
    return []
