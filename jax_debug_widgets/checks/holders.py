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
"""Objects that are looked at."""

_CONSOLE = re.compile(r"_+|_\d+|_i+\d*|Out|In|last_(type|value|traceback|exc)|_oh")
"""The names that a console and a debugger keep by themselves."""


_PARTS = ("args", "keywords", "__defaults__", "__kwdefaults__", "__self__")
"""Where functions, methods and `functools.partial` keep what they were given."""


def holder_of(target: Any) -> str:
    """The way from the nearest name of the user's to an object; empty where there is none."""
    return holders_of([target])[0]


def holders_of(targets: Sequence[Any]) -> list[str]:
    """The way from the nearest name of the user's to each object; empty where there is none.

    Each round asks Python's collector once who refers to what the round before has found: a pass over all objects. The
    collector does not see the variables of functions that run.
    """
    names: dict[int, str] = {}
    variables = _of_context() | _of_running_functions()
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
    """Yield the ways from what refers to objects to the targets, by their numbers; the last of a target counts."""
    held = {id(one): one for one in gc.get_referents(owner) if id(one) in ways}
    for one in reversed([*held.values()]):
        for at, way in ways[id(one)].items():
            longer = way.to(owner, one)
            if longer.path.count(".") + longer.path.count("[") <= _DEEPEST:
                yield at, longer


def _names(names: dict[Any, Any], ways: Mapping[int, Mapping[int, _Way]]) -> Iterator[tuple[int, str]]:
    """Yield the ways from the variables of a module to the targets, by their numbers."""
    for name, value in names.items() if _is_of_user(names) else ():
        if id(value) in ways and not _CONSOLE.fullmatch(name):
            yield from ((at, f"{name}{way.path}") for at, way in ways[id(value)].items())


def _of_running_functions() -> dict[int, str]:
    """The id of what a variable of a function of the user's holds that runs in this thread -> its name."""
    found: dict[int, str] = {}
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the way to them.
    while frame is not None:
        if frame.f_locals is not frame.f_globals and not _is_of_library(frame.f_code.co_filename):
            for name, value in frame.f_locals.items():
                if name.isidentifier() and not _CONSOLE.fullmatch(name):
                    found.setdefault(id(value), name)
        frame = frame.f_back
    return found


def _of_context() -> dict[int, str]:
    """The id of what a `contextvars.ContextVar` of this thread holds -> how one writes that."""
    return {id(value): f"{variable.name}.get()" for variable, value in contextvars.copy_context().items()}


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
        if isinstance(owner, dict | list | tuple | deque):
            return self._to_place(owner, held)
        if isinstance(owner, FunctionType) and owner.__closure__ is held:
            return _Way(f" → its variable `{owner.__code__.co_freevars[self.place]}`{self.rest}")
        if _are_attributes(owner, held, self.place):
            return _Way(f".{self.place}{self.rest}")
        step = _step(owner, held)
        return _Way(f"{step}{self.path}") if step else self

    def _to_place(self, owner: Any, held: Any) -> _Way:
        of = owner.items() if isinstance(owner, dict) else enumerate(owner)
        place = next((place for place, value in of if value is held), self)
        if place is self or type(place).__name__ == "_localdummy":  # A thread, of a `threading.local`.
            return self
        return _Way(f"[{place!r}]{self.path}", place, self.path)


def _step(owner: Any, held: Any) -> str:
    """The step from what has the object neither at a place nor in a dictionary of attributes; empty where there is none."""
    if isinstance(owner, functools._lru_cache_wrapper):  # noqa: SLF001 - the class has no other name.
        return " (its functools.lru_cache)"
    if isinstance(owner, set | frozenset):
        return " (one of its elements)"
    if isinstance(owner, GeneratorType):
        name = _variable(owner, held)
        return f" → its variable `{name}`" if name else ""
    name = _attribute(owner, held)
    return "" if name is None else f".{name}"


def _are_attributes(owner: Any, held: Any, name: Any) -> bool:
    """Whether the object `held` is the dictionary of the attributes of its owner, `name` among them."""
    if isinstance(owner, type | threading.local):  # They show another object.
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
    """Whether they are the globals of a module, or of code that was executed like one."""
    return "__name__" in names and ("__builtins__" in names or "__spec__" in names)


def _is_of_user(names: dict[Any, Any]) -> bool:
    file = names.get("__file__") or ""
    return not file or not _is_of_library(file)


def _is_of_library(file: str) -> bool:
    return not is_users(file) or is_library(file)


def _is_question(owner: Any, mark: object) -> bool:
    """Whether it is the arguments of the question who refers to them, which end with a mark."""
    return isinstance(owner, tuple) and bool(owner) and owner[-1] is mark


def _is_machinery(owner: Any) -> bool:
    """Whether it is JAX's, or ours: these let go by themselves."""
    module = type(owner).__module__ or ""
    if module.startswith(("jax._src", "jaxlib", "jax_debug_widgets")) or isinstance(owner, ModuleType):
        return True
    if isinstance(owner, GeneratorType):
        return _is_of_library(owner.gi_code.co_filename)
    # The collector sees the frames of functions that are over: an exception keeps them.
    return isinstance(owner, FrameType) or owner is sys.modules
