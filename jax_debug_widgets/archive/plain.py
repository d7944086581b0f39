"""Convert dataclasses to JSON and back, checked against the types of their fields; nothing is executed."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union

from jax_debug_widgets import events
from jax_debug_widgets.archive.layout import RunFileError

T = TypeVar("T")


def as_plain(value: Any) -> Any:
    """Convert a dataclass of `events`, and all that it contains, to plain JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(one) for one in value]
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Make the dataclass from the data that `as_plain` has made.

    Unknown fields are ignored; missing ones get their default.

    Raises:
      RunFileError: a value has another type than its field.
    """
    if not isinstance(data, dict):
        raise RunFileError(f"expected the fields of a {kind.__name__}, got {data!r:.80}")
    hints = _hints(kind)
    fields = [field.name for field in dataclasses.fields(typing.cast("Any", kind)) if field.name in data]
    try:
        return kind(**{name: _checked(hints[name], data[name], f"{kind.__name__}.{name}") for name in fields})
    except TypeError as error:
        raise RunFileError(f"{kind.__name__}: {error}") from None


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, localns={**vars(events), "Any": Any})


def _checked(hint: Any, value: Any, where: str) -> Any:  # noqa: PLR0911 - a line a kind of type.
    """Return the value of a field after checking its type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _checked(next(one for one in arguments if one is not type(None)), value, where)
    if origin is tuple and isinstance(value, list):
        return _tuple(arguments, value, where)
    if origin is Mapping and isinstance(value, dict):
        return {_key(arguments[0], key, where): _checked(arguments[1], one, where) for key, one in value.items()}
    if dataclasses.is_dataclass(hint):
        return from_plain(typing.cast("Any", hint), value)
    if hint is float and type(value) is int:
        return float(value)
    if hint is Any or (origin is Literal and value in arguments) or (isinstance(hint, type) and type(value) is hint):
        return value
    raise RunFileError(f"{where} cannot be {value!r:.80}")


def _tuple(hints: tuple[Any, ...], values: list[Any], where: str) -> tuple[Any, ...]:
    if hints[-1:] == (...,):
        return tuple(_checked(hints[0], one, where) for one in values)
    if len(hints) != len(values):
        raise RunFileError(f"{where} cannot have {len(values)} elements")
    return tuple(_checked(one, part, where) for one, part in zip(hints, values, strict=True))


def _key(hint: Any, key: str, where: str) -> Any:
    if hint is not int:
        return key
    try:
        return int(key)
    except ValueError:
        raise RunFileError(f"{where} has the key {key!r:.80}, which is no number") from None
