"""Make a fingerprint ("print") of a value: equal for equal contents, small, and made without running the user's code.

Only the prints are kept, not the values, so no object lives longer than without the check. The print of an iterator is
its position; no iterator is advanced.
"""

from __future__ import annotations

import io
import itertools
import operator
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FunctionType, GeneratorType
from typing import Any

import jax
import jax.core
import numpy as np

from jax_debug_widgets._jax.passes.numbers import address_of
from jax_debug_widgets._jax.passes.program_difference import UNKNOWN
from jax_debug_widgets.checks.purity.classes import methods_of
from jax_debug_widgets.watch import is_library

_DEEPEST = 4
_MOST_ITEMS = 1000
_MOST_BYTES = 1 << 20
_LONGEST = 40

_SIMPLE = (bool, int, float, complex, str, bytes, type(None), np.generic)


@dataclass(frozen=True)
class Print:
    """The print of a value at one moment.

    Attributes:
      kind: `number`, `iterator`, `tracer`, or the name of its class.
      key: an object that is equal for equal contents, apart from the parts.
      text: a description for people.
      parts: the step to each part, such as `['lr']` or `.scale`, with its print.
      address: where the numbers of a NumPy array are in memory; 0 for other values.
    """

    kind: str
    key: Any
    text: str
    parts: tuple[tuple[str, Print], ...] = ()
    address: int = field(default=0, compare=False)

    def has_tracer(self) -> bool:
        """Return whether the value, or a part of it, was a tracer."""
        return self.kind == "tracer" or any(part.has_tracer() for _, part in self.parts)


@dataclass(frozen=True)
class PartChange:
    """A difference between two prints: the path to the part, and the part's prints before and after."""

    path: str
    before: Print
    after: Print


ABSENT = Print("absent", None, "absent")


def print_of(value: Any, depth: int = 0) -> Print:
    """Return the print of a value as it is now."""
    kind = type(value).__name__
    if value is UNKNOWN:
        return ABSENT
    if isinstance(value, jax.core.Tracer):
        return Print("tracer", id(value), f"a tracer of {value.aval.str_short()}")
    if any(isinstance(one, jax.core.Tracer) for one in _inside(value)):
        return Print("tracer", id(value), f"a {kind} with a tracer")
    if isinstance(value, _SIMPLE):
        return Print("number", (kind, repr(value)), _short(repr(value)))
    if hasattr(type(value), "__next__") and not isinstance(value, io.IOBase):
        endless = "an endless iterator" if isinstance(value, itertools.count | itertools.cycle) else "an iterator"
        return Print("iterator", _position(value), f"{endless} ({kind})")
    return _array(value) or _container(value, kind, depth)


def _inside(value: Any) -> Iterator[Any]:
    """Yield the variables that a generator, or a function, holds."""
    if isinstance(value, GeneratorType) and value.gi_frame is not None:
        yield from value.gi_frame.f_locals.values()
    for cell in (value.__closure__ or ()) if isinstance(value, FunctionType) else ():
        with suppress(ValueError):
            yield cell.cell_contents


def _array(value: Any) -> Print | None:
    if isinstance(value, np.ndarray):
        is_small = value.nbytes <= _MOST_BYTES and not value.dtype.hasobject
        numbers = value.tobytes() if is_small else id(value)
        key = value.shape, str(value.dtype), hash(numbers)
        return Print("ndarray", key, _array_text(value), address=address_of(value))
    if isinstance(value, jax.Array):
        return Print("array", id(value), f"{value.dtype}{list(value.shape)}")
    if isinstance(value, np.random.Generator):
        return Print("random", repr(value.bit_generator.state), "a random generator")
    return None


def change_of(before: Print, after: Print) -> PartChange | None:
    """Return the first difference between two prints; None if they are equal."""
    if before == after:
        return None
    if before.kind == after.kind and before.parts and after.parts:
        old, new = dict(before.parts), dict(after.parts)
        for step in (*old, *(one for one in new if one not in old)):
            found = change_of(old.get(step, ABSENT), new.get(step, ABSENT))
            if found is not None and ((step in old and step in new) or _is_object(after)):
                return PartChange(f"{step}{found.path}", found.before, found.after)
    return PartChange("", before, after)


def is_cleared(change: PartChange) -> bool:
    """Return whether an attribute was used during the trace only: it did not exist before, and is None afterwards."""
    return change.before is ABSENT and change.after.text == "None"


def _is_object(one: Print) -> bool:
    return isinstance(one.key, tuple) and one.key[-1:] == ("object",)


def _container(value: Any, kind: str, depth: int) -> Print:
    if isinstance(value, dict):
        items = itertools.islice(value.items(), _MOST_ITEMS) if depth < _DEEPEST else ()
        parts = tuple((f"[{key!r}]", print_of(one, depth + 1)) for key, one in items if isinstance(key, _SIMPLE))
        return Print(kind, len(value), _of(kind, len(value)), parts)
    if isinstance(value, list | tuple | deque):
        items = itertools.islice(value, _MOST_ITEMS) if depth < _DEEPEST else ()
        parts = tuple((f"[{number}]", print_of(one, depth + 1)) for number, one in enumerate(items))
        return Print(kind, len(value), _of(kind, len(value)), parts)
    if isinstance(value, set | frozenset):
        simple = hash(frozenset(one for one in value if isinstance(one, _SIMPLE)))
        return Print(kind, (len(value), simple), _of(kind, len(value)))
    own = _attributes(value)
    if own is not None and depth < _DEEPEST - 1:
        items = itertools.islice(own.items(), _MOST_ITEMS)
        return Print(
            kind, (id(value), "object"), f"a {kind}", tuple((f".{n}", print_of(v, depth + 1)) for n, v in items)
        )
    return Print(kind, id(value), f"a {kind}", _leaves(value))


def _leaves(value: Any) -> tuple[tuple[str, Print], ...]:
    """Return the prints of the arrays in a pytree of a library, such as a layer of flax.nnx or a state of optax."""
    found = _flat(value, jax.tree_util.tree_leaves_with_path)
    arrays = ((path, one) for path, one in found[:_MOST_ITEMS] if path and isinstance(one, jax.Array | np.ndarray))
    return tuple((jax.tree_util.keystr(path), print_of(one)) for path, one in arrays)


def arrays_of_library(value: Any) -> tuple[int, ...]:
    """Return the identities of the arrays in a pytree of a library; empty for other values. It takes less time than a print."""
    is_plain = isinstance(value, (*_SIMPLE, np.ndarray, jax.Array, dict, list, tuple, set, frozenset, deque))
    leaves = () if is_plain else _flat(value, jax.tree_util.tree_leaves)
    arrays = [one for one in leaves if isinstance(one, jax.Array | np.ndarray)]
    return tuple(map(id, arrays))


def _flat(value: Any, flatten: Callable[[Any], list[Any]]) -> list[Any]:
    if any(True for _ in methods_of(type(value))):
        return []  # Flattening it might run the user's code.
    try:
        return flatten(value)
    except Exception:  # noqa: BLE001 - a library may raise anything, for instance while it traces.
        return []


def _attributes(value: Any) -> Mapping[str, Any] | None:
    """Return the attributes of an object of a class that the user has defined; None for other objects."""
    kind = type(value)
    own = next((one for one in vars(kind).values() if hasattr(one, "__code__")), None)
    if own is None or is_library(own.__code__.co_filename) or isinstance(value, type):
        return None
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def _position(iterator: Any) -> Any:
    if isinstance(iterator, GeneratorType):
        frame = iterator.gi_frame
        if frame is None:
            return "exhausted"
        return frame.f_lasti, tuple(
            (name, repr(one)) for name, one in frame.f_locals.items() if isinstance(one, _SIMPLE)
        )
    if type(iterator).__module__ == "itertools" or type(iterator) in (enumerate, reversed, zip, map, filter):
        return _reduced(iterator)
    hint = operator.length_hint(iterator, -1) if type(iterator).__module__ == "builtins" else -1
    return (hint,) if hint >= 0 else id(iterator)


def _reduced(iterator: Any) -> Any:
    """Return the position of an iterator that wraps other iterators."""
    if isinstance(iterator, itertools.count):
        return repr(iterator)
    try:
        parts: Sequence[Any] = iterator.__reduce__()[1]
    except (TypeError, AttributeError):
        return id(iterator)
    numbers = tuple(one for one in parts if isinstance(one, int))
    return numbers, tuple(_position(one) for one in parts if hasattr(type(one), "__next__"))


def _of(kind: str, size: int) -> str:
    return f"a {kind} of {size}"


def _array_text(value: np.ndarray) -> str:
    return _short(repr(value.item())) if value.size == 1 else f"{value.dtype}{list(value.shape)}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
