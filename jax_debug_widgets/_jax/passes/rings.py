"""Provide ring buffers: memory into which a compiled program writes its events' values without calling Python.

A call of Python costs XLA some microseconds on an idle machine, and a twentieth of a step of 4 ms if all cores are busy. On
the CPU, and with Numba, a loop writes its small values into the ring in a tenth of a microsecond, and many are taken out at
once. The program calls Python only if the ring is full, or if each event must be seen: it has a branch for either.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.compat.private import core, ffi, hlo, ir, mlir
from jax_debug_widgets._jax.passes.ring_records import RingRecords, can_be_written

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import Recorder

_FIRST_BYTES, _MOST_BYTES = 1 << 14, 1 << 20
"""The size of a ring in bytes: at first, and at most, if it was found full several times."""


@functools.cache
def _is_available() -> bool:
    what = "loops hand over prints and watched values by calls of Python, which cost more"
    return can_be_written("jax_debug_widgets._jax.passes.rings_native", what)


def _native() -> Any:
    from jax_debug_widgets._jax.passes import rings_native

    return rings_native


class Ring(RingRecords):
    """The ring of a program on the CPU: memory that the program fills, and that is exchanged for empty memory."""

    def __init__(self, avals: Sequence[Any], gate: np.ndarray) -> None:
        """Make an empty ring.

        Args:
          avals: the types of the arrays of a record.
          gate: uint64[1], not 0 while each event must call Python.
        """
        native = _native()
        super().__init__(avals, 8 * native.STAMP_WORDS, alignment=1)
        self._gate = gate
        self._capacity = self._first_capacity = max(_FIRST_BYTES // self._stride, 1)
        self._data = self._memory()
        self._head = np.zeros(native.SIZES + len(avals), np.uint64)
        self._head[native.GATE] = gate.ctypes.data
        self._head[native.CAPACITY], self._head[native.STRIDE] = self._capacity, self._stride
        self._head[native.DATA], self._head[native.SIZES :] = self._data.ctypes.data, self._sizes
        self._native = native

    @property
    def address(self) -> np.ndarray:
        """Return the address of the ring's head, as uint32[2]."""
        return np.array([self._head.ctypes.data], np.uint64).view(np.uint32)

    def relieve(self) -> None:
        """Make room if the ring is full."""
        with self._lock:
            if self._head[self._native.COUNT] < self._head[self._native.CAPACITY]:
                return  # The program called for another reason.
            self._capacity = max(min(2 * self._capacity, _MOST_BYTES // self._stride), self._capacity)
            self._empty()
            self._slow_down()

    def _in_ring(self) -> int:
        return int(self._head[self._native.COUNT])

    def _move(self) -> None:
        self._capacity = self._first_capacity
        self._empty()

    def _empty(self) -> None:
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

    def _ask_for_python(self, asks: bool) -> None:
        self._head[self._native.ASKS] = asks


def make_ring(avals: Sequence[Any], gate: np.ndarray) -> Ring | None:
    """Return an empty ring, see `Ring`; None without Numba."""
    return Ring(avals, gate) if _is_available() else None


def emit_write(
    ctx: Any, ring: Ring, record: Recorder, operands: Sequence[Any], emit_call: Callable[[Any], Any]
) -> None:
    """Lower the equation: write into the ring, or, if that is impossible, call `record` by what `emit_call` emits."""
    relieved = functools.partial(_relieve_and_record, ring, record)
    ring.is_written_as_long_as(relieved)
    address = mlir.ir_constant(ring.address)
    write = ffi.build_ffi_lowering_function(_native().TARGET, has_side_effect=True)
    address_type, truth = core.ShapedArray((2,), np.dtype(np.uint32)), core.ShapedArray((), np.dtype(bool))
    asks = write(ctx.replace(avals_in=[address_type, *ctx.avals_in], avals_out=[truth]), address, *operands).result
    branch = hlo.IfOp([], asks)
    for region, emit in ((branch.true_branch, lambda: emit_call(relieved)), (branch.false_branch, lambda: None)):
        with ir.InsertionPoint(region.blocks.append()):
            emit()
            hlo.return_([])


def _relieve_and_record(ring: Ring, record: Recorder, *arrays: np.ndarray) -> tuple[()]:
    ring.relieve()
    return record(*arrays)
