"""Compute the statistics of each lane of a `vmap` on the array's own device."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets._jax.compat.native import computed_natively
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.lanes import Axes, LaneHooks
from jax_debug_widgets.events import CallSite
from jax_debug_widgets.taps.sites import transforms_of
from jax_debug_widgets.watch.choosing.select import some_of
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.named import Named, label_of
from jax_debug_widgets.watch.statistics.statistics import SCALAR, STATISTICS, as_float, native_target, of_rows

MOST_LANES = 512
"""The most lanes whose statistics leave the device. Of a value with more lanes, only the first ones do."""


class ProgramLanes:
    """Finds which axes of the values of one program are lanes.

    Args:
      batched: the notes of what JAX has batched.
      wanted: returns whether a value is wanted by lane.
      laneless: collects the labels of values that are wanted by lane and have no known lanes.
    """

    def __init__(self, batched: LaneHooks, wanted: Callable[[Named], bool], laneless: dict[str, None]) -> None:
        self._batched, self._wanted, self._laneless = batched, wanted, laneless
        self._of_value: dict[tuple[Any, ...], Axes] = {}

    def of(self, body: BodyWithFrames, named: Iterable[Named], chosen: Sequence[Named]) -> list[Axes]:
        """Return for each of `chosen` the axes that are lanes; () where none is known."""
        made_by = {variable: equation for equation in body.equations for variable in equation.outvars}

        def axes_of(one: Named) -> Axes:
            equation = made_by.get(one.variable)
            # The noted axes may belong to another program that called the function from the same line.
            vmaps = transforms_of(one.stack).count("vmap")
            if equation is None or not vmaps:
                return ()
            # JAX records the batching of an equation under its own traceback, and that of a derivative rule's call
            # under the traceback that the program reports.
            own, reported = equation.source_info.traceback, traceback_of(equation.source_info)
            shape, at = one.variable.aval.shape, (one.file, tuple(one.span))
            calls = (self._batched.axes_of_call(traceback, at, shape, vmaps) for traceback in (own, reported))
            return max(self._batched.axes_of(own, shape, vmaps), *calls, key=len)

        # Keep the axes for the values' gradients, which may be in a body that comes later.
        self._of_value.update({_key(one): axes_of(one) for one in named if one.role == "value"})
        return [(one.role == "gradient" and self._of_gradient(one)) or axes_of(one) for one in chosen]

    def wanted(self, chosen: Sequence[Named], known: Sequence[Axes]) -> list[Axes]:
        """Return the axes of each value that is wanted by lane; () for the others."""
        found = []
        for one, axes in zip(chosen, known, strict=True):
            is_wanted = self._wanted(one)
            if is_wanted and not axes:
                self._laneless[label_of(one.name, one.role)] = None
            found.append(axes if is_wanted else ())
        return found

    def _of_gradient(self, one: Named) -> Axes:
        """Return the axes of a gradient's value. If the value is not known, they are looked up by its source range."""
        known = self._of_value.get(_key(one))
        if known is None:
            vmaps = transforms_of(one.stack).count("vmap")
            known = self._batched.axes_at(one.file, one.span, one.variable.aval.shape, vmaps)
        return known or ()


def _key(one: Named) -> tuple[Any, ...]:
    return one.file, one.span, one.name, one.variable.aval.shape


def shape_of(shape: tuple[int, ...], axes: Axes) -> tuple[int, int]:
    """Return the shape of `by_lane`'s result for a value of this shape."""
    count = math.prod(shape[axis] for axis in axes)
    return min(count, MOST_LANES), len(SCALAR if count == math.prod(shape) else STATISTICS)


def dtype_of(aval: Any, axes: Axes) -> np.dtype[Any]:
    """Return the dtype of `by_lane`'s result for a value of this type: a 32-bit integer scalar in each lane keeps its type."""
    is_exact = shape_of(aval.shape, axes)[1] == 1 and aval.dtype in (np.int32, np.uint32)
    return np.dtype(aval.dtype if is_exact else np.float32)


def by_lane(array: jax.Array, axes: Axes) -> jax.Array:
    """Return float32[lanes, k]: the statistics of each lane; [lanes, 1] if each lane is one number.

    The innermost `vmap` comes first.
    """
    count, width = shape_of(array.shape, axes)
    lanes = jnp.moveaxis(array, axes, range(len(axes)))
    lanes = as_float(lanes) if dtype_of(array, axes) == np.float32 else lanes
    lanes = lanes.reshape(math.prod(array.shape[axis] for axis in axes), -1)[:count]
    if width == 1:
        return lanes
    return computed_natively(native_target(), [lanes], (count, width), lambda rows: [of_rows(rows)])[0]


def note(laneless: Iterable[str], sites: Collection[CallSite]) -> list[str]:
    """Return the note about values that were requested by lane and have no lanes."""
    with_lanes = {site.label for site in sites if site.watch and site.watch.lanes}
    left = {site.label for site in sites if site.watch} & set(laneless) - with_lanes
    if not left:
        return []
    why = "An argument of a mapped function has none, nor has a value that does not depend on a mapped one."
    return [f"No lanes of {some_of(left)}. {why}"]
