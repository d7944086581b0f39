"""Describe the arguments of a jitted function: the types of the traced ones, and the values of the static ones."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.tracing.traces import STRUCTURE, Leaf, Static

_LONGEST = 60
"""The length to which the text of a static value is cut, in characters."""

_MOST_FIELDS = 1000
"""The most static fields of one argument that are described."""


def described(
    fun: Any, ji: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Leaf], dict[str, Static]]:
    """Return the types of a call's traced leaves by path, and the values of its static arguments by name."""
    names = positional_names(fun)
    numbers, static_names = set(ji.static_argnums or ()), set(ji.static_argnames or ())
    leaves: dict[str, Leaf] = {}
    statics: dict[str, Static] = {}
    positional = ((number, names.get(number, f"args[{number}]"), value) for number, value in enumerate(args))
    for number, name, value in (*positional, *((-1, name, value) for name, value in kwargs.items())):
        if number in numbers or number - len(args) in numbers or name in static_names:
            statics[name] = static_of(value)
        else:
            leaves |= {name + path: leaf_of(leaf) for path, leaf in leaves_with_paths(value)}
            statics |= statics_inside(name, value)
    return leaves, statics


def positional_names(fun: Any) -> dict[int, str]:
    """Return the names of a function's positional parameters by their places; empty if it has no signature."""
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return {}
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {number: one.name for number, one in enumerate(parameters) if one.kind in positional}


def leaves_with_paths(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a pytree with their paths, `['w']`."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(value):
        yield jax.tree_util.keystr(path), leaf


def statics_inside(name: str, value: Any) -> dict[str, Static]:
    """Return the static parts of a traced argument: the dataclass fields that are not pytree children, and its structure.

    The keys are their paths, `state.apply_fn`; the key of the structure is the argument's name and `STRUCTURE`. These
    parts belong to the keys of JAX's cache.
    """
    structure = jax.tree.structure(value)
    if jax.tree_util.treedef_is_leaf(structure):
        return {}
    found = {name + path: static_of(one) for path, one in itertools.islice(_fields(value, ""), _MOST_FIELDS)}
    # The hash of a structure does not show its static fields; its text does.
    return {**found, f"{name}{STRUCTURE}": static_of(_text(structure))}


def _fields(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield path and value of each dataclass field in a tree that JAX does not flatten."""
    children = jax.tree_util.tree_leaves_with_path(node, is_leaf=lambda one: one is not node)
    if len(children) == 1 and children[0][1] is node:
        return  # The node is a leaf.
    if dataclasses.is_dataclass(node):
        own = ((field.name, getattr(node, field.name, None)) for field in dataclasses.fields(node))
        for name, value in own:
            if not any(value is child for _, child in children) and _is_comparable(value):
                yield f"{path}.{name}", value
    for keys, child in children:
        yield from _fields(child, path + jax.tree_util.keystr(keys))


def _is_comparable(value: Any) -> bool:
    """Return whether JAX can compare a value, also by its hash. If not, it is unknown whether the value has changed."""
    try:
        hash(value)
    except Exception:  # noqa: BLE001 - a class of the user's.
        return False
    return True


def _text(value: Any) -> str:
    """Return the `repr` of a value; the name of its class if that raises."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a class of the user's.
        return f"<{type(value).__name__}>"


def leaf_of(leaf: Any) -> Leaf:
    """Describe an array or a number."""
    aval = jax.typeof(leaf)
    is_number = isinstance(leaf, bool | int | float | complex) and not isinstance(leaf, np.generic)
    kind = type(leaf).__name__ if is_number else "array"
    return Leaf(_type_of(aval), bool(getattr(aval, "weak_type", False)), kind)


def _type_of(aval: Any) -> str:
    """Return JAX's text for a type. It does not have the mesh of an array that no axis of the mesh splits."""
    text, sharding = aval.str_short(), getattr(aval, "sharding", None)
    if "@" in text or sharding is None or sharding.mesh.empty:
        return text
    axes = ", ".join(f"{name!r}: {size}" for name, size in sharding.mesh.shape.items())
    return f"{text} on a mesh ({axes})"


def static_of(value: Any) -> Static:
    """Describe a static argument, and the parts of a nested tuple."""
    parts = dict(_parts(value, "")) if isinstance(value, tuple) else {}
    return dataclasses.replace(_described(value), parts={path: _described(one) for path, one in parts.items()})


def _described(value: Any) -> Static:
    text, kind = _text(value), type(value)
    return Static(
        text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…",
        hash(value),
        kind.__name__,
        kind.__eq__ is object.__eq__ and kind.__module__ != "builtins" and not callable(value),
    )


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield path and value of each part of a nested tuple."""
    if isinstance(value, tuple):
        for number, one in enumerate(value):
            yield from _parts(one, f"{path}[{number}]")
    else:
        yield path, value
