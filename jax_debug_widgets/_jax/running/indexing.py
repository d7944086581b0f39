"""Observe the indexing in the user's lines, before JAX runs or traces it.

It finds indices out of bounds in un-jitted `x[i]` and `x.at[i].set(y)` (S6), and updates whose result is dropped (S5).
"""

from __future__ import annotations

import dis
import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import CodeType, FrameType
from typing import Any

import jax
import jax.core
import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import array, array_methods
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.frames import frame_at, is_ours, is_users
from jax_debug_widgets._jax.passes.checked import Checked

_METHODS = ("get", "set", "apply", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max")


@dataclass(frozen=True)
class OutsideIndex:
    """Indices out of bounds: the axis, its size, how many indices there are, and whether elements were written."""

    index: int
    axis: int
    size: int
    count: int
    writes: bool


@dataclass(frozen=True)
class DroppedUpdate:
    """An update whose result is dropped: the method, such as `set`."""

    method: str


class IndexingHooks(Replacing):
    """Installs the hooks, counted, so that captures may nest and overlap."""

    def __init__(self, wanted: Callable[[str], bool], found: Callable[[Checked], object]) -> None:
        """Make the hooks, not yet installed.

        Args:
          wanted: returns whether the current thread's capture has a check.
          found: called with each problem at the user's line.
        """
        super().__init__()
        self._wanted, self._found = wanted, found

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.INDEXING):
            replace.attribute(array.ArrayImpl, "__getitem__", self._read)
            for name in _METHODS:
                replace.attribute(array_methods._IndexUpdateRef, name, partial(self._updated, name))

    def _read(self, theirs: Any, operand: Any, index: Any) -> Any:
        self._look(operand, index, writes=False)
        return theirs(operand, index)

    def _updated(self, name: str, theirs: Any, update: Any, *args: Any, **options: Any) -> Any:
        frame = _caller() if name != "get" and self._wanted("purity") else None
        if frame is not None and _drops_result(frame.f_code, frame.f_lasti):
            self._found(Checked("purity", "update", (frame_at(frame.f_code, frame.f_lasti),), DroppedUpdate(name)))
        if options.get("mode") is None:
            self._look(update.array, update.index, writes=name != "get")
        return theirs(update, *args, **options)

    def _look(self, operand: Any, index: Any, *, writes: bool) -> None:
        frame = _caller() if self._wanted("oob") and isinstance(operand, array.ArrayImpl) else None
        outside = None if frame is None else _outside(operand.shape, index, writes=writes)
        if frame is not None and outside is not None:
            self._found(Checked("oob", "indexing", (frame_at(frame.f_code, frame.f_lasti),), outside))


def _caller() -> FrameType | None:
    """Return the frame that indexes, if it is the user's (JAX's own functions index too); else None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame if frame is not None and is_users(frame.f_code.co_filename) else None


@functools.lru_cache(maxsize=1024)
def _drops_result(code: CodeType, position: int) -> bool:
    """Return whether the result of the call at this position of a function is dropped: the call is a statement."""
    following = itertools.dropwhile(lambda one: one.offset <= position, dis.get_instructions(code))
    return next((one.opname == "POP_TOP" for one in following), False)


def _outside(shape: tuple[int, ...], index: Any, *, writes: bool) -> OutsideIndex | None:
    for axis, numbers in _by_axis(len(shape), index if isinstance(index, tuple) else (index,)):
        size = shape[axis]
        outside = numbers[(numbers < -size) | (numbers >= size)]
        if outside.size:
            return OutsideIndex(int(outside.flat[0]), axis, size, outside.size, writes)
    return None


def _by_axis(rank: int, parts: tuple[Any, ...]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the axes that are indexed by integers, with these integers."""
    if any(isinstance(one, jax.core.Tracer) or (isinstance(one, jax.Array) and one.is_deleted()) for one in parts):
        return
    known = [one if one is None or one is ... or isinstance(one, slice) else np.asarray(one) for one in parts]
    taken = sum(_axes(one) for one in known)
    axis = 0
    for one in known:
        if isinstance(one, np.ndarray) and one.dtype.kind in "iu":
            yield axis, one
        axis += rank - taken if one is ... else _axes(one)


def _axes(part: Any) -> int:
    """Return how many axes a part of an index covers."""
    if part is None or part is ...:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype == bool else 1
