"""One firing of a debugging call, and the tap in the compiled program that reported it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets.events.site import CallSite, Kind, Phase


@dataclass(frozen=True, eq=False)
class Tap:
    """What a compiled program hands over each time a call site fires, and how to read it.

    Attributes:
      site: the call site.
      lanes: sizes of the `vmap` axes that one firing carries, outermost first; empty outside `vmap`.
        JAX would have fired once a lane, so a firing is `size` events.
      mapped: for each value and each of `lanes`, whether the value has that axis (its leading axes, in order).
      shapes, dtypes: of each value in one event (without lanes).
      nbytes: bytes that one firing holds, all lanes together.
      unflatten: the values of one event -> `(args, kwargs)` as the program wrote them.
      render: the values of one event -> the text that JAX would have written, or None where it writes nothing.
    """

    site: CallSite
    lanes: tuple[int, ...]
    mapped: tuple[tuple[bool, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype[Any], ...]
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
        if not self.lanes:
            return tuple(arrays)
        return tuple(
            array[(*(i for i, present in zip(lane, mapped, strict=True) if present), ...)]
            for array, mapped in zip(arrays, self.mapped, strict=True)
        )


Firing = tuple[Tap, int, tuple[np.ndarray, ...]]
"""What a callback appends and nothing else: the tap, `time.perf_counter_ns()`, the values (lanes leading)."""


@dataclass(frozen=True)
class Event:
    """One observation, as JAX would have made it.

    Attributes:
      site: the call site that fired.
      seq: how many events of the run arrived before this one.
      occurrence: how many times its site had fired in this run; all lanes of one `vmap` share it.
      time_ns: nanoseconds since the run started.
      lane: index over the `vmap` axes, outermost first; empty outside `vmap`.
      call: id of the call that dispatched it, see `Run.calls`; -1 where it is not known.
      values: the values as NumPy arrays, in the order of `site.values`.
      tap: how to read the values.
    """

    site: CallSite
    seq: int
    occurrence: int
    time_ns: int
    lane: tuple[int, ...]
    call: int
    values: tuple[np.ndarray, ...]
    tap: Tap

    @property
    def kind(self) -> Kind:
        """Which of JAX's calls it was."""
        return self.site.kind

    @property
    def ordered(self) -> bool:
        """Whether the call asked for `ordered=True`."""
        return self.site.ordered

    @property
    def phase(self) -> Phase:
        """Forward, backward or recompute."""
        return self.site.phase

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments of the call, arrays as NumPy arrays."""
        return self.tap.unflatten(self.values)[0]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments of the call, arrays as NumPy arrays."""
        return self.tap.unflatten(self.values)[1]

    @cached_property
    def text(self) -> str:
        """What JAX writes for it, byte for byte, without the newline; a callback's arguments otherwise."""
        return self.tap.render(self.values)

    def __repr__(self) -> str:
        return f"Event({self.seq}, {self.site.where}, {self.text!r})"
