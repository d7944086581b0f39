"""Provide ring buffers: memory into which a compiled program writes its events' values without calling Python.

A call of Python costs XLA some microseconds on an idle machine, and a twentieth of a step of 4 ms if all cores are busy. On
the CPU, and with Numba, a loop writes its small values into the ring in a tenth of a microsecond, and many are taken out at
once. The program calls Python only if the ring is full, or if each event must be seen: it has a branch for either.
"""

from __future__ import annotations

import functools
import math
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.native import importable
from jax_debug_widgets._jax.compat.private import core, ffi, hlo, ir, mlir, sharding_impls
from jax_debug_widgets._jax.origins.equation import parts_of

_FIRST_BYTES, _MOST_BYTES = 1 << 14, 1 << 20
"""The size of a ring in bytes: at first, and at most, if it was found full several times."""

_LARGEST_RECORD = 1 << 14
"""Bytes of the largest record. Writing a larger one costs more than a call of Python."""

MOST_WAITING = 1 << 26
"""The most bytes that may wait in a ring. With more, the program calls Python for each event, which slows it down."""

_IN_PARTS_OF_BYTES = ("int2", "uint2", "int4", "uint4", "float4_e2m1fn")
"""Types whose elements take less than a byte in XLA, and one byte in NumPy."""


@functools.cache
def _is_available() -> bool:
    what = "what loops say is handed over by Python, which costs more"
    is_pythons_clock = time.get_clock_info("perf_counter").implementation == "clock_gettime(CLOCK_MONOTONIC)"
    is_supported = features.available(features.RINGS) and is_pythons_clock
    return is_supported and importable("jax_debug_widgets._jax.passes.rings_native", what)


def _native() -> Any:
    from jax_debug_widgets._jax.passes import rings_native

    return rings_native


Records = tuple[np.ndarray, np.ndarray, list[np.ndarray]]
"""Times, int64[n], `perf_counter_ns()`; idents of threads, int64[n]; for each array its values in all records, [n, ...]."""


class Ring:
    """Records of arrays of these types, in the order in which they were written.

    Attributes:
      sharing: the lock that a `RingPart` holds while it takes records.
    """

    def __init__(self, avals: Sequence[Any], gate: np.ndarray) -> None:
        """Make an empty ring.

        Args:
          avals: the types of the arrays of a record.
          gate: uint64[1], not 0 while each event must call Python.
        """
        native = _native()
        self._avals, self._gate = avals, gate
        self._sizes = [_bytes_of(aval) for aval in avals]
        stamp = 8 * native.STAMP_WORDS
        self._starts = np.cumsum([stamp, *self._sizes])
        self._stride = int(self._starts[-1] + -self._starts[-1] % 8)
        self._capacity = self._first_capacity = max(_FIRST_BYTES // self._stride, 1)
        self._data = self._memory()
        self._head = np.zeros(native.SIZES + len(avals), np.uint64)
        self._head[native.GATE] = gate.ctypes.data
        self._head[native.CAPACITY], self._head[native.STRIDE] = self._capacity, self._stride
        self._head[native.DATA], self._head[native.SIZES :] = self._data.ctypes.data, self._sizes
        self._moved: list[np.ndarray] = []
        self._is_written = True
        self._lock, self.sharing = threading.Lock(), threading.Lock()
        self._native = native

    @property
    def address(self) -> np.ndarray:
        """Return the address of the ring's head, as uint32[2]."""
        return np.array([self._head.ctypes.data], np.uint64).view(np.uint32)

    def __len__(self) -> int:
        return int(self._head[self._native.COUNT]) + sum(map(len, self._moved))

    def is_written_as_long_as(self, kept: object) -> None:
        """Note that the program can write only as long as `kept` is alive."""
        weakref.finalize(kept, self._end)

    def _end(self) -> None:
        self._is_written = False

    @property
    def is_over(self) -> bool:
        """Whether the ring is empty, and its program cannot write any more."""
        return not self._is_written and not len(self)

    def relieve(self) -> None:
        """Make room if the ring is full."""
        with self._lock:
            if self._head[self._native.COUNT] < self._head[self._native.CAPACITY]:
                return  # The program called for another reason.
            self._capacity = max(min(2 * self._capacity, _MOST_BYTES // self._stride), self._capacity)
            self._move()
            if sum(data.nbytes for data in self._moved) > MOST_WAITING:
                self._head[self._native.ASKS] = 1

    def take(self, until_ns: int) -> Records | None:
        """Take out the records written up to `until_ns`; None if there are none."""
        with self._lock:
            self._capacity = self._first_capacity
            self._move()
            records = self._moved[0] if len(self._moved) == 1 else np.concatenate(self._moved or [self._data[:0]])
            times, threads = self._stamps_of(records)
            is_later = times > until_ns
            count = int(np.argmax(is_later)) if is_later.any() else len(records)
            self._moved = [records[count:]] if count < len(records) else []
            self._head[self._native.ASKS] = 0
        return (times[:count], threads[:count], self._columns(records[:count])) if count else None

    def _move(self) -> None:
        if self._head[self._native.COUNT]:
            full, self._data = self._data, self._memory()
            count = self._native.swap(self._head.ctypes.data, self._data.ctypes.data, self._capacity)
            self._moved.append(full[:count])

    def _memory(self) -> np.ndarray:
        return np.empty((self._capacity, self._stride), np.uint8)

    def _stamps_of(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        native = self._native
        stamps = np.ascontiguousarray(records[:, : 8 * native.STAMP_WORDS]).view(np.int64)
        return stamps[:, native.SECONDS] * 10**9 + stamps[:, native.NANOSECONDS], stamps[:, native.THREAD]

    def _columns(self, records: np.ndarray) -> list[np.ndarray]:
        return [
            np.ascontiguousarray(records[:, start : start + size]).view(aval.dtype).reshape(len(records), *aval.shape)
            for aval, start, size in zip(self._avals, self._starts, self._sizes, strict=False)
        ]


class Writer(Protocol):
    """The attribute `writer` of a recorder whose events may be written into a ring instead of calling the recorder."""

    @property
    def gate(self) -> np.ndarray:
        """See `Ring`."""
        ...

    def draw_from(self, source: Ring | RingPart) -> None:
        """Read the later events from `source`, where the program writes them."""
        ...


class RingPart:
    """A recorder's arrays in the records of a ring that several recorders share."""

    def __init__(self, ring: Ring, arrays: slice, after_ns: int) -> None:
        self._ring, self._arrays, self._after_ns = ring, arrays, after_ns
        self._beside: Sequence[RingPart] = ()
        self._waiting: list[Records] = []

    @classmethod
    def all_of(cls, ring: Ring, slices: Sequence[slice]) -> Sequence[RingPart]:
        """Make a part for each slice of a record's arrays; the events of a record are 1 ns apart, in this order."""
        parts = [cls(ring, arrays, number) for number, arrays in enumerate(slices)]
        for part in parts:
            part._beside = parts
        return parts

    def __len__(self) -> int:
        return len(self._ring) + sum(len(times) for times, _, _ in self._waiting)

    @property
    def is_over(self) -> bool:
        """See `Ring`."""
        return self._ring.is_over and not self._waiting

    def take(self, until_ns: int) -> Records | None:
        """See `Ring`."""
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


def ring_for(ctx: Any, record: Any) -> Ring | None:
    """Return a ring for the operands of an equation that is being lowered; None if the equation must call its recorder."""
    parts = parts_of(record)
    writers: list[Writer | None] = [getattr(one, "writer", None) for one, _ in parts]
    around, first, avals = ctx.module_context.axis_context, writers[0], ctx.avals_in
    is_alone = isinstance(around, sharding_impls.ShardingContext) and around.num_devices == 1
    if first is None or None in writers or not is_alone or not all(map(_can_be_copied, avals)):
        return None
    if sum(map(_bytes_of, avals)) > _LARGEST_RECORD or not _is_available():
        return None
    ring = Ring(avals, first.gate)
    sources = [ring] if len(parts) == 1 else RingPart.all_of(ring, [arrays for _, arrays in parts])
    for writer, source in zip(writers, sources, strict=True):
        cast("Writer", writer).draw_from(source)
    return ring


def emit_write(ctx: Any, ring: Ring, operands: Sequence[Any], emit_call: Callable[[], Any]) -> None:
    """Lower the equation: write into the ring, or, if that is impossible, do what `emit_call` emits."""
    address = mlir.ir_constant(ring.address)
    write = ffi.build_ffi_lowering_function(_native().TARGET, has_side_effect=True)
    address_type, truth = core.ShapedArray((2,), np.dtype(np.uint32)), core.ShapedArray((), np.dtype(bool))
    asks = write(ctx.replace(avals_in=[address_type, *ctx.avals_in], avals_out=[truth]), address, *operands).result
    branch = hlo.IfOp([], asks)
    for region, emit in ((branch.true_branch, emit_call), (branch.false_branch, lambda: None)):
        with ir.InsertionPoint(region.blocks.append()):
            emit()
            hlo.return_([])


def _can_be_copied(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.name not in _IN_PARTS_OF_BYTES and aval.size > 0


def _bytes_of(aval: Any) -> int:
    return math.prod(aval.shape) * aval.dtype.itemsize
