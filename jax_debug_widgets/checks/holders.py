"""Find the name that holds an object, and the path from the name to it: `net.layers[0].last`.

The search goes breadth first through the objects that refer to the object, and stops at the nearest name.
"""

from __future__ import annotations

import contextvars
import functools
import gc
import re
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinMethodType, CellType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from jax_debug_widgets._jax.origins.frames import is_users
from jax_debug_widgets.watch import is_library

_DEEPEST = 12
_MOST = 20_000
"""The most objects that are visited."""

_CONSOLE = re.compile(r"_+|_\d+|_i+\d*|Out|In|last_(type|value|traceback|exc)|_oh")
"""Names of the variables that consoles and debuggers set."""


_PARTS = ("args", "keywords", "__defaults__", "__kwdefaults__", "__self__")
"""The attributes in which functions, methods and `functools.partial` keep arguments and defaults."""


def holder_of(target: Any) -> str:
    """Return the path from the nearest name of the user to an object; empty if there is none."""
    return holders_of([target])[0]


def holders_of(targets: Sequence[Any]) -> list[str]:
    """Return the path from the nearest name of the user to each object; empty if there is none.

    Each round asks Python's garbage collector once for the objects that refer to those found in the last round. That is
    a pass over all objects. The collector does not see the variables of running functions, so these are looked up
    first.
    """
    names: dict[int, str] = {}
    variables = _of_context() | _of_running_functions()
    level = [*targets]
    ways: dict[int, dict[int, _Way]] = {id(target): {at: _Way("")} for at, target in enumerate(targets)}
    mark = object()
    kept: list[Any] = []  # Keeps the objects alive: the id of a dead object may be used again.
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
            if isinstance(owner, dict) and _is_module(owner):
                for at, name in _names(owner, ways):
                    names.setdefault(at, name)
                continue
            known = reached.setdefault(id(owner), set())
            found = {at: way for at, way in _ways_to(owner, ways) if at not in known and at not in names}
            if found:
                known |= found.keys()
                further.append(owner)
                further_ways[id(owner)] = found
        for one in level:
            if id(one) in variables:
                names = {at: f"{variables[id(one)]}{way.path}" for at, way in ways[id(one)].items()} | names
        level, ways = further, further_ways
    return [names.get(at, "") for at in range(len(targets))]


def _ways_to(owner: Any, ways: Mapping[int, Mapping[int, _Way]]) -> Iterator[tuple[int, _Way]]:
    """Yield the paths from `owner` to the targets, each with the number of the target.

    If a target has several paths, the last one counts.
    """
    held = {id(one): one for one in gc.get_referents(owner) if id(one) in ways}
    for one in reversed([*held.values()]):
        for at, way in ways[id(one)].items():
            longer = way.to(owner, one)
            if longer.path.count(".") + longer.path.count("[") <= _DEEPEST:
                yield at, longer


def _names(names: dict[Any, Any], ways: Mapping[int, Mapping[int, _Way]]) -> Iterator[tuple[int, str]]:
    """Yield the paths from the variables of a module to the targets, each with the number of the target."""
    for name, value in names.items() if _is_of_user(names) else ():
        if id(value) in ways and not _CONSOLE.fullmatch(name):
            yield from ((at, f"{name}{way.path}") for at, way in ways[id(value)].items())


def _of_running_functions() -> dict[int, str]:
    """Map the ids of the values of local variables, in the user's functions on this thread's stack, to their names."""
    found: dict[int, str] = {}
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to the frames.
    while frame is not None:
        if frame.f_locals is not frame.f_globals and not _is_of_library(frame.f_code.co_filename):
            for name, value in frame.f_locals.items():
                if name.isidentifier() and not _CONSOLE.fullmatch(name):
                    found.setdefault(id(value), name)
        frame = frame.f_back
    return found


def _of_context() -> dict[int, str]:
    """Map the ids of the values of this thread's `contextvars.ContextVar`s to expressions for them."""
    return {id(value): f"{variable.name}.get()" for variable, value in contextvars.copy_context().items()}


@dataclass(frozen=True)
class _Way:
    """The path from one object to another.

    Attributes:
      path: the expression to append to that of the first object: `['h'][1]`.
      place: the key or index of the first step, if the first object is a dictionary or a sequence.
      rest: the path without its first step.
    """

    path: str
    place: Any = None
    rest: str = ""

    def to(self, owner: Any, held: Any) -> _Way:
        """Return this path, which begins at `held`, with a step before it from `owner`, which refers to `held`."""
        if isinstance(owner, dict | list | tuple | deque):
            return self._to_place(owner, held)
        if isinstance(owner, FunctionType) and owner.__closure__ is held:
            return _Way(f" → its variable {owner.__code__.co_freevars[self.place]}{self.rest}")
        if _is_jitted(owner):
            return self if isinstance(held, FunctionType) else _Way(self.rest, rest=self.rest)
        if _are_attributes(owner, held, self.place):
            return _Way(f".{self.place}{self.rest}")
        step = _step(owner, held)
        return _Way(f"{step}{self.path}") if step else self

    def _to_place(self, owner: Any, held: Any) -> _Way:
        places = owner.items() if isinstance(owner, dict) else enumerate(owner)
        place = next((place for place, value in places if value is held), self)
        if place is self or type(place).__name__ == "_localdummy":  # The key for a thread in a `threading.local`.
            return self
        return _Way(f"[{place!r}]{self.path}", place, self.path)


def _step(owner: Any, held: Any) -> str:
    """Return the step from an owner to an object that it holds; empty if it is unknown. Containers are left out."""
    if isinstance(owner, functools._lru_cache_wrapper):  # noqa: SLF001 - the class has no public name.
        return " (its functools.lru_cache)"
    if isinstance(owner, set | frozenset):
        return " (one of its elements)"
    if isinstance(owner, GeneratorType):
        name = _variable(owner, held)
        return f" → its variable {name}" if name else ""
    name = _attribute(owner, held)
    return "" if name is None else f".{name}"


def _are_attributes(owner: Any, held: Any, name: Any) -> bool:
    """Return whether `held` is the attribute dictionary of its owner, with the attribute `name`."""
    if isinstance(owner, type | threading.local):  # Their `__dict__` is not the dictionary `held`.
        return isinstance(held, dict) and name in owner.__dict__
    return getattr(owner, "__dict__", None) is held


def _variable(generator: GeneratorType[Any, Any, Any], held: Any) -> str:
    value = held.cell_contents if isinstance(held, CellType) else held
    names = generator.gi_frame.f_locals if generator.gi_frame else {}
    return next((name for name, one in names.items() if one is value), "")


def _attribute(owner: Any, held: Any) -> str | None:
    if isinstance(owner, FunctionType | MethodType | BuiltinMethodType | functools.partial):
        return next((name for name in _PARTS if getattr(owner, name, None) is held), None)
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
    """Return whether these names are the globals of a module, or of code that was executed like one."""
    return "__name__" in names and ("__builtins__" in names or "__spec__" in names)


def _is_of_user(names: dict[Any, Any]) -> bool:
    file = names.get("__file__") or ""
    return not file or not _is_of_library(file)


def _is_of_library(file: str) -> bool:
    return not is_users(file) or is_library(file)


def _is_question(owner: Any, mark: object) -> bool:
    """Return whether an owner is the tuple of arguments of our call of `get_referrers`, which ends with `mark`."""
    return isinstance(owner, tuple) and bool(owner) and owner[-1] is mark


def _is_jitted(owner: Any) -> bool:
    """Return whether an owner is an object that `jax.jit` returns. The user's function inside it has the same name."""
    return type(owner).__name__ == "PjitFunction"


def _is_machinery(owner: Any) -> bool:
    """Return whether an owner belongs to JAX or to this package. Such references are temporary."""
    module = type(owner).__module__ or ""
    if _is_jitted(owner):
        return False
    if module.startswith(("jax._src", "jaxlib", "jax_debug_widgets")) or isinstance(owner, ModuleType):
        return True
    if isinstance(owner, GeneratorType):
        return _is_of_library(owner.gi_code.co_filename)
    # The collector sees the frames of finished functions that an exception keeps alive.
    return isinstance(owner, FrameType) or owner is sys.modules
