"""Find the user's classes whose methods a call may run: those of its arguments, and those that its functions name."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import jax

from jax_debug_widgets.watch import is_library

_DEEPEST = 6
"""How many containers inside each other are searched for classes."""

_MOST_ITEMS = 1000

_GENERATED = "<string>"
"""The file name of methods that `dataclasses` generates."""


def brought_by(arguments: Any) -> tuple[set[type], list[Any]]:
    """Return the classes of the objects in arguments, and their other values: leaves, and what the tree structure holds.

    Libraries take objects apart: `equinox.filter_jit` passes tree structures, flax.nnx passes descriptions of its graph,
    and the state of flax's training holds the model's method.
    """
    leaves, structure = jax.tree_util.tree_flatten(arguments)
    todo = [structure, *(one for one in leaves if isinstance(one, jax.tree_util.PyTreeDef))]
    classes: set[type] = set()
    while todo:
        node = todo.pop()
        data = node.node_data()
        if data is not None:
            kind, fixed = data
            held = list(parts_of(fixed))
            classes.update((kind, *(one for one in held if isinstance(one, type))))
            leaves += held
            todo += node.children()
    return classes, leaves


def classes_of(value: Any) -> set[type]:
    """Return the classes that a value names or describes: a class of the user, or those in a graph of flax.nnx."""
    kind = value if isinstance(value, type) else type(value)
    if any(True for _ in methods_of(kind)):
        return {kind}
    return {one for one in parts_of(value) if isinstance(one, type)} if dataclasses.is_dataclass(value) else set()


@functools.lru_cache(maxsize=1024)
def _methods(owner: type) -> tuple[tuple[str, FunctionType], ...]:
    of_all = {name: one for parent in reversed(owner.__mro__) for name, one in vars(parent).items()}
    plain = ((name, inspect.unwrap(one, stop=_is_own)) for name, one in of_all.items() if isinstance(one, FunctionType))
    return tuple((name, one) for name, one in plain if _is_own(one))


def _is_own(function: Any) -> bool:
    """Return whether a function is the user's, so that what it wraps is found as a name in it."""
    return isinstance(function, FunctionType) and _is_written(function.__code__)


def _is_written(code: CodeType) -> bool:
    return code.co_filename != _GENERATED and not is_library(code.co_filename)


def methods_of(owner: type) -> Iterator[tuple[str, FunctionType]]:
    """Yield the methods of a class that the user has written, by name, without what libraries wrap around them."""
    yield from _methods(owner)


def parts_of(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the values inside containers and dataclasses of libraries; a value that is neither comes by itself."""
    if isinstance(value, list | tuple):
        parts = value[:_MOST_ITEMS]
    elif isinstance(value, dict):
        parts = [*value.values()][:_MOST_ITEMS]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (one.name for one in dataclasses.fields(value))
        parts = [object.__getattribute__(value, name) for name in fields if _has(value, name)]
    else:
        yield value
        return
    for part in parts if depth < _DEEPEST else ():
        yield from parts_of(part, depth + 1)


def _has(value: Any, name: str) -> bool:
    try:
        object.__getattribute__(value, name)
    except AttributeError:
        return False
    return True
