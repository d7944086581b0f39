"""Flatten any tree of the user, also one that contains itself, which JAX cannot flatten.

JAX flattens in C++. There an endless tree uses up Python's recursion limit permanently: all later calls fail. So a tree
is opened node by node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer
from jax.tree_util import SequenceKey

Path = tuple[Any, ...]
"""JAX's keys on the way from the tree to one of its leaves."""

_MOST, _DEEPEST = 10_000, 100
"""The most nodes of a tree that are searched, and the greatest depth; a larger tree counts as data."""

_WITHOUT_PARTS = (Tracer, jax.Array, np.ndarray, np.generic, type, ModuleType, FunctionType, MethodType)
_PLAIN = frozenset({str, bytes, bool, int, float, complex, range})


def leaves_with_paths(tree: Any, is_leaf: Callable[[Any], bool] = lambda _: False) -> list[tuple[Path, Any]]:
    """Return the leaves of a tree with their paths, in JAX's order.

    If the tree contains itself, each node is opened once, at the shortest path to it.
    """
    try:
        return list(_leaves(tree, is_leaf, once=False))
    except _EndlessError:
        return list(_leaves(tree, is_leaf, once=True))


def is_endless(tree: Any) -> bool:
    """Whether a tree contains itself, or is too deep for JAX to flatten it."""
    try:
        for _ in _leaves(tree, lambda _: False, once=False):
            pass
    except _EndlessError:
        return True
    return False


class _EndlessError(Exception):
    """A node is inside of itself, or very deep."""


class _Node(NamedTuple):
    """A part of a tree, the path to it, and the node around it; None for the whole tree."""

    value: Any
    path: Path
    around: _Node | None

    def is_inside_itself(self) -> bool:
        node = self.around
        while node is not None and node.value is not self.value:
            node = node.around
        return node is not None


def _leaves(tree: Any, is_leaf: Callable[[Any], bool], *, once: bool) -> Iterator[tuple[Path, Any]]:
    waiting, count = deque([_Node(tree, (), None)]), 0
    opened: dict[int, Any] = {}  # The nodes are kept alive, so that no other object gets the same `id`.
    while waiting and count < _MOST:
        node, count = waiting.popleft(), count + 1
        parts = None if is_leaf(node.value) else _parts(node.value)
        if parts is None:
            yield node.path, node.value
            continue
        is_known, is_deep = id(node.value) in opened, len(node.path) > _DEEPEST
        if not once and (is_deep or (is_known and node.is_inside_itself())):
            raise _EndlessError
        if not (once and (is_deep or is_known)):
            opened[id(node.value)] = node.value
            inside = [_Node(part, (*node.path, key), node) for key, part in parts]
            waiting.extend(inside) if once else waiting.extendleft(reversed(inside))


def _parts(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """Return the parts of a node, each with its key; None for a leaf."""
    if type(value) in _PLAIN or isinstance(value, _WITHOUT_PARTS):
        return None
    if type(value) in (list, tuple):
        return [(SequenceKey(index), part) for index, part in enumerate(value)]
    opened = iter((False,))  # JAX asks about the node itself first.
    parts = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda _: next(opened, True))[0]
    return [(path[0], part) for path, part in parts] if all(path for path, _ in parts) else None
