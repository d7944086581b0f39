"""Describe what a compiled program hands over when a call site fires, and read it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jax_debug_widgets.events.cut import cut

MOST_ELEMENTS = 16
"""The most elements of a vector that are drawn as one line each; more lines could not be distinguished."""

if TYPE_CHECKING:
    from jax_debug_widgets.events.nesting import Nesting
    from jax_debug_widgets.events.site import CallSite


Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""The positional arguments and the keyword arguments of a call."""


class Caller(NamedTuple):
    """One of the user's frames around a firing, and the range of the call in it."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str


@dataclass(eq=False)
class Tap:
    """Describes the arrays that a compiled program hands over each time a call site fires, and reads them.

    Attributes:
      site: the call site.
      lanes: sizes of the `vmap` axes that one firing contains, outermost first; empty outside `vmap`. JAX would have fired
        once a lane, so a firing is `size` events.
      mapped: for each value and each of `lanes`, whether the value has that axis (its leading axes, in order).
      shapes, dtypes: the type of each value in one event (without lanes).
      guard: for each of `lanes`, whether the flag after the values has that axis. The flag is False for a phantom. None if a
        firing hands over no flag, because it cannot be a phantom.
      guards: the reasons for phantoms: `cond`, `while`, `condition` (of a `while`).
      is_numbered: whether each firing of the lanes in `nesting.lanewise` hands over its lane's place, as its last array.
      nesting: the loops, conditions and devices around it in its program.
      nbytes: the bytes of one firing, all lanes together.
      unflatten: the values of one event -> `(args, kwargs)` as the program wrote them.
      render: the values of one event -> the text that JAX would have written.
      callers: the frames around the site's frame in its program, innermost first; None if they are not known.
    """

    site: CallSite
    lanes: tuple[int, ...]
    mapped: tuple[tuple[bool, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype[Any], ...]
    nesting: Nesting
    nbytes: int
    unflatten: Callable[[Sequence[Any]], Arguments]
    render: Callable[[Sequence[Any]], str]
    guard: tuple[bool, ...] | None = None
    guards: tuple[str, ...] = ()
    is_numbered: bool = False
    callers: tuple[Caller, ...] | None = None

    def with_value(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tap:
        """Return a tap that also hands over the whole value, of this type, after the statistics."""
        site, count = self.site, len(self.site.values) - self.site.values.count("value")
        return replace(
            self,
            site=replace(
                site, values=(*site.values[:count], "value"), watch=site.watch and replace(site.watch, full=True)
            ),
            mapped=(*self.mapped[:count], ()),
            shapes=(*self.shapes[:count], shape),
            dtypes=(*self.dtypes[:count], dtype),
        )

    @cached_property
    def size(self) -> int:
        """The number of events in one firing."""
        return math.prod(self.lanes)

    @cached_property
    def lane_order(self) -> tuple[tuple[int, ...], ...]:
        """The lanes in the order in which JAX fires them. JAX unrolls the innermost `vmap` first, so its index varies last."""
        reversed_axes = itertools.product(*(range(n) for n in reversed(self.lanes)))
        return tuple(lane[::-1] for lane in reversed_axes)

    def lane_by_lane(self) -> Tap:
        """Return a tap for which each lane is a firing, in `lane_order`; itself without lanes, or with `nesting.lanewise`."""
        if not self.lanes or self.nesting.lanewise:
            return self
        sizes = zip(self.shapes, self.dtypes, strict=True)
        return replace(
            self,
            lanes=(),
            mapped=((),) * len(self.shapes),
            guard=None if self.guard is None else (),
            nbytes=sum(math.prod(shape) * dtype.itemsize for shape, dtype in sizes),
            nesting=replace(self.nesting, lanewise=self.lanes[::-1]),
            is_numbered=True,
        )

    def of_lanes(self, arrays: Sequence[np.ndarray]) -> Iterator[tuple[Any, ...]]:
        """Split the arrays of one firing into the firings of `lane_by_lane`."""
        values = len(self.shapes)
        around = arrays[values + (self.guard is not None) :]
        for number, lane in enumerate(self.lane_order):
            there = () if self.guard is None else (_of_lane(arrays[values], self.guard, lane),)
            yield (*self.values_of(arrays, lane), *there, *around, number)

    @cached_property
    def in_table(self) -> int:
        """The number of values that come in the table of a `Bundle`: the scalars of 32 bits. They are the first ones."""
        types = zip(self.shapes, self.dtypes, strict=True)
        return sum(shape == () and dtype.itemsize == np.float32().itemsize for shape, dtype in types)

    @cached_property
    def plotted(self) -> tuple[int, ...]:
        """The indices of the values that are drawn element by element: scalars, and vectors of at most 16 elements."""
        few = range(1, MOST_ELEMENTS + 1)
        return tuple(i for i, shape in enumerate(self.shapes) if len(shape) <= 1 and math.prod(shape) in few)

    @cached_property
    def inexact(self) -> tuple[int, ...]:
        """The indices of the values that may hold NaN or infinity."""
        # `bfloat16` and the like are not subtypes of `np.inexact`.
        names = enumerate(self.dtypes)
        return tuple(i for i, dtype in names if np.issubdtype(dtype, np.inexact) or "float" in dtype.name)

    def learn_shapes(self, arrays: Sequence[np.ndarray | None]) -> None:
        """Take the shapes of values `in_parts` from a firing, because the compiler decides the parts; None is unknown."""
        seen = zip(self.shapes, arrays, strict=False)
        self.shapes = tuple(declared if one is None else one.shape for declared, one in seen)

    def values_of(self, arrays: Sequence[np.ndarray], lane: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        """Return the values of one event from the arrays of one firing."""
        values = arrays[: len(self.shapes)]
        if not self.lanes:
            return tuple(values)
        return tuple(_of_lane(array, mapped, lane) for array, mapped in zip(values, self.mapped, strict=True))

    def is_phantom(self, arrays: Sequence[np.ndarray], lane: tuple[int, ...]) -> bool:
        """Whether one event of a firing is a phantom: only `vmap` made its lane run this call."""
        return self.guard is not None and not _of_lane(arrays[len(self.shapes)], self.guard, lane)

    def step_of(self, arrays: Sequence[np.ndarray], ordinal: int) -> tuple[int, ...]:
        """Return the iteration of each loop in a firing: the `ordinal`-th (from 0) of its call on its device, -1 if unknown."""
        if not self.nesting.counted:
            return self.nesting.step(ordinal)
        return tuple(int(array) for array in self.nesting.from_start(arrays[self._counters]))

    def steps_of(self, columns: Sequence[Any], rows: np.ndarray, ordinals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps of the firings `rows` in `columns`, which has a column for each array; see `Nesting.steps`."""
        if not self.nesting.counted:
            return self.nesting.steps(ordinals)
        return self.nesting.flat_steps([np.asarray(column)[rows] for column in columns[self._counters]])

    def lane_of(self, arrays: Sequence[np.ndarray], ordinal: int) -> tuple[int, ...]:
        """Return the lane of a firing if lanes fire one after the other, else (); `ordinal` as in `step_of`."""
        return self.nesting.lane(int(arrays[-1]), by_lane=True) if self.is_numbered else self.nesting.lane(ordinal)

    def lanes_of(self, columns: Sequence[Any], rows: np.ndarray, ordinals: np.ndarray) -> np.ndarray:
        """Return the lanes of the firings `rows`, as in `steps_of`: int64[n], flat over `nesting.lanes`; -1 if not known."""
        if self.is_numbered:
            return self.nesting.lanes_at(np.asarray(columns[-1])[rows])
        return self.nesting.lanes_of(ordinals)

    def firings(self, arrays: tuple[np.ndarray, ...]) -> Iterator[tuple[Tap, tuple[np.ndarray, ...]]]:
        """Yield this tap with the arrays, as `Bundle.firings` does for its taps."""
        yield self, arrays

    def texts(self, rows: Sequence[Sequence[np.ndarray]]) -> list[str]:
        """Return the texts of many events; a renderer with a method `many` makes them at once."""
        many = getattr(self.render, "many", None)
        return [self.render(values) for values in rows] if many is None else many(rows)

    def brief_texts(self, rows: Sequence[Sequence[np.ndarray]]) -> list[str]:
        """Return the texts of many events for a list of lines: long texts are cut, and their length is added."""
        brief = getattr(self.render, "brief", None)
        return [cut(text) for text in (self.texts(rows) if brief is None else brief(rows))]

    def coordinates_of(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        """Return the mesh coordinates of a firing, one for each of `nesting.axes`."""
        return tuple(int(array) for array in arrays[self.coordinates])

    def stands_for(self, columns: Sequence[Any], one_of: int | None) -> np.ndarray | int:
        """Return how many firings of the user's program each recorded firing represents, as far as the program's text shows it.

        Args:
          columns: a column for each array that the tap handed over.
          one_of: replaces `Nesting.one_of` if the user changed it at run time; else None.
        """
        return self.nesting.skips(columns[self._counters]) * (one_of or self.nesting.one_of)

    @cached_property
    def width(self) -> int:
        """The number of arrays that a firing hands over."""
        return self.coordinates.stop + self.is_numbered

    @property
    def dispensable(self) -> slice:
        """The arrays that are dropped if they have no room in the inbox: the values."""
        return slice(0, len(self.shapes))

    @cached_property
    def coordinates(self) -> slice:
        """The arrays that are mesh coordinates, one for each of `nesting.axes`."""
        return slice(self._counters.stop, self._counters.stop + len(self.nesting.axes))

    @cached_property
    def _counters(self) -> slice:
        start = len(self.shapes) + (self.guard is not None)
        return slice(start, start + self.nesting.counters)


def _of_lane(array: np.ndarray, mapped: Sequence[bool], lane: tuple[int, ...]) -> np.ndarray:
    return array[(*(i for i, present in zip(lane, mapped, strict=True) if present), ...)]


@dataclass(frozen=True, eq=False)
class Bundle:
    """Several taps that fire together: the watched values of one body.

    A firing hands over one array float32[n, k] of statistics, a row for each tap. A tap uses as many columns as it has scalars
    of 32 bits, in the bits of their types. Then come the whole values of the taps that have one, in order. The last arrays are
    shared by all taps: the iteration of each loop, if it is counted, and the mesh coordinates.
    """

    taps: tuple[Tap, ...]

    @property
    def site(self) -> CallSite:
        """The site of the first tap, where the program stands while they fire."""
        return self.taps[0].site

    @property
    def nesting(self) -> Nesting:
        """The loops, conditions and devices around the body."""
        return self.taps[0].nesting

    @cached_property
    def whole(self) -> int:
        """The number of whole values."""
        return sum(len(tap.shapes) - tap.in_table for tap in self.taps)

    @cached_property
    def width(self) -> int:
        """The number of arrays that a firing hands over."""
        return self.dispensable.stop + self.nesting.counters + len(self.nesting.axes)

    @property
    def dispensable(self) -> slice:
        """The arrays that are dropped if they have no room in the inbox: the whole values."""
        return slice(1, 1 + self.whole)

    @cached_property
    def coordinates(self) -> slice:
        """See `Tap`."""
        return slice(self.width - len(self.nesting.axes), self.width)

    @property
    def around(self) -> slice:
        """The arrays that all taps share: the iteration of each loop, if it is counted, and the mesh coordinates."""
        return slice(self.dispensable.stop, self.width)

    @cached_property
    def nbytes(self) -> int:
        """The bytes of the whole values of one firing."""
        return sum(
            math.prod(shape) * dtype.itemsize
            for tap in self.taps
            for shape, dtype in zip(tap.shapes[tap.in_table :], tap.dtypes[tap.in_table :], strict=True)
        )

    def coordinates_of(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        """See `Tap`."""
        return tuple(int(array) for array in arrays[self.coordinates])

    def firings(self, arrays: Sequence[np.ndarray]) -> Iterator[tuple[Tap, tuple[np.ndarray, ...]]]:
        """Yield each tap with its own arrays, from the arrays of one firing of the bundle."""
        values, around = iter(arrays[self.dispensable]), tuple(arrays[self.around])
        for tap, row in zip(self.taps, arrays[0], strict=True):
            count = tap.in_table
            own = tuple(next(values) for _ in range(len(tap.shapes) - count))
            yield tap, (*(row[index].view(dtype) for index, dtype in enumerate(tap.dtypes[:count])), *own, *around)


Firing = tuple[Any, ...]
"""The record that a recorder adds: a stamp (`Stamps`), and the arrays of the tap. These are the values; the flag of a phantom,
if the tap has a guard; the iteration of each loop, if it is counted; the mesh coordinates; the lane, if it is numbered."""
