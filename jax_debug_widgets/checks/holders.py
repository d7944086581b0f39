"""Find the name that holds an object, and the way from it: `net.layers[0].last`.

The nearest name is looked for, breadth first, among what refers to the object.
"""

from __future__ import annotations

import functools
import gc
import re
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from jax_debug_widgets._jax.origins.frames import is_users
from jax_debug_widgets.watch import is_library

_DEEPEST = 12
_MOST = 20_000
"""Objects that are looked at."""

_CONSOLE = re.compile(r"_+|_\d+|_i+\d*|Out|In|last_(type|value|traceback|exc)|_oh")
"""The names that a console and a debugger keep by themselves."""


def holder_of(target: Any) -> str:
    """The way from the nearest name of the user's to an object; empty where there is none.

    Each round asks Python's collector once who refers to what the round before has found: a pass over all objects.
    """
    level, ways = [target], {id(target): _Way("")}
    kept: list[Any] = []  # What lives no longer could share its id with another object.
    seen = {id(target), id(kept)}
    while level and len(seen) < _MOST:
        owners = gc.get_referrers(*level)
        further: list[Any] = []
        further_ways: dict[int, _Way] = {}
        seen |= {id(level), id(owners), id(further)}
        for owner in owners:
            if id(owner) in seen or _is_machinery(owner):
                continue
            seen.add(id(owner))
            kept.append(owner)
            if isinstance(owner, FrameType) or (isinstance(owner, dict) and _is_module(owner)):
                name = _name(owner, ways)
                if name:
                    return name
                continue
            held = next((one for one in gc.get_referents(owner) if id(one) in ways), None)
            way = ways[id(held)].to(owner, held)
            if way.path.count(".") + way.path.count("[") <= _DEEPEST:
                further.append(owner)
                further_ways[id(owner)] = way
        level, ways = further, further_ways
    return ""


def _name(names: FrameType | dict[Any, Any], ways: Mapping[int, _Way]) -> str:
    """The way from a variable of a function that runs, or of a module."""
    if isinstance(names, FrameType):
        names = names.f_locals
    elif not _is_of_user(names):
        return ""
    for name, value in names.items():
        if id(value) in ways and not _CONSOLE.fullmatch(name):
            return f"{name}{ways[id(value)].path}"
    return ""


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


def _is_machinery(owner: Any) -> bool:
    """Whether it is JAX's, or ours: these let go by themselves."""
    module = type(owner).__module__ or ""
    if module.startswith(("jax._src", "jaxlib", "jax_debug_widgets")) or isinstance(owner, ModuleType):
        return True
    if isinstance(owner, FrameType):
        file = owner.f_code.co_filename
        return not is_users(file) or is_library(file)
    return isinstance(owner, dict) and owner is sys.modules
