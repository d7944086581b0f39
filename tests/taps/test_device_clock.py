"""The clock of a GPU, as rings convert its times."""

from __future__ import annotations

import numpy as np
import pytest

from jax_debug_widgets._jax.compat.cuda import CudaError
from jax_debug_widgets._jax.passes import device_clock
from jax_debug_widgets._jax.passes.device_clock import DeviceClock

SECOND = 10**9


@pytest.fixture
def host(monkeypatch):
    """The host's time in ns, which a test sets."""
    now = [0]
    monkeypatch.setattr(device_clock.time, "perf_counter_ns", lambda: now[0])
    return now


def drifting(host, ppm, late=5_000):
    """Measurements of a clock that is 1000 s ahead of the host's, and drifts."""
    return lambda: ((-1000 * SECOND + host[0] * ppm // 10**6) - late, -1000 * SECOND + host[0] * ppm // 10**6 + late)


@pytest.mark.parametrize("ppm", [-80, -10, 10, 80])
def test_a_clock_that_drifts_is_followed(host, ppm):
    measure = drifting(host, ppm)
    clock = DeviceClock(measure)
    before = 0
    for tick in range(1, 1000):
        host[0] = tick * SECOND // 8
        true = sum(measure()) // 2
        clock.follow()
        device = np.array([host[0] - true - 3_000, host[0] - true])
        times = clock.to_host(device)
        assert before < times[0] < times[1], "what is later on the GPU is later here"
        assert -1_000 <= times[1] - host[0] <= 30_000
        before = times[1]


def test_all_rings_have_one_order_while_the_clock_is_corrected(host):
    measured = [(0, 50_000)]
    clock = DeviceClock(lambda: measured[0])
    first = clock.to_host(np.arange(0, 100_000, 10_000))
    host[0], measured[0] = SECOND, (0, 1_000)
    clock.follow()
    again, later = clock.to_host(np.arange(5_000, 105_000, 10_000)), clock.to_host(np.arange(200_000, 300_000, 10_000))
    assert (np.diff(np.stack([first, again], 1).ravel()) > 0).all(), (
        "the other ring's records are between those of the first"
    )
    assert later.tolist() == [201_000 + 10_000 * at for at in range(10)]


def test_a_slow_measurement_changes_little(host):
    measured = [(0, 5_000)]
    clock = DeviceClock(lambda: measured[0])
    clock.to_host(np.array([1]))
    host[0], measured[0] = SECOND, (0, 10 * SECOND)
    clock.follow()
    assert clock.to_host(np.array([SECOND])).tolist() == [SECOND + 5_000 + SECOND // 10_000]


def test_a_clock_that_cannot_be_measured_goes_on(host):
    def fails():
        raise CudaError("cuLaunchKernel failed with error 719")

    clock = DeviceClock(lambda: (0, 5_000))
    clock._measure = fails
    host[0] = SECOND
    clock.follow()
    assert clock.to_host(np.array([10])).tolist() == [5_010]


def test_it_is_not_measured_more_often_than_needed(host):
    calls = []
    clock = DeviceClock(lambda: calls.append(0) or (0, 0))
    calls.clear()
    for now in range(0, SECOND, SECOND // 100):
        host[0] = now
        clock.follow()
    assert len(calls) == 9
