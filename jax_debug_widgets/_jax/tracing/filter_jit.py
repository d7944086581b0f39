"""Describe the arguments of a function under `equinox.filter_jit` by the names in the user's function.

Equinox jits a function of its own instead. That function takes the arrays as two dictionaries of flat tuples. All else
is in one static argument, with the structures. The dictionaries have the parts `fun`, `first` (the first argument) and
`rest`.
"""

from __future__ import annotations

import inspect
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from jax_debug_widgets._jax.tracing.argument_types import (
    leaf_of,
    leaves_with_paths,
    positional_names,
    static_of,
    statics_inside,
)
from jax_debug_widgets._jax.tracing.traces import Leaf, Static

_PARAMETERS = ("dynamic_donate", "dynamic_nodonate", "static")
_PARTS = ("fun", "first", "rest")


@dataclass(frozen=True)
class FilteredCall:
    """The user's function under `equinox.filter_jit`, and the arguments of one call by its parameter names.

    Attributes:
      leaves: the type of each array, by its path: `model.weight`.
      statics: each leaf that is not an array, by its path, and the structure of each argument, by its name and
        `STRUCTURE`.
      names: the path of each array, by the `id` of the array.
    """

    function: Any
    leaves: dict[str, Leaf] = field(default_factory=dict[str, Leaf])
    statics: dict[str, Static] = field(default_factory=dict[str, Static])
    names: dict[int, str] = field(default_factory=dict[int, str])


def described_filtered(fun: Any, args: tuple[Any, ...]) -> FilteredCall | None:
    """Describe a call that `equinox.filter_jit` makes of its own function `fun`; None for a call of another function."""
    if len(args) != len(_PARAMETERS) or tuple(positional_names(fun).values()) != _PARAMETERS:
        return None
    try:
        return _described(*args)
    except Exception:  # noqa: BLE001 - another version of equinox: the user sees the names of its parameters.
        return None


def _described(donated: Mapping[str, Any], kept: Mapping[str, Any], static: tuple[Any, ...]) -> FilteredCall:
    arrays = {**donated, **kept}
    parts = (_together(arrays[part], *others) for part, others in zip(_PARTS, static, strict=True))
    function, first, (rest, keywords) = parts
    call = FilteredCall(inspect.unwrap(function))
    names = positional_names(call.function)
    *positional, _ = first, *rest  # Equinox appends None, so that there is always a first argument.
    given = {names.get(number, f"args[{number}]"): value for number, value in enumerate(positional)} | keywords
    if not inspect.isfunction(call.function):
        given = {"self": function} | given
    are_arrays = {id(array) for part in _PARTS for array in arrays[part] if array is not None}
    for name, value in given.items():
        _add(call, name, value, are_arrays)
    return call


def _together(arrays: tuple[Any, ...], others: tuple[Any, ...], structure: Any) -> Any:
    """Return the tree that `equinox` has split: each leaf is the array if there is one, else the other value."""
    pairs = zip(arrays, others, strict=True)
    return structure.unflatten([other if array is None else array for array, other in pairs])


def _add(call: FilteredCall, name: str, value: Any, are_arrays: Container[int]) -> None:
    for path, leaf in leaves_with_paths(value):
        if id(leaf) in are_arrays:
            call.leaves[name + path] = leaf_of(leaf)
            call.names.setdefault(id(leaf), name + path)
        else:
            call.statics[name + path] = static_of(leaf)
    call.statics.update(statics_inside(name, value))
