"""Which axes of a value are the lanes of a `vmap`, noted while JAX batches the program.

When a program is handed to be lowered it has been batched, and nothing in it says which axes that has added. What an
equation keeps through all that JAX does with it is where in the source it comes from; by that, and the shape of its
result, it is found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.private import batching, core, source_info_util
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.frames import levels_of

Axes = tuple[int, ...]
"""Those of a value that are lanes, of the outermost `vmap` first."""


class LaneHooks(Replacing):
    """Note the lanes of what is batched while `wanted()`."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        super().__init__()
        self._wanted = wanted
        self._found: dict[Any, Axes | None] = {}

    def axes_of(self, traceback: Any, shape: tuple[int, ...]) -> Axes:
        """The lanes among the axes of a result of this shape, of an equation that comes from there; () where none is known."""
        return self._found.get((_place(traceback), shape)) or ()

    def axes_of_call(self, traceback: Any, at: tuple[str, tuple[int, ...]], shape: tuple[int, ...]) -> Axes:
        """The same for what a call in this range gives, which an equation makes that comes from inside the call.

        What is in a rule of `custom_vmap` is not batched any more, and the call is.
        """
        place = _place(traceback)
        end = place.index(at) + 1 if at in place else 0
        return self._found.get((place[:end], shape)) or ()

    def axes_at(self, file: str, span: tuple[int, int, int, int], shape: tuple[int, ...]) -> Axes:
        """The same for a result of a range of the source, whoever has called it; () where they differ."""
        return self._found.get(((file, tuple(span)), shape)) or ()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.LANES):
            for name in versions.BATCHING:
                if hasattr(batching.BatchTrace, name):
                    replace.attribute(batching.BatchTrace, name, self._noting)

    def _noting(self, theirs: Any, trace: Any, *args: Any, **options: Any) -> Any:
        results = theirs(trace, *args, **options)
        if self._wanted():
            # A program that was traced before, a loop's body say, is batched equation by equation.
            traced = source_info_util._source_info_context.context.traceback
            place = _place(traced or source_info_util.current().traceback)
            written = _Written(place)
            origin = _Traced(traced) if traced else written
            for result in results if isinstance(results, list | tuple) else (results,):
                shape, axes = _lanes(result)
                if axes and traced:
                    axes = self._with_inner((origin, written), shape, axes)
                for key in (origin, place, *place) if axes else ():
                    self._note((key, shape), axes)
        return results

    def _with_inner(self, origins: tuple[Any, ...], shape: tuple[int, ...], outer: Axes) -> Axes:
        """With the lanes that the result of a traced equation had before an outer `vmap` added its own."""
        rest = [axis for axis in range(len(shape)) if axis not in outer]
        before = tuple(shape[axis] for axis in rest)
        inner = next((found for one in origins if (found := self._found.get((one, before)))), ())
        return (*outer, *(rest[axis] for axis in inner))

    def _note(self, key: Any, axes: Axes) -> None:
        known = self._found.setdefault(key, axes)
        # An outer `vmap` sees what an inner one has made of it, and knows less. Of two that know as much neither is right.
        if known is not None and known != axes and len(axes) >= len(known):
            self._found[key] = axes if len(axes) > len(known) else None


@dataclass(frozen=True)
class _Written:
    """Code that runs under a `vmap` itself, by its place: no equation was there before."""

    place: Any


@dataclass(frozen=True, eq=False)
class _Traced:
    """An equation that was there before, and what is made of it: all have its very traceback, others at most an equal one."""

    traceback: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Traced) and other.traceback is self.traceback

    def __hash__(self) -> int:
        return id(self.traceback)


def _place(traceback: Any) -> Any:
    return tuple((level.file, level.span) for level in levels_of(traceback))


def _lanes(tracer: Any) -> tuple[tuple[int, ...], Axes]:
    """The shape of the array behind a tracer, and which of its axes are lanes."""
    dims: list[int] = []
    while isinstance(tracer, core.Tracer):
        if isinstance(tracer, batching.BatchTracer):
            if not isinstance(tracer.batch_dim, int):
                return (), ()
            dims.append(tracer.batch_dim)
            tracer = tracer.val
        elif hasattr(tracer, "primal"):
            tracer = tracer.primal
        else:
            break
    shape = tuple(np.shape(tracer))
    left = list(range(len(shape)))
    return shape, tuple(left.pop(dim) for dim in reversed(dims))
