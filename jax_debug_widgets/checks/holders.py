"""Find the name that holds an object, and the way from it: `net.layers[0].last`.

The nearest name is looked for, breadth first, among what refers to the object.
"""

from __future__ import annotations

import functools
import gc
import re
import sys
from collections import deque
from collections.abc import Iterator
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from jax_debug_widgets._jax.origins.frames import is_users
from jax_debug_widgets.watch import is_library

_DEEPEST = 12
_MOST = 2000
"""Objects that are looked at."""

_CONSOLE = re.compile(r"_+|_\d+|_i+\d*|Out|In|last_\w+|_oh")
"""What a console and a debugger keep by themselves."""


def holder_of(target: Any) -> str:
    """The way from the nearest name of the user's to an object; empty where there is none."""
    todo: deque[tuple[Any, str]] = deque([(target, "")])
    seen = {id(target), id(todo)}
    kept: list[Any] = []  # What lives no longer could share its id with another object.
    while todo and len(seen) < _MOST:
        held, path = todo.popleft()
        referrers = gc.get_referrers(held)
        seen |= {id(referrers), id(kept)}
        for owner in referrers:
            if id(owner) in seen or _is_machinery(owner):
                continue
            seen.add(id(owner))
            kept.append(owner)
            if isinstance(owner, FrameType):
                name = _variable(owner, held)
                if name:
                    return f"{name}{path}"
            elif isinstance(owner, dict) and _is_module(owner):
                name = next((key for key, value in owner.items() if value is held), "")
                if name and not _CONSOLE.fullmatch(name) and _is_of_user(owner):
                    return f"{name}{path}"
            elif path.count(".") + path.count("[") < _DEEPEST:
                todo.extend((one, f"{step}{path}") for one, step in _steps(owner, held))
    return ""


def _steps(owner: Any, held: Any) -> Iterator[tuple[Any, str]]:
    """What to look for next, and the step from it to the object."""
    if isinstance(owner, dict):
        instance = next((one for one in gc.get_referrers(owner) if getattr(one, "__dict__", None) is owner), None)
        key = next((key for key, value in owner.items() if value is held), None)
        if instance is not None and key is not None:
            yield instance, f".{key}"
        elif key is not None:
            yield owner, f"[{key!r}]"
    elif isinstance(owner, list | tuple | deque):
        function = next((one for one in gc.get_referrers(owner) if _closes_over(one, owner)), None)
        number = next((number for number, one in enumerate(owner) if one is held), None)
        if function is not None and number is not None:
            yield function, f" → its variable `{function.__code__.co_freevars[number]}`"
        elif number is not None:
            yield owner, f"[{number}]"
    elif isinstance(owner, functools._lru_cache_wrapper):  # noqa: SLF001 - the class has no other name.
        yield owner, " (its functools.lru_cache)"
    elif isinstance(owner, FunctionType | MethodType | CellType):
        yield owner, ""
    elif (name := _attribute(owner, held)) is not None:
        yield owner, f".{name}"
    else:
        yield owner, ""


def _closes_over(one: Any, cells: Any) -> bool:
    return isinstance(one, FunctionType) and one.__closure__ is cells


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


def _variable(frame: FrameType, held: Any) -> str:
    return next((name for name, value in frame.f_locals.items() if value is held and not _CONSOLE.fullmatch(name)), "")
