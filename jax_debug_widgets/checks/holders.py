"""Find the name that holds an object, and the way from it: `net.layers[0].last`.

The nearest name is looked for, breadth first, among what refers to the object.
"""

from __future__ import annotations

import functools
import gc
import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CellType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from jax_debug_widgets._jax.origins.frames import is_users
from jax_debug_widgets.watch import is_library

_DEEPEST = 12
_MOST = 20_000
"""Objects that are looked at."""

_CONSOLE = re.compile(r"_+|_\d+|_i+\d*|Out|In|last_(type|value|traceback|exc)|_oh")
"""The names that a console and a debugger keep by themselves."""


def holder_of(target: Any) -> str:
    """The way from the nearest name of the user's to an object; empty where there is none."""
    return holders_of([target])[0]


def holders_of(targets: Sequence[Any]) -> list[str]:
    """The way from the nearest name of the user's to each object; empty where there is none.

    Each round asks Python's collector once who refers to what the round before has found: a pass over all objects.
    """
    names: dict[int, str] = {}
    level = [*targets]
    ways: dict[int, dict[int, _Way]] = {id(target): {at: _Way("")} for at, target in enumerate(targets)}
    mark = object()
    kept: list[Any] = []  # What lives no longer could share its id with another object.
    ours = {id(targets), id(kept)}
    reached: dict[int, set[int]] = {one: {*found} for one, found in ways.items()}
    while level and len(names) < len(targets) and len(reached) < _MOST:
        owners = gc.get_referrers(*level, mark)
        further: list[Any] = []
        further_ways: dict[int, dict[int, _Way]] = {}
        ours |= {id(level), id(owners), id(further)}
        for owner in owners:
            if id(owner) in ours or _is_machinery(owner) or _is_question(owner, mark):
                continue
            kept.append(owner)
            if isinstance(owner, FrameType) or (isinstance(owner, dict) and _is_module(owner)):
                for at, name in _names(owner, ways):
                    names.setdefault(at, name)
                continue
            known = reached.setdefault(id(owner), set())
            found = {at: way for at, way in _ways_to(owner, ways) if at not in known and at not in names}
            if found:
                known |= found.keys()
                further.append(owner)
                further_ways[id(owner)] = found
        level, ways = further, further_ways
    return [names.get(at, "") for at in range(len(targets))]


def _ways_to(owner: Any, ways: Mapping[int, Mapping[int, _Way]]) -> Iterator[tuple[int, _Way]]:
    """Yield the ways from what refers to objects to the targets, by their numbers; the last of a target counts."""
    held = {id(one): one for one in gc.get_referents(owner) if id(one) in ways}
    for one in reversed([*held.values()]):
        for at, way in ways[id(one)].items():
            longer = way.to(owner, one)
            if longer.path.count(".") + longer.path.count("[") <= _DEEPEST:
                yield at, longer


def _names(names: FrameType | dict[Any, Any], ways: Mapping[int, Mapping[int, _Way]]) -> Iterator[tuple[int, str]]:
    """Yield the ways from the variables of a function that runs, or of a module, to the targets, by their numbers."""
    if isinstance(names, FrameType):
        names = names.f_locals
    elif not _is_of_user(names):
        return
    for name, value in names.items():
        if id(value) in ways and not _CONSOLE.fullmatch(name):
            yield from ((at, f"{name}{way.path}") for at, way in ways[id(value)].items())


@dataclass(frozen=True)
class _Way:
    """The steps from one object to another.

    Attributes:
      path: as one writes it after the object, `['h'][1]`.
      place: the key, or the number, of its first step, where the object is a dictionary or a sequence.
      rest: the path without the first step.
    """

    path: str
    place: Any = None
    rest: str = ""

    def to(self, owner: Any, held: Any) -> _Way:
        """The way from what refers to the object."""
        path = self.path
        if isinstance(owner, dict | list | tuple | deque):
            of = owner.items() if isinstance(owner, dict) else enumerate(owner)
            found = [place for place, value in of if value is held]
            return _Way(f"[{found[0]!r}]{path}", found[0], path) if found else self
        if isinstance(owner, functools._lru_cache_wrapper):  # noqa: SLF001 - the class has no other name.
            return _Way(f" (its functools.lru_cache){path}")
        if isinstance(owner, FunctionType) and owner.__closure__ is held:
            return _Way(f" → its variable `{owner.__code__.co_freevars[self.place]}`{self.rest}")
        if isinstance(owner, FunctionType | MethodType | CellType):
            return self
        if getattr(owner, "__dict__", None) is held:
            return _Way(f".{self.place}{self.rest}")
        name = _attribute(owner, held)
        return self if name is None else _Way(f".{name}{path}")


def _attribute(owner: Any, held: Any) -> str | None:
    own = getattr(owner, "__dict__", None)
    if isinstance(own, dict):
        found = next((name for name, value in own.items() if value is held), None)
        if found is not None:
            return found
    slots = (name for kind in type(owner).__mro__ for name in getattr(kind, "__slots__", ()) or ())
    for name in slots if not isinstance(owner, type) else ():
        try:
            if object.__getattribute__(owner, name) is held:
                return name
        except AttributeError:
            continue
    return None


def _is_module(names: dict[Any, Any]) -> bool:
    """Whether they are the globals of a module, or of code that was executed like one."""
    return "__name__" in names and ("__builtins__" in names or "__spec__" in names)


def _is_of_user(names: dict[Any, Any]) -> bool:
    file = names.get("__file__") or ""
    return not file or (is_users(file) and not is_library(file))


def _is_question(owner: Any, mark: object) -> bool:
    """Whether it is the arguments of the question who refers to them, which end with a mark."""
    return isinstance(owner, tuple) and bool(owner) and owner[-1] is mark


def _is_machinery(owner: Any) -> bool:
    """Whether it is JAX's, or ours: these let go by themselves."""
    module = type(owner).__module__ or ""
    if module.startswith(("jax._src", "jaxlib", "jax_debug_widgets")) or isinstance(owner, ModuleType):
        return True
    if isinstance(owner, FrameType | GeneratorType):
        file = (owner.f_code if isinstance(owner, FrameType) else owner.gi_code).co_filename
        return not is_users(file) or is_library(file)
    return isinstance(owner, dict) and owner is sys.modules
