"""Note which axes of a watched value are the lanes of a `vmap`, while JAX batches the program.

`passes/tap.py` does the same for prints.

A program that JAX lowers has been batched, and nothing in it says which axes the batching has added. An equation keeps
its place in the source through all transformations. So the axes are looked up by that place, the shape of the result,
and the number of `vmap`s around the equation, which JAX's name stack contains.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.private import batching, core, source_info_util
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.frames import Frame, levels_of

Axes = tuple[int, ...]
"""The axes of a value that are lanes, the outermost `vmap` first."""


class LaneHooks(Replacing):
    """Notes the lanes of all results that JAX batches while `wanted()` is true."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        super().__init__()
        self._wanted = wanted
        self._found: dict[Any, dict[int, Axes | None]] = {}
        self._ranges: set[Any] = set()
        self._batching = threading.local()

    def axes_of(self, traceback: Any, shape: tuple[int, ...], vmaps: int) -> Axes:
        """Return the axes that are lanes in a result with this shape and traceback; () if none is known.

        `vmaps` is the number of `vmap`s around the equation. Without a `vmap` the equation has no lanes, even if JAX
        has batched an equation elsewhere that it traced once for all calls.
        """
        return self._known((_place(traceback), shape), vmaps)

    def axes_inside(self, traceback: Any, shape: tuple[int, ...], vmaps: int, frame: Frame) -> Axes:
        """Return the axes that are lanes, as `axes_of` does, for an equation in a function that the user's `frame` calls.

        JAX traces some of its functions once for all calls: the tracebacks of their equations have no user frame.
        """
        at = (frame.file, (frame.line, frame.column, frame.end_line, frame.end_column))
        if at not in self._ranges:
            return ()
        if _place(traceback):
            return self.axes_of(traceback, shape, vmaps)
        # JAX has also batched it only once. For calls other than the first, only notes for all calls are used.
        traced = _Traced(traceback)
        return self._known(((traced, at), shape), vmaps) or self._known((traced, shape), vmaps)

    def axes_of_call(self, traceback: Any, at: tuple[str, tuple[int, ...]], shape: tuple[int, ...], vmaps: int) -> Axes:
        """Return the axes that are lanes in a result of this shape of the call at `at`, (file, range).

        Return () if none is known. `traceback` belongs to an equation inside the call. JAX batches a call of a
        `custom_vmap` function, but not the equations that its rule has made.
        """
        place = _place(traceback)
        end = place.index(at) + 1 if at in place else 0
        return self._known((place[:end], shape), vmaps)

    def axes_at(self, file: str, span: tuple[int, int, int, int], shape: tuple[int, ...], vmaps: int) -> Axes:
        """Return the axes that are lanes in results of this shape at a range of a file; () if they differ by caller."""
        return self._known(((file, tuple(span)), shape), vmaps)

    def _known(self, key: Any, most: int) -> Axes:
        known = self._found.get(key, {})
        count = max((one for one in known if one <= most), default=0)
        return known.get(count) or ()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.LANES):
            for name in versions.BATCHING:
                if hasattr(batching.BatchTrace, name):
                    replace.attribute(batching.BatchTrace, name, self._noting)

    def _noting(self, theirs: Any, trace: Any, *args: Any, **options: Any) -> Any:
        if not self._wanted():
            return theirs(trace, *args, **options)
        # A program traced before, such as a loop's body, is batched equation by equation.
        traced = source_info_util._source_info_context.context.traceback
        place = _place(traced or source_info_util.current().traceback)
        before = getattr(self._batching, "at", None)
        self._batching.at = at = place[-1] if place else before
        try:
            results = theirs(trace, *args, **options)
        finally:
            self._batching.at = before
        # Code that `vmap` runs directly, without a user frame, has no place.
        origins = [one for one, is_known in ((_Traced(traced), traced), (_Written(place), place)) if is_known]
        also = (place, *place) if place else tuple((one, at) for one in origins)
        for result in results if isinstance(results, list | tuple) else (results,):
            shape, axes = _lanes(result)
            if axes and traced:
                axes = self._with_inner(origins, shape, axes)
            if axes:
                self._ranges.update(place)
                for key in (*origins[:1], *also):
                    self._note((key, shape), axes)
        return results

    def _with_inner(self, origins: Sequence[Any], shape: tuple[int, ...], outer: Axes) -> Axes:
        """Add the lanes that a traced equation's result had before an outer `vmap` added the lanes `outer`."""
        rest = [axis for axis in range(len(shape)) if axis not in outer]
        before = tuple(shape[axis] for axis in rest)
        inner = next((found for one in origins if (found := self._known((one, before), len(before)))), ())
        return (*outer, *(rest[axis] for axis in inner))

    def _note(self, key: Any, axes: Axes) -> None:
        # An outer `vmap` batches the results of an inner one, and sees fewer lanes. Contradicting notes are dropped.
        known = self._found.setdefault(key, {})
        if known.setdefault(len(axes), axes) != axes:
            known[len(axes)] = None


@dataclass(frozen=True)
class _Written:
    """The key for code that `vmap` runs directly: its place in the source, because there was no equation before."""

    place: Any


@dataclass(frozen=True, eq=False)
class _Traced:
    """The key for an equation traced before, and for all equations made from it: they share one traceback object."""

    traceback: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Traced) and other.traceback is self.traceback

    def __hash__(self) -> int:
        return id(self.traceback)


def _place(traceback: Any) -> Any:
    return tuple((level.file, level.span) for level in levels_of(traceback))


def _lanes(tracer: Any) -> tuple[tuple[int, ...], Axes]:
    """Return the shape of the array behind a tracer, and which of its axes are lanes."""
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
