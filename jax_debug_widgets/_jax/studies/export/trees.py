"""Write arguments and results: the text that reaches a leaf, and the text that builds a pytree again."""

from __future__ import annotations

import dataclasses
import importlib
import operator
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.tree_util import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey

from jax_debug_widgets._jax.studies.export.literals import text_of, tuple_of


@dataclass
class FunctionArguments:
    """The arguments of a function.

    Attributes:
      leaves: the leaves, each with its text, `params['w']`, and a name, `params_w`.
      trees: the structures among the arguments, each with its text.
    """

    leaves: list[tuple[str, str, Any]] = field(default_factory=list[tuple[str, str, Any]])
    trees: list[tuple[Any, str]] = field(default_factory=list[tuple[Any, str]])

    def static(self, value: Any) -> str | None:
        """The text of a leaf that is no array."""
        return next((text for text, _, leaf in self.leaves if leaf is value), None)

    def structure(self, tree: Any) -> str | None:
        """The text of an argument that has this structure; None if there is none."""
        return next((text for own, text in self.trees if own == tree), None)


def read_arguments(given: Mapping[str, Any]) -> FunctionArguments:
    """Name -> value."""
    found = FunctionArguments()
    for name, value in given.items():
        _read(name, name, value, found)
    return found


def _read(text: str, name: str, value: Any, found: FunctionArguments) -> None:
    if value is None:
        return
    structure = jax.tree.structure(value)
    if is_leaf(structure):
        found.leaves.append((text, name, value))
        return
    found.trees.append((structure, text))
    for place, (key, child) in enumerate(children_of(value)):
        reached = _reached(text, value, key, child)
        if reached is not None:
            _read(reached[0], f"{name}_{plain_key(key)}", reached[1], found)
            continue
        first = _first_leaf(value, place)
        for number, (path, leaf) in enumerate(jax.tree_util.tree_flatten_with_path(child)[0]):
            keys = (key, *path) if structure.num_leaves > 1 else ()  # A box around one array says nothing of it.
            own = "_".join(map(str, (name, *map(plain_key, keys))))
            found.leaves.append((f"jax.tree.leaves({text})[{first + number}]", own, leaf))


def is_leaf(structure: Any) -> bool:
    """Whether a structure is one leaf; JAX's own function says so of an empty tuple as well."""
    return structure.num_nodes == structure.num_leaves == 1


def children_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each child of a pytree with its key."""
    for (key, *_), child in jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda one: one is not value)[0]:
        yield key, child


def _first_leaf(value: Any, place: int) -> int:
    return sum(len(jax.tree.leaves(child)) for _, child in list(children_of(value))[:place])


def _reached(text: str, value: Any, key: Any, child: Any) -> tuple[str, Any] | None:
    """The text of a child and what Python finds there, if that is the child or has its leaves."""
    try:
        with warnings.catch_warnings(action="error"):  # What warns, such as a deprecated attribute, is not written.
            match key:
                case DictKey(key=name):
                    there, found = f"{text}[{name!r}]", value[name]
                case SequenceKey(idx=place):
                    there, found = f"{text}[{place}]", value[place]
                case GetAttrKey(name=name):
                    there, found = f"{text}.{name}", getattr(value, name)
                case _:
                    return None
    except Exception:  # noqa: BLE001 - the keys of a class are for people; they need not be its items.
        return None
    return (there, found) if found is child or _has_leaves_of(child, found) else None


def _has_leaves_of(child: Any, found: Any) -> bool:
    """Whether a value that a class makes anew, as `flax.nnx.State` does of a part of it, has the leaves of a child."""
    leaves, own = jax.tree.leaves(child), jax.tree.leaves(found)
    return len(leaves) == len(own) > 0 and all(map(operator.is_, leaves, own))


def plain_key(key: Any) -> Any:
    """The plain key of a child: a name, a key of a dict, a number."""
    match key:
        case DictKey(key=name) | FlattenedIndexKey(key=name) | SequenceKey(idx=name) | GetAttrKey(name=name):
            return name
    return str(key)


_LITERALS: dict[Any, Callable[[Any, list[str]], str]] = {
    type(None): lambda _, parts: "None",  # noqa: ARG005
    dict: lambda keys, parts: f"{{{', '.join(f'{key!r}: {part}' for key, part in zip(keys, parts, strict=True))}}}",
    list: lambda _, parts: f"[{', '.join(parts)}]",
    tuple: lambda _, parts: tuple_of(parts) if parts else "()",
    OrderedDict: lambda keys, parts: f"collections.OrderedDict({_items(keys, parts)})",
}


def _items(keys: Any, parts: list[str]) -> str:
    return f"[{', '.join(f'({key!r}, {part})' for key, part in zip(keys, parts, strict=True))}]"


def built(tree: Any, names: Sequence[str], arguments: FunctionArguments, imports: set[str]) -> tuple[str, list[str]]:
    """The expression that builds a pytree of these, and what it cannot be."""
    notes: list[str] = []
    rest = iter(names)

    def build(one: Any) -> str:
        if is_leaf(one):
            return next(rest)
        node: Any = one.node_data()
        kind: Any = node[0] if node else type(None)
        about = node[1] if node else None
        if kind in _LITERALS:
            return _LITERALS[kind](about, [build(part) for part in one.children()])
        if hasattr(kind, "_fields") and about is None and is_importable(kind):
            imports.add(f"from {kind.__module__} import {kind.__qualname__}")
            parts = [f"{key}={build(part)}" for key, part in zip(kind._fields, one.children(), strict=True)]
            return f"{kind.__qualname__}({', '.join(parts)})"
        if is_importable(kind) and (fields := _fields_of(kind, one)) is not None:
            imports.add(f"from {kind.__module__} import {kind.__qualname__}")
            parts = map(build, one.children())
            given = [f"{name}={next(parts) if value is None else value}" for name, value in fields.items()]
            return f"{kind.__qualname__}({', '.join(given)})"
        leaves = f"[{', '.join(next(rest) for _ in range(one.num_leaves))}]"
        if (text := arguments.structure(one)) is not None:
            return f"like({text}, {leaves})"
        notes.append(
            f"a result of type {kind.__qualname__} is given as the list of its leaves: no argument has its structure"
        )
        return leaves

    return build(tree), notes


def _fields_of(kind: type, tree: Any) -> dict[str, str | None] | None:
    """The fields of a dataclass, children first: the text of those that are no children; None if they do not make it."""
    if not dataclasses.is_dataclass(kind):
        return None
    make: Any = kind
    value = jax.tree.unflatten(tree, [object() for _ in range(tree.num_leaves)])
    children = [plain_key(key) for key, _ in children_of(value)]
    try:
        names = [one.name for one in dataclasses.fields(kind) if one.init]
        rebuilt = make(**{name: getattr(value, name) for name in names})
        if jax.tree.structure(rebuilt) != tree or jax.tree.leaves(rebuilt) != jax.tree.leaves(value):
            return None
        others = {name: text_of(getattr(value, name)) for name in names if name not in children}
    except Exception:  # noqa: BLE001 - the class is the user's: it may make itself in another way.
        return None
    return {**dict.fromkeys(children), **others}


def is_importable(kind: type) -> bool:
    """Whether a class can be imported from the module that it names."""
    if kind.__module__ == "__main__" or "." in kind.__qualname__:
        return False
    try:
        return getattr(importlib.import_module(kind.__module__), kind.__qualname__, None) is kind
    except ImportError:
        return False
