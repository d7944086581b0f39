"""Describe what is around a debugging call in its program (loops, conditions, devices), and compute a firing's iteration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets._jax.compat.processes import ProcessShare


@dataclass(frozen=True)
class Nesting:
    """The surroundings of a debugging call in its program.

    Attributes:
      loops: the length of each loop around it, outermost first; None if the length is known only at run time.
      conditional: whether it may be skipped, because it is in a branch of `cond`.
      in_condition: whether it is in the condition of a `while`.
      steady: whether its values are the same in all iterations of the innermost loop, so that XLA may hoist it.
      counted: whether each firing hands over the iteration of each loop.
      hoisted: the length of each loop that JAX has moved it out of, outermost first.
      every: the program fires in one iteration of `every` (`--every`); 1 for all.
      one_of: one firing of `one_of` is recorded. If it is more than 1, counting firings does not give the iteration.
      axes: the mesh axes that it is mapped over.
      devices: the name of the device at each coordinate of `axes`, as nested lists; None if unknown.
      stride, strided: for watched values: it fires in each `stride`-th iteration of loop `strided` of `loops`.
      reverse: for each loop whether it runs from the end, as the backward pass of a forward loop does. Its step is
        still counted from the start, so that forward and backward pass of an iteration have the same step.
      replicas: the number of devices that run its program. With several and without `axes`, one device fires for all.
      groups: the number of groups of devices, told apart by `axes`, that fire once each; 0 if all devices fire.
      shuffled: whether counting does not give the iteration, because firings of several iterations come in any order.
      lanewise: the lengths of the loops inside `loops` that JAX has made of `vmap` axes, outermost loop first, which is
        the innermost `vmap`. The lanes then fire one after the other.
      version: the version of a program that is only sometimes watched; a call runs one version. Empty for other
        programs.
      in_parts: whether all devices fire without `axes`, each with its own part of the values (`partitioned=True`). The
        program's text does not say which device fires, nor how large its part is.
    """

    loops: tuple[int | None, ...] = ()
    conditional: bool = False
    in_condition: bool = False
    steady: bool = False
    counted: bool = False
    hoisted: tuple[int | None, ...] = ()
    every: int = 1
    one_of: int = 1
    axes: tuple[str, ...] = ()
    devices: Any = None
    stride: int = 1
    strided: int = 0
    reverse: tuple[bool, ...] = ()
    replicas: int = 1
    groups: int = 0
    shuffled: bool = False
    in_parts: bool = False
    lanewise: tuple[int, ...] = ()
    version: str = ""

    @property
    def expected(self) -> int | None:
        """How often it fires in one call on each device, by the program's text; None if that is known only at run time."""
        around = (*self.loops, *self.hoisted)
        if self.conditional or self.in_condition or None in around or self.every > 1 or self.one_of > 1:
            return None
        return math.prod(length for length in around if length is not None) * math.prod(self.lanewise)

    @property
    def may_be_left_out(self) -> bool:
        """Whether a call may leave out some of its firings or all, so that counting them does not identify the call."""
        return (self.conditional or self.every > 1 or self.one_of > 1) and not self.hoisted

    @property
    def firings(self) -> int | None:
        """How often it fires in one call on all devices together; None if that is not known."""
        return self.firings_in(None)

    def firings_in(self, share: ProcessShare | None) -> int | None:
        """Return how often it fires in one call on the devices of this process; None if that is not known.

        Args:
          share: the part of the program that this process runs; None for the whole program.
        """
        if self.expected is None:
            return None
        if share is None:
            devices = self.groups or (self.replicas if self.in_parts or self.axes else 1)
            if self.devices is not None:
                devices = math.prod(np.shape(self.devices))
            return self.expected * devices
        if self.groups or (self.fires_once and share.reporter is None):
            return None
        return self.expected * (share.is_reporter if self.fires_once else share.devices)

    @property
    def fires_once(self) -> bool:
        """Whether the first device of the program fires for all."""
        return not (self.axes or self.in_parts)

    @property
    def on_each_device(self) -> bool:
        """Whether all devices that run its program fire, each with its coordinates."""
        return bool(self.axes) and not self.groups

    @property
    def counters(self) -> int:
        """The number of loop iterations that each firing hands over."""
        return len(self.loops) if self.counted else 0

    @property
    def leap(self) -> int:
        """The n for a tap that fires in each n-th iteration of the outermost loop at least; others are left out on purpose."""
        if self.conditional and self.loops:
            return self.loops[0] or 1
        inner = math.prod(length or 1 for length in self.loops[1:])
        return max(self.every // inner, 1 if self.strided else self.stride)

    def step(self, ordinal: int) -> tuple[int, ...]:
        """Return the iteration of each loop at the `ordinal`-th firing (from 0) of a call on one device.

        Empty outside loops, if counting does not give the iteration, and for ordinal -1, which means unknown.
        """
        inner = self._inner_lengths
        if inner is None or ordinal < 0:
            return ()
        ordinal //= math.prod(self.lanewise)
        if self.stride > 1 or any(self.reverse):
            return self._strided_step(ordinal)
        outer, rest = divmod(ordinal, math.prod(inner))
        return (outer, *(int(i) for i in np.unravel_index(rest, inner))) if inner else (outer,)

    def steps(self, ordinals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return many firings' steps: int64[n] of the outermost loop, int64[n] flat over the inner ones; -1 if unknown."""
        inner = self._inner_lengths
        unknown = np.full(len(ordinals), -1)
        if inner is None:
            return unknown, unknown
        ordinals = ordinals // math.prod(self.lanewise)  # -1 stays -1.
        if self.stride > 1 or any(self.reverse):
            return self._strided_steps(ordinals)
        outer, rest = np.divmod(ordinals, math.prod(inner))
        return np.where(ordinals < 0, -1, outer), np.where(ordinals < 0, -1, rest) if inner else unknown

    @property
    def lanes(self) -> tuple[int, ...]:
        """The sizes of the `vmap` axes with lanes that fire one after the other, outermost first."""
        return self.lanewise[::-1]

    def lanes_of(self, ordinals: np.ndarray) -> np.ndarray:
        """Return the lane of each firing by its ordinal: int64[n], flat over `lanes` (row-major); -1 if it is not known."""
        if self.one_of > 1 or self.shuffled:
            return np.full(len(ordinals), -1)
        return np.where(ordinals < 0, -1, self.lanes_at(ordinals % math.prod(self.lanewise)))

    def lanes_at(self, places: np.ndarray) -> np.ndarray:
        """Return the lanes at these places in the order of firing, int[n], as int64[n] flat over `lanes`."""
        return np.ravel_multi_index(np.unravel_index(places, self.lanewise)[::-1], self.lanes)

    def lane(self, ordinal: int, *, by_lane: bool = False) -> tuple[int, ...]:
        """Return the lane of one firing: an index for each axis.

        It is empty if it is not known, and if no lanes fire one after the other.

        Args:
          ordinal: the ordinal of the firing as in `steps`; if `by_lane`, its place in the order of the lanes.
        """
        lanes = self.lanes_at if by_lane else self.lanes_of
        flat = int(lanes(np.array([ordinal]))[0]) if self.lanewise else -1
        return () if flat < 0 else tuple(int(i) for i in np.unravel_index(flat, self.lanes))

    def _strided_step(self, ordinal: int) -> tuple[int, ...]:
        outer, flat = self._strided_steps(np.array([ordinal]))
        lengths = [length or 0 for length in self.loops[1:]]
        inner = tuple(int(i) for i in np.unravel_index(int(flat[0]), lengths)) if lengths else ()
        return (int(outer[0]), *inner)

    def _strided_steps(self, ordinals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Do what `steps` does, for loops that are watched in some iterations only, or run from the end."""
        firings = list(self.loops)
        length = firings[self.strided]
        if self.stride > 1 and length is not None:
            firings[self.strided] = -(-length // self.stride)
        outer, rest = np.divmod(ordinals, math.prod(length or 0 for length in firings[1:]))
        steps = [outer, *np.unravel_index(rest, [length or 0 for length in firings[1:]])] if firings[1:] else [outer]
        for number, length in enumerate(firings):
            if length is not None and self.reverse[number]:
                steps[number] = length - 1 - steps[number]
        if self.stride > 1:
            steps[self.strided] = steps[self.strided] * self.stride
        flat = np.full(len(ordinals), -1)
        if steps[1:]:
            flat = np.zeros(len(ordinals), np.int64)
            for length, step in zip(self.loops[1:], steps[1:], strict=True):
                flat = flat * (length or 0) + step
        return np.where(ordinals < 0, -1, steps[0]), np.where(ordinals < 0, -1, flat)

    def from_start(self, counters: Sequence[Any]) -> Sequence[Any]:
        """Turn how often each loop's body has run into iterations, which count down in a loop that runs from the end."""
        if not any(self.reverse):
            return counters
        pairs = zip(counters, self.loops, self.reverse, strict=True)
        return [(length or 0) - 1 - one if reverse else one for one, length, reverse in pairs]

    def flat_steps(self, counters: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return what `steps` does, from the counters that counted firings hand over: int[n] for each loop."""
        outer, *inner = self.from_start(counters)
        lengths = self.loops[2:]
        if not inner or None in lengths:
            return outer, np.full(len(outer), -1)
        flat = inner[0].astype(np.int64)
        for length, counter in zip(lengths, inner[1:], strict=True):
            flat = flat * (length or 0) + counter
        return outer, flat

    def skips(self, counters: Sequence[Any]) -> np.ndarray | int:
        """Return how many firings of the user's program each firing represents: itself, and those that the device left out.

        Args:
          counters: the iteration of each loop that counted firings hand over: int[n] for each loop.
        """
        lengths = [length for length in self.loops if length is not None]
        if self.every == 1 or self.conditional or self.in_condition or len(lengths) < len(self.loops):
            return 1  # The number of iterations that would have fired is known only at run time.
        ordinals = np.ravel_multi_index([np.asarray(counter) for counter in counters], lengths)
        return np.minimum(self.every, math.prod(lengths) - ordinals)

    @cached_property
    def _inner_lengths(self) -> list[int] | None:
        """The lengths of the loops inside the outermost one; None if an ordinal does not give the iterations."""
        lengths = [length for length in self.loops[1:] if length is not None]
        are_known = (
            self.loops
            and not self.conditional
            and self.one_of == 1
            and not self.shuffled
            and len(lengths) == len(self.loops) - 1
            and 0 not in lengths
        )
        return lengths if are_known else None

    def device(self, coordinates: Sequence[int]) -> str:
        """Return the name of the device at these coordinates; empty if it is not known."""
        found = self.devices
        for coordinate in coordinates:
            found = found[coordinate] if found is not None else None
        return found if isinstance(found, str) else ""
