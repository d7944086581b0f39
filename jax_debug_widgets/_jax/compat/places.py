"""The places where functions of JAX are replaced: several of ours may be stacked there, and each can be removed alone.

Captures overlap, in threads or because one is left before another that began inside it. So who comes first may leave first.
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
        """What tells it from others, while it is referred to."""
        ...

    def read(self) -> Any:
        """The object that is in the place."""
        ...

    def write(self, value: Any) -> None:
        """Put this there."""
        ...

    def restoring(self) -> Callable[[], object]:
        """Give a function that puts back what is there now."""
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
        if self.name in vars(self.owner):  # What is read of a static or class method is its function.
            return partial(self.write, vars(self.owner)[self.name])
        return partial(delattr, self.owner, self.name)  # It is inherited.


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
    """One of ours in a place.

    Args:
      place: where.
      make: makes it, for what lies below it.
    """

    def __init__(self, place: FunctionPlace, make: Callable[[Any], Any]) -> None:
        self._place, self._make = place, make

    def put_on_top(self) -> None:
        """Replace what is there."""
        with _lock:
            self._below, self._restore = self._place.read(), self._place.restoring()
            _layers.setdefault(self._place.key, []).append(self)  # First: an interrupt may come here.
            self._place.write(self._make(self._below))

    def take_out(self) -> None:
        """Take it out, wherever it lies; nothing where it is not there."""
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
        """Make those above anew, on what is below. Other threads call them meanwhile, so they are written at once."""
        made, restore = self._below, self._restore
        for one in above:
            one._below, one._restore = made, restore
            written = one._make(made)
            restore = partial(self._place.write, written)
            made = written.__func__ if isinstance(written, staticmethod) else written
        restore()


_layers: dict[tuple[int, Any], list[Layer]] = {}
"""The key of a place -> ours that lie there, the uppermost last."""
