"""Read the records that compiled programs write into a ring: what the rings of a CPU and of a GPU have in common."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.native import importable
from jax_debug_widgets._jax.compat.private import sharding_impls
from jax_debug_widgets._jax.origins.equation import parts_of

LARGEST_RECORD = 1 << 14
"""Bytes of the largest record. Writing a larger one costs more than a call of Python."""

MOST_WAITING = 1 << 26
"""The most bytes that may wait in a ring. With more, the program calls Python for each event, which slows it down."""

_IN_PARTS_OF_BYTES = (
    "int1", "uint1", "int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn",
)  # fmt: skip
"""Types whose elements take less than a byte in XLA, and one byte in NumPy."""

Records = tuple[np.ndarray, np.ndarray, list[np.ndarray]]
"""Times, int64[n], `perf_counter_ns()`; idents of threads, int64[n]; for each array its values in all records, [n, ...]."""


class Writer(Protocol):
    """The attribute `writer` of a recorder whose events may be written into a ring instead of calling the recorder."""

    @property
    def gate(self) -> np.ndarray:
        """A word that is not 0 while each event must call Python, uint64[1]."""
        ...

    def draw_from(self, source: RingRecords | RingPart) -> None:
        """Read the later events from `source`, where the program writes them."""
        ...


class RingRecords:
    """Records of arrays of these types, in the order in which they were written.

    A subclass moves them out of its ring, and knows what a record begins with.

    Attributes:
      sharing: the lock that a `RingPart` holds while it takes records.
    """

    def __init__(self, avals: Sequence[Any], stamp_bytes: int, alignment: int) -> None:
        """Lay out a record: the stamp, and the bytes of each array, which begin at multiples of `alignment`."""
        self._avals = avals
        self._sizes = [bytes_of(aval) for aval in avals]
        lengths = [size + -size % alignment for size in self._sizes]
        self._starts = np.cumsum([stamp_bytes, *lengths])
        self._stride = int(self._starts[-1] + -self._starts[-1] % 8)
        self._moved: list[np.ndarray] = []
        """Records that are out of the ring and were not taken yet, uint8[n, stride] each."""
        self._is_written = True
        self._lock, self.sharing = threading.Lock(), threading.Lock()

    def is_written_as_long_as(self, kept: object) -> None:
        """Note that the program can write only as long as `kept` is alive."""
        weakref.finalize(kept, self._end)

    def _end(self) -> None:
        self._is_written = False

    def __len__(self) -> int:
        return self._in_ring() + sum(map(len, self._moved))

    @property
    def is_over(self) -> bool:
        """Whether the ring is empty, and its program cannot write any more."""
        return not self._is_written and not len(self)

    def take(self, until_ns: int) -> Records | None:
        """Take out the records written up to `until_ns`; None if there are none."""
        with self._lock:
            self._move()
            none = np.empty((0, self._stride), np.uint8)
            records = self._moved[0] if len(self._moved) == 1 else np.concatenate([none, *self._moved])
            times, threads = self._stamps_of(records)
            is_later = times > until_ns
            count = int(np.argmax(is_later)) if is_later.any() else len(records)
            self._moved = [records[count:]] if count < len(records) else []
            self._ask_for_python(False)
        return (times[:count], threads[:count], self._columns(records[:count])) if count else None

    def _slow_down(self) -> None:
        """Ask for a call of Python for each event if too many bytes wait."""
        if sum(records.nbytes for records in self._moved) > MOST_WAITING:
            self._ask_for_python(True)

    def _columns(self, records: np.ndarray) -> list[np.ndarray]:
        return [
            np.ascontiguousarray(records[:, start : start + size]).view(aval.dtype).reshape(len(records), *aval.shape)
            for aval, start, size in zip(self._avals, self._starts, self._sizes, strict=False)
        ]

    def _in_ring(self) -> int:
        """Return the number of records in the ring."""
        raise NotImplementedError

    def _move(self) -> None:
        """Move the records of the ring into `_moved`."""
        raise NotImplementedError

    def _stamps_of(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the times and the threads of records, see `Records`."""
        raise NotImplementedError

    def _ask_for_python(self, asks: bool) -> None:
        """Let the program call Python for each event, or no longer."""
        raise NotImplementedError


class RingPart:
    """A recorder's arrays in the records of a ring that several recorders share."""

    def __init__(self, ring: RingRecords, arrays: slice, after_ns: int) -> None:
        self._ring, self._arrays, self._after_ns = ring, arrays, after_ns
        self._beside: Sequence[RingPart] = ()
        self._waiting: list[Records] = []

    @classmethod
    def all_of(cls, ring: RingRecords, slices: Sequence[slice]) -> Sequence[RingPart]:
        """Make a part for each slice of a record's arrays; the events of a record are 1 ns apart, in this order."""
        parts = [cls(ring, arrays, number) for number, arrays in enumerate(slices)]
        for part in parts:
            part._beside = parts
        return parts

    def __len__(self) -> int:
        return len(self._ring) + sum(len(times) for times, _, _ in self._waiting)

    @property
    def is_over(self) -> bool:
        """See `RingRecords`."""
        return self._ring.is_over and not self._waiting

    def take(self, until_ns: int) -> Records | None:
        """See `RingRecords`."""
        with self._ring.sharing:
            if found := self._ring.take(until_ns - len(self._beside)):
                for part in self._beside:
                    times, threads, columns = found
                    part._waiting.append((times + part._after_ns, threads, columns[part._arrays]))
            taken, self._waiting = self._waiting, []
        return together(taken)


def together(records: Sequence[Records]) -> Records | None:
    """Join records that come one after the other; None if there are none."""
    if not records:
        return None
    times, threads, columns = zip(*records, strict=True)
    return np.concatenate(times), np.concatenate(threads), [np.concatenate(each) for each in zip(*columns, strict=True)]


def ring_of(
    ctx: Any, record: Any, make: Callable[[Sequence[Any], np.ndarray], RingRecords | None]
) -> RingRecords | None:
    """Return a ring for the operands of an equation that is being lowered; None if the equation must call its recorder.

    Args:
      make: takes the types of the operands and the gate of `Writer`; returns an empty ring, or None if it cannot.
    """
    parts = parts_of(record)
    writers: list[Writer | None] = [getattr(one, "writer", None) for one, _ in parts]
    around, first, avals = ctx.module_context.axis_context, writers[0], ctx.avals_in
    is_alone = isinstance(around, sharding_impls.ShardingContext) and around.num_devices == 1
    if first is None or None in writers or not is_alone or not can_be_recorded(avals):
        return None
    ring = make(avals, first.gate)
    if ring is None:
        return None
    sources = [ring] if len(parts) == 1 else RingPart.all_of(ring, [arrays for _, arrays in parts])
    for writer, source in zip(writers, sources, strict=True):
        cast("Writer", writer).draw_from(source)
    return ring


def can_be_written(module: str, what: str) -> bool:
    """Return whether programs can write into rings: whether this JAX has what they need, and a module can be imported.

    Args:
      module: the module that registers the custom call; it reads the clock of `time.perf_counter`.
      what: see `importable`.
    """
    is_pythons_clock = time.get_clock_info("perf_counter").implementation == "clock_gettime(CLOCK_MONOTONIC)"
    return features.available(features.RINGS) and is_pythons_clock and importable(module, what)


def can_be_recorded(avals: Sequence[Any]) -> bool:
    """Return whether arrays of these types fit into a record of a ring."""
    return all(map(_can_be_copied, avals)) and sum(map(bytes_of, avals)) <= LARGEST_RECORD


def _can_be_copied(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.name not in _IN_PARTS_OF_BYTES and aval.size > 0


def bytes_of(aval: Any) -> int:
    """Return the number of bytes of an array of this type."""
    return math.prod(aval.shape) * aval.dtype.itemsize
