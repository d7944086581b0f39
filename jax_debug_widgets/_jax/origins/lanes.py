"""Note which axes of a watched value are the lanes of a `vmap`, while JAX batches the program; for prints see `passes/tap.py`.

A program that JAX lowers has been batched, and nothing in it says which axes the batching has added. An equation keeps its
place in the source through all transformations. So the axes are looked up by that place and the shape of the result.
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
"""The axes of a value that are lanes, the outermost `vmap` first."""


class LaneHooks(Replacing):
    """Note the lanes of all results that JAX batches while `wanted()` is true."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        super().__init__()
        self._wanted = wanted
        self._found: dict[Any, Axes | None] = {}

    def axes_of(self, traceback: Any, shape: tuple[int, ...]) -> Axes:
        """The axes that are lanes, in a result of this shape whose equation has this traceback; () if none is known."""
        return self._found.get((_place(traceback), shape)) or ()

    def axes_of_call(self, traceback: Any, at: tuple[str, tuple[int, ...]], shape: tuple[int, ...]) -> Axes:
        """The axes that are lanes, in a result of this shape of the call at `at`, (file, range); () if none is known.

        `traceback` is that of an equation inside the call. JAX batches a call of a `custom_vmap` function, but not the
        equations that its rule has made.
        """
        place = _place(traceback)
        end = place.index(at) + 1 if at in place else 0
        return self._found.get((place[:end], shape)) or ()

    def axes_at(self, file: str, span: tuple[int, int, int, int], shape: tuple[int, ...]) -> Axes:
        """The axes that are lanes, in results of this shape at a range of a file; () if its callers differ in them."""
        return self._found.get(((file, tuple(span)), shape)) or ()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.LANES):
            for name in versions.BATCHING:
                if hasattr(batching.BatchTrace, name):
                    replace.attribute(batching.BatchTrace, name, self._noting)

    def _noting(self, theirs: Any, trace: Any, *args: Any, **options: Any) -> Any:
        results = theirs(trace, *args, **options)
        if self._wanted():
            # A program traced before, such as a loop's body, is batched equation by equation.
            traced = source_info_util._source_info_context.context.traceback
            place = _place(traced or source_info_util.current().traceback)
            written = _Written(place)
            origin = _Traced(traced) if traced else written
            for result in results if isinstance(results, list | tuple) else (results,):
                shape, axes = _lanes(result)
                if axes and traced:
                    axes = self._with_inner((origin, written), shape, axes)
                is_ours = not traced and not place  # Such as a check that is computed for all iterations at once.
                for key in (origin, place, *place) if axes and not is_ours else ():
                    self._note((key, shape), axes)
        return results

    def _with_inner(self, origins: tuple[Any, ...], shape: tuple[int, ...], outer: Axes) -> Axes:
        """Add the lanes that a traced equation's result had before an outer `vmap` added the lanes `outer`."""
        rest = [axis for axis in range(len(shape)) if axis not in outer]
        before = tuple(shape[axis] for axis in rest)
        inner = next((found for one in origins if (found := self._found.get((one, before)))), ())
        return (*outer, *(rest[axis] for axis in inner))

    def _note(self, key: Any, axes: Axes) -> None:
        known = self._found.setdefault(key, axes)
        # An outer `vmap` batches what an inner one made, and sees fewer lanes. Two equally long entries that differ: keep none.
        if known is not None and known != axes and len(axes) >= len(known):
            self._found[key] = axes if len(axes) > len(known) else None


@dataclass(frozen=True)
class _Written:
    """The key of code that `vmap` runs directly: its place in the source, as there was no equation before."""

    place: Any


@dataclass(frozen=True, eq=False)
class _Traced:
    """The key of an equation traced before, and of all that JAX makes of it: they share one traceback object."""

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
