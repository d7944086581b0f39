"""Tell the plain values that a function reads from outside, and which of them have changed."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any

_PLAIN = bool | int | float | complex | str | list | tuple | dict | type(None)

_LONGEST = 200
"""The most characters of a value that are shown."""

_MOST = 10_000
"""Of a collection with more elements, only their number is compared."""


def values_outside(function: Any, owner: Any) -> dict[str, str]:
    """Return the plain values that a function reads from its closure, module, defaults and object: name -> text.

    Attributes of the objects that it names are among them, such as the number of calls that an object counts.
    """
    if not inspect.isfunction(function):
        return {}
    outside = inspect.getclosurevars(function)
    defaults = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    attributes = {f"self.{name}": value for name, value in getattr(owner, "__dict__", {}).items()}
    named = {**outside.globals, **outside.nonlocals}
    of_objects = dict(_attributes_of(named, frozenset(_names_in(function.__code__))))
    values = {**named, **defaults, **attributes, **of_objects}
    return {name: _text_of(value) for name, value in values.items() if isinstance(value, _PLAIN)}


def changed_between(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each value that differs, with both texts, cut to what can be shown."""
    for name, now in after.items():
        value = before.get(name, now)
        if value != now:
            at = next((at for at, pair in enumerate(zip(value, now, strict=False)) if pair[0] != pair[1]), 0)
            start = 0 if max(len(value), len(now)) <= _LONGEST else max(0, at - _LONGEST // 2)
            yield name, _cut(value, start), _cut(now, start)


def _cut(text: str, start: int) -> str:
    shown = text[start : start + _LONGEST]
    return f"{'…' if start else ''}{shown}{'…' if start + _LONGEST < len(text) else ''}"


def _attributes_of(named: Mapping[str, Any], read: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes with these names of the objects that are no modules."""
    for name, value in named.items():
        if not isinstance(value, ModuleType):
            own = getattr(value, "__dict__", {})
            yield from ((f"{name}.{key}", own[key]) for key in read & own.keys())


def _names_in(code: CodeType) -> Iterator[str]:
    """Yield the names in a function's code, and in that of the functions inside it."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names_in(const)


def _text_of(value: Any) -> str:
    is_large = isinstance(value, list | tuple | dict) and len(value) > _MOST
    return f"{type(value).__name__} of {len(value):,}" if is_large else repr(value)
