"""Define the identities of PRNG keys, and the uses of keys; see `key_flow`."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.checks.key_choices import exclude_each_other
from jax_debug_widgets.watch import is_library

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.frames import Frame

Key = tuple[Any, tuple[Any, ...]]
"""The identity of a key: its origin, and the path from the origin to the part that it is."""


@dataclass(frozen=True)
class Use:
    """A use of a key at a line.

    Attributes:
      what: `draws`, `splits`.
      frames: the user's frames, the innermost first.
      iterations: how often a loop repeats it; empty for once.
      chosen: the branches of `cond` around it: the value that chooses, and the number of the branch.
      is_shared: whether the lanes of a `vmap` around it have this one key.
      way: all calls on Python's stack that lead to it, JAX's included. Uses with equal calls come from a loop of Python.
    """

    what: str
    frames: tuple[Frame, ...]
    iterations: str = ""
    chosen: frozenset[tuple[Any, int]] = frozenset()
    is_shared: bool = False
    way: Hashable = ()

    def excludes(self, other: Use) -> bool:
        """Return whether at most one of two uses happens, because of the branches that they are in."""
        return any(exclude_each_other(one, another) for one in self.chosen for another in other.chosen)


@dataclass
class UsesInProgram:
    """The uses of each key so far, and numbers for keys of unknown origin."""

    uses: dict[Key, list[Use]] = field(default_factory=lambda: defaultdict(list))
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def new(self, how: str = "made") -> Key:
        """Return a key that differs from all others."""
        return ((how, next(self.numbers)), ())

    def add(self, key: Key, uses: list[Use]) -> None:
        """Note uses of a key.

        If a `cond` has chosen the key among several, note them for each of these, in its branch.
        """
        root, path = key
        if not is_chosen(key):
            self.uses[key] += uses
            return
        _, value, keys = root
        for number, one in enumerate(keys):
            own = [replace(use, chosen=use.chosen | {(value, number)}) for use in uses]
            if one is not None:
                self.add((one[0], (*one[1], *path)), [use for use in own if not use.excludes(use)])


def overlap(one: Key, other: Key) -> bool:
    """Return whether two keys are the same, or one is part of the other."""
    size = min(len(one[1]), len(other[1]))
    return one[0] == other[0] and one[1][:size] == other[1][:size]


def is_chosen(key: Key) -> bool:
    """Return whether a `cond` has chosen the key among several, see `chosen_key`."""
    return key[0][0] == "chosen"


def chosen_key(value: Any, keys: Sequence[Key | None]) -> Key | None:
    """Return the key that a `cond` returns, chosen by `value` among `keys`; None if one of them is unknown."""
    known = [key for key in keys if key is not None]
    if len(known) < len(keys) or len(set(known)) == 1:
        return keys[0] if len(set(keys)) == 1 else None
    return ("chosen", value, tuple(known)), ()


def taken_key(value: Any, key: Key) -> Key:
    """Return the key for the lanes where `value` is true; other lanes discard what is computed with it."""
    return ("chosen", value, (None, key)), ()


def is_any_element(part: tuple[Any, ...]) -> bool:
    """Return whether a part stands for the element of an array of keys that each iteration of a loop gets."""
    return part[0] == "element" and not isinstance(part[1], int)


def is_clone(key: Key) -> bool:
    """Return whether a key is a clone, or derives from one."""
    root = key[0]
    return root[0] == "clone" or any(is_clone(one) for one in root[1:2] if root[0] in ("fold", "split", "at"))


def origin_of(key: Key) -> Any:
    """Return the origin of a key: through splits, `fold_in` and indexing."""
    root = key[0]
    return origin_of(root[1]) if root[0] in ("fold", "split", "at") else root


def base_of(key: Key) -> Key:
    """Return the key from which a key was made by `fold_in` or indexing with constant numbers."""
    root = key[0]
    return base_of(root[1]) if root[0] in ("fold", "at") and root[2][:1] == ("number",) else key


def repeated(uses: list[Use], length: str, loop: tuple[Frame, ...]) -> list[Use]:
    """Return the uses, marked as repeated by a loop.

    A loop that runs at most once repeats nothing. Uses inside a library, in a loop of its own, are not marked.

    Args:
      uses: the uses in the body.
      length: the number of iterations, as text; `all` if it is not known.
      loop: the frames of the loop.
    """
    if length in ("0", "1"):
        return uses
    is_repeated = [not _is_all_of_library(use.frames[: len(use.frames) - len(loop) + 1]) for use in uses]
    return [replace(use, iterations=length) if is_one else use for use, is_one in zip(uses, is_repeated, strict=True)]


def _is_all_of_library(frames: Sequence[Frame]) -> bool:
    return bool(frames) and all(is_library(frame.file) for frame in frames)
