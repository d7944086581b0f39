"""Read variables, fields and items in a frame, without calling the user's code."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType, MemberDescriptorType
from typing import Any, NamedTuple


def value_of(node: ast.expr, frame: FrameType) -> Any:
    """Return the value of a variable, field or item in a frame without calling user code; raise if that is not possible."""
    match node:
        case ast.Name(id=name):
            return frame.f_locals[name] if name in frame.f_locals else frame.f_globals[name]
        case ast.Constant(value=value):
            return value
        case ast.Attribute(value=inner, attr=name):
            return _field(value_of(inner, frame), name)
        case ast.Subscript(value=inner, slice=index):
            whole, key = value_of(inner, frame), value_of(index, frame)
            if type(whole) in (dict, list, tuple):
                return whole[key]
        case ast.Tuple(elts=elements):
            return tuple(value_of(one, frame) for one in elements)
        case ast.List(elts=elements):
            return [value_of(one, frame) for one in elements]
    raise LookupError


def _field(value: Any, name: str) -> Any:
    """Return a field of an object, also of one with `__slots__` or of a `NamedTuple`; raise LookupError for a property."""
    own = getattr(value, "__dict__", {})
    if name in own:
        return own[name]
    field = inspect.getattr_static(type(value), name, None)
    if isinstance(field, _FIELDS):
        return field.__get__(value, type(value))
    raise LookupError


def fields_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object with their values, those of `__slots__` too."""
    yield from getattr(value, "__dict__", {}).items()
    for one in type(value).__mro__:
        slots = vars(one).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            with suppress(LookupError, AttributeError):  # The field may have no value yet.
                yield name, _field(value, name)


_FIELDS = (MemberDescriptorType, type(inspect.getattr_static(NamedTuple("_", [("field", int)]), "field")))
