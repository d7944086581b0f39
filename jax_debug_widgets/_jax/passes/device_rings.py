"""Provide ring buffers for programs on a GPU: a loop writes its events into memory of the host, and the stream does not stop.

A call of Python in a loop on a GPU stops XLA's stream for some 100 µs. Here the program launches a kernel, which writes the
values into pinned memory of the host, and goes on at once. Python reads the records later, when the kernels have written
them. The program waits for the GPU, and calls Python, only if the ring is full or if each event must be seen.
"""

from __future__ import annotations

import functools
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.compat.cuda import CudaError
from jax_debug_widgets._jax.compat.private import core, ffi
from jax_debug_widgets._jax.passes.device_clock import DeviceClock
from jax_debug_widgets._jax.passes.ring_records import Records, RingRecords, can_be_written

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import Recorder

RING_BYTES = 1 << 20
"""The size of a ring in bytes. A full ring costs a wait for the GPU."""

_PATIENCE_S = 10.0
"""A program waits so long for room in its ring, then drops records. Room comes when all kernels of earlier records have run,
and a kernel of another GPU could wait for this program."""

_OTHER_CLOCK_NS = 1_000_000
"""A record that is outside its launch and the time it is seen by more than this is of a GPU with another clock."""

_INTERRUPTED = b"CpuCallback error: KeyboardInterrupt\0"
"""The text of the error of a program whose call of Python was broken off before Python could note why."""


def _native() -> Any:
    from jax_debug_widgets._jax.passes import device_rings_native

    return device_rings_native


class PinnedBlocks:
    """Hands out blocks of pinned memory of `RING_BYTES`. They are used again, because pinned memory is never freed."""

    def __init__(self, allocate: Callable[[int], tuple[np.ndarray, int]]) -> None:
        self._allocate = allocate
        self._free: list[tuple[np.ndarray, int]] = []
        self._lock = threading.Lock()

    def get(self) -> tuple[np.ndarray, int]:
        """Return a block of zeros, uint8[RING_BYTES], and its address for the GPU."""
        with self._lock:
            block = self._free.pop() if self._free else self._allocate(RING_BYTES)
        block[0][:] = 0
        return block

    def give_back(self, block: tuple[np.ndarray, int]) -> None:
        """Take back a block that no kernel will write to."""
        with self._lock:
            self._free.append(block)


class DeviceRing(RingRecords):
    """The ring of a program on a GPU: a block of pinned memory, which the program fills again from the start."""

    def __init__(self, avals: Sequence[Any], gate: np.ndarray, blocks: PinnedBlocks, clock: DeviceClock) -> None:
        """Make an empty ring, see `Ring`.

        Args:
          avals: the types of the arrays of a record.
          gate: uint64[1], not 0 while each event must call Python.
          blocks: gives the memory.
          clock: of the first GPU.
        """
        native = self._native = _native()
        super().__init__(avals, 8 * native.STAMP_WORDS, alignment=8)
        self._gate, self._clock = gate, clock
        self._shift_ns = 0
        """By how much the clock of the program's GPU is behind that of the first GPU."""
        self._full_since: float | None = None
        self._capacity = RING_BYTES // self._stride
        self._block = blocks.get()
        self._give_back = functools.partial(blocks.give_back, self._block)
        used = self._block[0][: self._capacity * self._stride]
        self._slots = used.reshape(self._capacity, self._stride)
        self._stamps = used.view(np.uint64).reshape(self._capacity, -1)[:, : native.STAMP_WORDS]
        self._call = self._on_call
        self._message = np.frombuffer(_INTERRUPTED, np.uint8)
        self.record: Recorder | None = None
        """The recorder to call where Python must be called."""
        head = self._head = np.zeros(native.SIZES + len(avals), np.uint64)
        head[native.GATE] = gate.ctypes.data
        head[native.CAPACITY], head[native.STRIDE] = self._capacity, self._stride
        head[native.DATA], head[native.DEVICE_DATA] = self._slots.ctypes.data, self._block[1]
        head[native.KERNEL], head[native.LAUNCH] = native.KERNEL_HANDLE, native.LAUNCH_ADDRESS
        head[native.SYNCHRONIZE] = native.SYNCHRONIZE_ADDRESS
        head[native.PYTHON], head[native.CALL] = native.FUNCTIONS.ctypes.data, id(self._call)
        head[native.MESSAGE] = self._message.ctypes.data
        head[native.SIZES :] = self._sizes

    @property
    def address(self) -> int:
        """Return the address of the ring's head."""
        return self._head.ctypes.data

    def is_conditional(self) -> None:
        """Note that the program hands over a boolean before the arrays: whether to write the record."""
        self._head[self._native.WANTED] = 1

    def _in_ring(self) -> int:
        return int(self._head[self._native.WRITTEN] - self._head[self._native.TAKEN])

    @property
    def is_over(self) -> bool:
        """See `RingRecords`. The memory of a ring that is over can be used again."""
        is_over = super().is_over
        if is_over and self._block is not None:
            self._block = None
            self._give_back()
        return is_over

    def take(self, until_ns: int) -> Records | None:
        """See `RingRecords`."""
        self._warn_of_lost()  # Not where the program calls: a user may have made warnings errors.
        if self._in_ring():
            self._clock.follow()
        return super().take(until_ns)

    def _move(self) -> None:
        native, taken = self._native, int(self._head[self._native.TAKEN])
        numbers = np.arange(taken, int(self._head[native.WRITTEN])).astype(np.uint64)
        if not len(numbers) or self._block is None:
            return
        places = (numbers % np.uint64(self._capacity)).astype(np.intp)
        # The number is read before the rest of a record, because the kernel writes it last.
        is_there = self._stamps[places, native.NUMBER] == numbers + np.uint64(1)
        is_there &= self._stamps[places, native.HANDOVER] != native.BY_CALL
        count = len(numbers) if is_there.all() else int(np.argmin(is_there))
        if count:
            self._keep(self._slots[places[:count]])
            self._head[native.TAKEN] = taken + count

    def _keep(self, records: np.ndarray) -> None:
        """Keep copies of records, and replace the GPU's time in them by the host's."""
        native, seen_ns = self._native, time.perf_counter_ns()
        records = records[records[:, : 8 * native.STAMP_WORDS].view(np.uint64)[:, native.HANDOVER] == native.BY_RING]
        stamps = records[:, : 8 * native.STAMP_WORDS].view(np.int64)
        if not len(records):
            return
        launched_ns = stamps[:, native.SECONDS] * 10**9 + stamps[:, native.NANOSECONDS]
        stamps[:, native.DEVICE_NS] = self._host_times(stamps[:, native.DEVICE_NS], launched_ns, seen_ns)
        self._moved.append(records)

    def _host_times(self, device_ns: np.ndarray, launched_ns: np.ndarray, seen_ns: int) -> np.ndarray:
        """Return host times, ascending: a record is written after its launch, and before Python sees it."""
        times = self._clock.to_host(device_ns)
        least, most = int((launched_ns - times).max()), int((seen_ns - times).min())
        if not least - _OTHER_CLOCK_NS <= self._shift_ns <= most + _OTHER_CLOCK_NS:
            self._shift_ns = min(max(self._shift_ns, least), most)
        return np.maximum.accumulate(np.clip(times + self._shift_ns, launched_ns, seen_ns))

    def _stamps_of(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        native = self._native
        stamps = np.ascontiguousarray(records[:, : 8 * native.STAMP_WORDS]).view(np.int64)
        return stamps[:, native.DEVICE_NS], stamps[:, native.THREAD]

    def _ask_for_python(self, asks: bool) -> None:
        self._head[self._native.ASKS] = asks

    def _on_call(self, number: int) -> bool:
        """Make room, or hand over the record with this number. The handler calls this, see `device_rings_native.CALL`."""
        try:
            if number:
                self._hand_over(number)
            else:
                self._clock.follow()
            with self._lock:
                self._move()
                self._slow_down()
            if not number:
                self._wait_for_room()
        except BaseException:  # noqa: BLE001 - the handler makes it an error of the program.
            self._message = np.frombuffer(f"CpuCallback error: {traceback.format_exc()}\0".encode(), np.uint8)
            self._head[self._native.MESSAGE] = self._message.ctypes.data
            return False
        return True

    def _wait_for_room(self) -> None:
        """Wait shortly if the ring is still full; if it has long been full, let the program go on without this record."""
        is_full = self._in_ring() >= self._capacity
        if not is_full:
            self._full_since = None
        elif self._full_since is None:
            self._full_since = time.monotonic()
        else:
            time.sleep(1e-3)
        since = self._full_since
        self._head[self._native.DROPS] = since is not None and time.monotonic() - since > _PATIENCE_S

    def _hand_over(self, number: int) -> None:
        native, place = self._native, (number - 1) % self._capacity
        if self._stamps[place, native.HANDOVER] == native.DONE:
            return  # The program did not want the record.
        arrays = [column[0] for column in self._columns(self._slots[place : place + 1].copy())]
        self._stamps[place, native.HANDOVER] = native.DONE
        if self.record is not None:
            self.record(*arrays)

    def _warn_of_lost(self) -> None:
        """Warn if some records were not written."""
        if lost := int(self._head[self._native.LOST]):
            error = int(self._head[self._native.LAUNCH_ERROR])
            self._head[self._native.LOST] = self._head[self._native.LAUNCH_ERROR] = 0
            why = f"CUDA could not launch their kernel (error {error})" if error else "their ring stayed full"
            warnings.warn(f"{lost} events of a loop are lost: {why}", stacklevel=2)


_HANDED_OVER = "loops on the GPU hand over prints and watched values by calls of Python, which cost more"


@functools.cache
def _blocks() -> PinnedBlocks | None:
    is_available = can_be_written("jax_debug_widgets._jax.passes.device_rings_native", _HANDED_OVER)
    return PinnedBlocks(_native().pinned_memory) if is_available else None


@functools.cache
def _clock() -> DeviceClock:
    return DeviceClock(_native().measured_offsets)


def make_ring(avals: Sequence[Any], gate: np.ndarray) -> DeviceRing | None:
    """Return an empty ring, see `DeviceRing`; None if its kernel cannot run here, or takes fewer arrays.

    Return None too, with a warning, if there is no memory for it.
    """
    blocks = _blocks()
    if blocks is None or len(avals) > _native().MOST_ARRAYS:
        return None
    try:
        return DeviceRing(avals, gate, blocks, _clock())
    except CudaError as error:
        warnings.warn(f"A loop has no ring, so {_HANDED_OVER}: {error}", stacklevel=2)
        return None


def emit_write(
    ctx: Any, ring: DeviceRing, record: Recorder, operands: Sequence[Any], _emit_call: Any = None, *, wanted: Any = None
) -> None:
    """Lower the equation: write into the ring; with `wanted`, a bool[] of the program, only where it is true."""
    ring.record = record
    # JAX keeps host callbacks as long as the program, and does not keep a program with a host callback on disk.
    kept = functools.partial(_keep_alive, ring)
    ring.is_written_as_long_as(kept)
    ctx.module_context.add_host_callback(kept)
    write = ffi.build_ffi_lowering_function(_native().TARGET, has_side_effect=True)
    if wanted is not None:
        ring.is_conditional()
        ctx = ctx.replace(avals_in=[core.ShapedArray((), np.dtype(bool)), *ctx.avals_in])
        operands = [wanted, *operands]
    write(ctx.replace(avals_out=[]), *operands, ring=np.uint64(ring.address))


def _keep_alive(_ring: DeviceRing) -> tuple[()]:
    """Keep a ring as long as its program; nobody calls this."""
    return ()
