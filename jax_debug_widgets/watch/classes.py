"""The fields of the classes that a file calls: `State(x + v, v)` makes `state.pos` and `state.vel`."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
from typing import Any

Fields = tuple[tuple[str, tuple[str, ...]], ...]
"""What the source calls a class, `shapes.Box`, with the fields that its arguments are, in order."""

_CALLED = re.compile(r"(?<![\w.])(?:\w+\.)*[A-Z]\w*(?=\()")


def fields_in(file: str, text: tuple[str, ...]) -> Fields:
    """The named tuples and dataclasses that a file calls, as its module knows them now."""
    called = _called(text)
    namespace = _namespace(file) if called else {}
    found = ((name, _fields_of(_at(namespace, name))) for name in called)
    return tuple((name, fields) for name, fields in found if fields)


@functools.lru_cache(maxsize=512)
def _called(text: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({name for line in text for name in _CALLED.findall(line)}))


def _namespace(file: str) -> dict[str, Any]:
    return vars(sys.modules.get(_module_of(file)) or sys.modules["__main__"])


@functools.lru_cache(maxsize=512)
def _module_of(file: str) -> str:
    """The name of the module of a file; the cells of a notebook are `__main__`."""
    modules = ((name, getattr(module, "__dict__", {})) for name, module in list(sys.modules.items()))
    return next((name for name, namespace in modules if namespace.get("__file__") == file), "__main__")


def _at(namespace: dict[str, Any], name: str) -> Any:
    first, *rest = name.split(".")
    found = namespace.get(first)
    for part in rest:  # Not by `getattr`, which may import.
        found = getattr(found, "__dict__", {}).get(part)
    return found


@functools.lru_cache(maxsize=1024)
def _fields_of(value: Any) -> tuple[str, ...]:
    """The parameters of a class where each is a field of the same name."""
    if not isinstance(value, type):
        return ()
    fields = getattr(value, "_fields", ())
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value)]
    try:
        parameters = tuple(inspect.signature(value).parameters) if fields else ()
    except (TypeError, ValueError):
        return ()
    return parameters if set(parameters) <= set(fields) else ()
