"""Convert times of a GPU's clock into times of Python's clock, the same for all rings."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from jax_debug_widgets._jax.compat.cuda import CudaError

_MEASURED_EVERY_NS = 100_000_000
"""The clocks drift apart by some microseconds in this time."""

_FIRST_MEASUREMENTS = 4
"""On a busy machine the first ones may be far too large."""

_DRIFT = 10_000
"""The clocks drift apart by at most one part in so many."""

_LEAST_CHANGE_NS = 2_000
"""Measurements differ by this much without a drift."""

_SLOWER = 8
"""Where the difference of the clocks was found to be smaller, time goes on this much slower until it agrees."""

_MOST_CHANGES = 4096
"""How many changes of the difference are kept."""


class DeviceClock:
    """Converts times of a GPU's clock into `perf_counter_ns`. Safe from any thread.

    Records of several rings are brought into one order by these times, so all rings share a clock, and what is earlier on the
    GPU is earlier here. The host's time minus the GPU's is measured again while records come. It is never taken for smaller
    than it is: a record that seems to be of now would not be visible yet.
    """

    def __init__(self, measure: Callable[[], tuple[int, int]]) -> None:
        """Measure the difference of the clocks.

        Args:
          measure: returns two numbers in ns that the difference is between. It may raise `CudaError`.
        """
        self._measure, self._lock = measure, threading.Lock()
        offset = min(measure()[1] for _ in range(_FIRST_MEASUREMENTS))
        self._measured_ns, self._latest = time.perf_counter_ns(), 0
        # From each of these times of the GPU on: the difference, and the host's time at that moment.
        self._from, self._offsets, self._hosts = np.array([0]), np.array([offset]), np.array([offset])

    def follow(self) -> None:
        """Measure the difference again if the last measurement is old. It may wait for the GPU."""
        now = time.perf_counter_ns()
        with self._lock:
            passed = now - self._measured_ns
            if passed < _MEASURED_EVERY_NS:
                return
            self._measured_ns = now
        try:
            least, most = self._measure()
        except CudaError:  # If the GPU has failed, the next program says so.
            return
        with self._lock:
            before = int(self._offsets[-1])
            offset = max(min(most, before + passed // _DRIFT), least)
            if abs(offset - before) >= _LEAST_CHANGE_NS:
                self._change(offset)

    def to_host(self, device_ns: np.ndarray) -> np.ndarray:
        """Return host times, int64[n]."""
        with self._lock:
            self._latest = max(self._latest, int(device_ns.max()))
            return self._converted(device_ns)

    def _converted(self, device_ns: np.ndarray) -> np.ndarray:
        which = np.maximum(np.searchsorted(self._from, device_ns) - 1, 0)
        slow = self._hosts[which] + (device_ns - self._from[which]) // _SLOWER
        return np.maximum(device_ns + self._offsets[which], slow)

    def _change(self, offset: int) -> None:
        """Take another difference for what comes after all that was converted."""
        if self._latest == self._from[-1]:  # Nothing came since the last change.
            self._offsets[-1] = offset
            return
        host = self._converted(np.array([self._latest]))
        self._from = np.append(self._from, self._latest)[-_MOST_CHANGES:]
        self._offsets = np.append(self._offsets, offset)[-_MOST_CHANGES:]
        self._hosts = np.append(self._hosts, host)[-_MOST_CHANGES:]
