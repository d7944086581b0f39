"""What a compiled program hands over when a call site fires, and what is around it in the program."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets.events.site import CallSite


@dataclass(frozen=True)
class Nesting:
    """What is around a debugging call in its program.

    Attributes:
      loops: how often each loop around it runs its body, outermost first; None where only run time tells.
      conditional: whether it may be skipped: it is in a branch of `cond`.
      in_condition: whether it is in the condition of a `while`.
      steady: whether its values are the same in all iterations of the innermost loop, so that XLA may hoist it.
      axes: the mesh axes over whose devices it is mapped.
      devices: the name of the device at each coordinate of `axes`, nested lists; None where it is not known.
    """

    loops: tuple[int | None, ...] = ()
    conditional: bool = False
    in_condition: bool = False
    steady: bool = False
    axes: tuple[str, ...] = ()
    devices: Any = None

    @property
    def expected(self) -> int | None:
        """How often it fires in one call, on each device, by the program's text; None where only run time tells."""
        if self.conditional or self.in_condition or None in self.loops:
            return None
        return math.prod(length for length in self.loops if length is not None)

    def step(self, ordinal: int) -> tuple[int, ...]:
        """The iteration of each loop when it fires for the `ordinal`-th time (from 0) in a call, on one device."""
        outer, inner = self.loops[:1], self.loops[1:]
        lengths = [length for length in inner if length is not None]
        if not outer or self.conditional or len(lengths) < len(inner) or 0 in lengths:
            return ()
        first, rest = divmod(ordinal, math.prod(lengths))
        return (first, *(int(i) for i in np.unravel_index(rest, lengths))) if lengths else (first,)

    def device(self, coordinates: Sequence[int]) -> str:
        """The name of the device at these coordinates, empty where it is not known."""
        found = self.devices
        for coordinate in coordinates:
            found = found[coordinate] if found is not None else None
        return found if isinstance(found, str) else ""


@dataclass(frozen=True, eq=False)
class Tap:
    """What a compiled program hands over each time a call site fires, and how to read it.

    Attributes:
      site: the call site.
      lanes: sizes of the `vmap` axes that one firing carries, outermost first; empty outside `vmap`.
        JAX would have fired once a lane, so a firing is `size` events.
      mapped: for each value and each of `lanes`, whether the value has that axis (its leading axes, in order).
      shapes, dtypes: of each value in one event (without lanes).
      nesting: what is around it in its program.
      nbytes: bytes that one firing holds, all lanes together.
      unflatten: the values of one event -> `(args, kwargs)` as the program wrote them.
      render: the values of one event -> the text that JAX would have written, or None where it writes nothing.
    """

    site: CallSite
    lanes: tuple[int, ...]
    mapped: tuple[tuple[bool, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype[Any], ...]
    nesting: Nesting
    nbytes: int
    unflatten: Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]]
    render: Callable[[Sequence[Any]], str]

    @cached_property
    def size(self) -> int:
        """Events in one firing."""
        return math.prod(self.lanes)

    @cached_property
    def lane_order(self) -> tuple[tuple[int, ...], ...]:
        """The lanes in the order in which JAX fires them: it unrolls the innermost `vmap` first, so that one varies last."""
        reversed_axes = itertools.product(*(range(n) for n in reversed(self.lanes)))
        return tuple(lane[::-1] for lane in reversed_axes)

    @cached_property
    def scalars(self) -> tuple[int, ...]:
        """Indices of the values that are one number an event."""
        return tuple(index for index, shape in enumerate(self.shapes) if shape == ())

    def values_of(self, arrays: Sequence[np.ndarray], lane: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        """The values of one event out of the arrays of one firing."""
        values = arrays[: len(self.shapes)]
        if not self.lanes:
            return tuple(values)
        return tuple(
            array[(*(i for i, present in zip(lane, mapped, strict=True) if present), ...)]
            for array, mapped in zip(values, self.mapped, strict=True)
        )

    def coordinates_of(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        """Where on the mesh a firing came from: one coordinate for each of `nesting.axes`."""
        return tuple(int(array) for array in arrays[len(self.shapes) :])


Firing = tuple[Tap, int, tuple[np.ndarray, ...]]
"""What a callback appends and nothing else: the tap, `time.perf_counter_ns()`, the values and the mesh coordinates."""
