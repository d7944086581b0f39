"""Manage the places where functions of JAX are replaced: several replacements may be stacked, and each can be removed alone.

Captures may overlap, in several threads, or because one ends before another that began inside it. So the first
replacement may be the first to be removed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

_lock = threading.RLock()


class FunctionPlace(Protocol):
    """A place of one function."""

    @property
    def key(self) -> tuple[int, Any]:
        """A key that identifies the place while it is referenced."""
        ...

    def read(self) -> Any:
        """Return the object in the place."""
        ...

    def write(self, value: Any) -> None:
        """Put an object into the place."""
        ...

    def restoring(self) -> Callable[[], object]:
        """Return a function that puts back the object that is in the place now."""
        ...


@dataclass(frozen=True)
class AttributePlace:
    """An attribute of a module, a class or an object."""

    owner: Any
    name: str

    @property
    def key(self) -> tuple[int, Any]:
        return id(self.owner), self.name

    def read(self) -> Any:
        return getattr(self.owner, self.name)

    def write(self, value: Any) -> None:
        setattr(self.owner, self.name, value)

    def restoring(self) -> Callable[[], object]:
        if self.name in vars(self.owner):  # Reading a static or class method returns its function instead.
            return partial(self.write, vars(self.owner)[self.name])
        return partial(delattr, self.owner, self.name)  # The attribute is inherited.


class PropertyPlace(AttributePlace):
    """A property of a class."""

    def read(self) -> Any:
        return vars(self.owner)[self.name]


@dataclass(frozen=True)
class ItemPlace:
    """An item of a table."""

    table: Any
    item: Any

    @property
    def key(self) -> tuple[int, Any]:
        return id(self.table), self.item

    def read(self) -> Any:
        return self.table[self.item]

    def write(self, value: Any) -> None:
        self.table[self.item] = value

    def restoring(self) -> Callable[[], object]:
        return partial(self.write, self.read())


class Layer:
    """One replacement in a place.

    Args:
      place: the place.
      make: makes the replacement for the object below it.
    """

    def __init__(self, place: FunctionPlace, make: Callable[[Any], Any]) -> None:
        self._place, self._make = place, make

    def put_on_top(self) -> None:
        """Replace the object in the place."""
        with _lock:
            self._below, self._restore = self._place.read(), self._place.restoring()
            # Append before writing, because an interrupt may come here.
            _layers.setdefault(self._place.key, []).append(self)
            self._place.write(self._make(self._below))

    def take_out(self) -> None:
        """Remove the replacement, wherever it is in the stack; do nothing if it is not there."""
        with _lock:
            layers = _layers.get(self._place.key, [])
            if self not in layers:
                return
            above = layers[layers.index(self) + 1 :]
            if above:
                self._join(above)
            else:
                self._restore()
            layers.remove(self)
            if not layers:
                del _layers[self._place.key]

    def _join(self, above: Sequence[Layer]) -> None:
        """Make the replacements above again, on top of the object below.

        Each is written at once, because other threads call them.
        """
        made, restore = self._below, self._restore
        for one in above:
            one._below, one._restore = made, restore
            written = one._make(made)
            restore = partial(self._place.write, written)
            made = written.__func__ if isinstance(written, staticmethod) else written
        restore()


_layers: dict[tuple[int, Any], list[Layer]] = {}
"""The key of a place -> the replacements in it, the uppermost last."""
