"""The rings of a GPU, filled by their kernel or by hand. Without a GPU, a C++ compiler compiles the kernel for the host."""

from __future__ import annotations

import gc
import importlib
import threading
import time
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import cuda
from jax_debug_widgets._jax.passes import ring_records
from jax_debug_widgets._jax.passes.device_clock import DeviceClock
from jax_debug_widgets.session import current_session
from jax_debug_widgets.watch.statistics import statistics
from tests.gpu import cuda_on_host
from tests.tapped import tapped
from tests.waiting import until

IS_GPU = jax.default_backend() == "gpu"
F32 = jax.ShapeDtypeStruct((3,), np.dtype(np.float32))


@pytest.fixture
def device_rings():
    """The module of device rings. Programs on the CPU, too, write into such rings. Each test has its own memory."""
    module = importlib.import_module("jax_debug_widgets._jax.passes.device_rings")
    with nullcontext() if IS_GPU else cuda_on_host.writing_into_device_rings():
        module._blocks.cache_clear()
        yield module
    module._blocks.cache_clear()


writing = pytest.mark.usefixtures("device_rings")


def printing(length, arrays=1):
    """A loop that prints its number, several times in one line."""
    text = " ".join("{}" for _ in range(arrays))

    def f(x):
        return lax.fori_loop(0, length, lambda i, x: (jax.debug.print(text, *[i] * arrays), x + 1)[1], x)

    return jax.jit(f)


def texts(run):
    return [event.text for event in run.events]


def records_of(numbers, native, **words: Any):
    """Slots of a ring, as the handler and the kernel leave them; each has one array of three numbers."""
    slots = np.zeros((len(numbers), native.STAMP_WORDS + 2), np.uint64)
    for row, number in enumerate(numbers):
        slots[row, native.NUMBER] = number
        slots[row, native.NANOSECONDS], slots[row, native.THREAD] = 100 * number, 7
        slots[row, native.DEVICE_NS] = 100 * number + 5
        slots[row, native.STAMP_WORDS :].view(np.float32)[:3] = number
    for name, values in words.items():
        slots[:, getattr(native, name)] = values
    return slots


def filled(device_rings, slots, *, written=None):
    """A ring with these slots at its beginning."""
    native = device_rings._native()
    blocks = device_rings.PinnedBlocks(native.pinned_memory)
    ring = device_rings.DeviceRing([F32], np.zeros(1, np.uint64), blocks, DeviceClock(lambda: (0, 0)))
    ring._block[0][: slots.nbytes].view(np.uint64)[:] = slots.ravel()
    ring._head[native.WRITTEN] = len(slots) if written is None else written
    return ring


@pytest.mark.behaviour("A2")
@writing
def test_a_loop_calls_the_kernel_and_not_python():
    with jdw.capture():
        text = tapped(printing(3).lower(1.0)).as_text()
    assert "jax_debug_widgets_device_ring" in text
    assert "python_cpu_callback" not in text and "python_gpu_callback" not in text
    assert "stablehlo.if" not in text


@writing
def test_more_arrays_than_the_kernel_takes_call_python():
    with jdw.capture():
        text = tapped(printing(3, arrays=65).lower(1.0)).as_text()
    assert "jax_debug_widgets_device_ring" not in text


def test_a_full_ring_waits_until_python_has_made_room(device_rings, monkeypatch):
    monkeypatch.setattr(device_rings, "RING_BYTES", 1024)
    with jdw.capture() as run:
        printing(5000)(0.0)
    jax.effects_barrier()
    assert texts(run) == [str(number) for number in range(5000)]


def test_if_much_waits_each_event_calls_python(device_rings, monkeypatch):
    monkeypatch.setattr(device_rings, "RING_BYTES", 1024)
    monkeypatch.setattr(ring_records, "MOST_WAITING", 4096)
    with jdw.capture() as run:
        printing(1000)(0.0)
    jax.effects_barrier()
    assert texts(run) == [str(number) for number in range(1000)]


@writing
def test_arrays_that_begin_anywhere_in_memory_are_whole():
    numbers = np.arange(97, dtype=np.int8)

    @jax.jit
    def f(numbers):
        def body(i, x):
            jax.debug.print("{} {}", numbers[:1], lax.dynamic_slice_in_dim(numbers, i, 90))
            return x

        return lax.fori_loop(0, 3, body, 0)

    with jdw.capture() as run:
        f(numbers)
    jax.effects_barrier()
    for step, event in enumerate(run.events):
        np.testing.assert_array_equal(event.args[1], numbers[step : step + 90])


@writing
def test_each_event_passes_a_closed_gate():
    program = printing(3)
    gate, asked = current_session().capture.gate, []
    may_pass = gate.may_pass
    with jdw.capture() as run:
        program(0.0)
        gate.may_pass = lambda _tap, arrays, _shown=None: asked.append(int(arrays[0]))
        gate.close(True)
        try:
            program(0.0)
        finally:
            gate.close(False)
            gate.may_pass = may_pass
        program(0.0)
    jax.effects_barrier()
    assert asked == [0, 1, 2]
    assert texts(run) == ["0", "1", "2"] * 3
    assert [event.call for event in run.events] == [0] * 3 + [1] * 3 + [2] * 3


@writing
def test_what_python_raises_at_a_closed_gate_ends_the_program():
    program = printing(3)
    gate = current_session().capture.gate
    may_pass = gate.may_pass

    def refuse(_tap, arrays, _shown=None):
        if arrays[0] == 1:
            raise RuntimeError("no further")

    with jdw.capture() as run:
        program(0.0)
        gate.may_pass = refuse
        gate.close(True)
        try:
            with pytest.raises(jax.errors.JaxRuntimeError, match="RuntimeError: no further"):
                jax.block_until_ready(program(0.0))
        finally:
            gate.close(False)
            gate.may_pass = may_pass
    assert texts(run)[:5] == ["0", "1", "2", "0", "1"]


def test_records_come_in_their_order_as_far_as_they_are_there(device_rings):
    native = device_rings._native()
    ring = filled(device_rings, records_of([1, 2, 0, 4], native))
    times, threads, (values,) = ring.take(10**9)
    assert values[:, 0].tolist() == [1, 2], "the third is not there yet"
    assert times.tolist() == [105, 205]
    assert threads.tolist() == [7, 7]
    assert len(ring) == 2
    ring._stamps[2, native.NUMBER] = 3
    assert ring.take(10**9)[2][0][:, 0].tolist() == [0, 4]
    assert ring.take(10**9) is None


def test_a_record_that_a_call_hands_over_is_not_taken_twice(device_rings):
    native = device_rings._native()
    slots = records_of([1, 2, 3], native, HANDOVER=[native.BY_RING, native.BY_CALL, native.BY_RING])
    ring, called = filled(device_rings, slots), []
    ring.record = lambda *arrays: called.append(arrays[0].tolist())
    assert len(ring.take(10**9)[0]) == 1, "the call for the second has not come"
    assert ring._on_call(2)
    assert called == [[2, 2, 2]]
    assert ring.take(10**9)[2][0][:, 0].tolist() == [3]


def test_what_is_later_stays(device_rings):
    ring = filled(device_rings, records_of([1, 2, 3], device_rings._native()))
    assert ring.take(250)[0].tolist() == [105, 205]
    assert ring.take(10**9)[0].tolist() == [305]


def test_events_whose_kernel_could_not_be_launched_are_reported(device_rings):
    native = device_rings._native()
    ring = filled(device_rings, records_of([1, 2], native, HANDOVER=[native.DONE, native.BY_RING]))
    ring._head[native.LOST], ring._head[native.LAUNCH_ERROR] = 1, 700
    with pytest.warns(UserWarning, match=r"1 events of a loop are lost: .* \(error 700\)"):
        found = ring.take(10**9)
    assert found[2][0][:, 0].tolist() == [2]


def test_records_of_another_gpus_clock_are_between_their_launch_and_the_time_they_are_seen(device_rings):
    ring = filled(device_rings, records_of([], device_rings._native()))
    device, launched, late = np.array([10, 20, 30]), np.array([9, 15, 28]), 10**10
    assert ring._host_times(device, launched, 100).tolist() == [10, 20, 30]
    assert ring._host_times(device, launched, 29).tolist() == [10, 20, 29], "few ns change no other record"
    assert ring._host_times(device, launched + late, 100 + late).tolist() == [late + at for at in (9, 19, 29)]
    assert ring._host_times(device + 5, launched + late, 100 + late).tolist() == [late + at for at in (14, 24, 34)]


def test_the_memory_of_a_ring_that_is_over_is_used_again(device_rings):
    native = device_rings._native()
    blocks = device_rings.PinnedBlocks(native.pinned_memory)
    clock = DeviceClock(lambda: (0, 0))
    ring = device_rings.DeviceRing([F32], np.zeros(1, np.uint64), blocks, clock)
    memory, kept = ring._block[0], threading.Event()
    memory[:] = 1
    ring.is_written_as_long_as(kept)
    assert not ring.is_over
    del kept
    gc.collect()
    assert ring.is_over
    again = device_rings.DeviceRing([F32], np.zeros(1, np.uint64), blocks, clock)
    assert again._block[0] is memory
    assert not memory.any()


def test_a_kernel_that_writes_nothing_is_noticed_when_it_is_loaded(device_rings, monkeypatch):
    native = device_rings._native()
    least, most = native.measured_offsets()
    assert least <= most
    monkeypatch.setattr(native, "launch_and_wait", lambda _kernel, _job: None)
    with pytest.raises(cuda.CudaError, match="a record that a kernel wrote into pinned memory did not arrive"):
        native.measured_offsets()


def test_a_program_does_not_wait_for_ever_for_room(device_rings, monkeypatch):
    monkeypatch.setattr(device_rings, "RING_BYTES", 512)
    monkeypatch.setattr(device_rings, "_PATIENCE_S", 0.1)
    program = printing(50)
    with jdw.capture() as run:
        program(0.0)
        jax.effects_barrier()
        assert len(texts(run)) == 50
        with monkeypatch.context() as patched:
            patched.setattr(device_rings.DeviceRing, "_move", lambda _ring: None)  # As if an earlier record never came.
            jax.block_until_ready(program(0.0))
        with pytest.warns(UserWarning, match=r"\d+ events of a loop are lost: their ring stayed full"):
            run.collect()
        assert 50 < len(texts(run)) < 100
        program(0.0)
        jax.effects_barrier()
        assert texts(run)[-50:] == [str(number) for number in range(50)], "there is room again"


def test_a_loop_without_memory_for_its_ring_calls_python(device_rings, monkeypatch):
    def none(_size):
        raise cuda.CudaError("cuMemHostAlloc failed with error 2")

    monkeypatch.setattr(device_rings._native(), "pinned_memory", none)
    with (
        jdw.capture() as run,
        pytest.warns(UserWarning, match="A loop has no ring, so .* Python.*: cuMemHostAlloc failed"),
    ):
        printing(3)(0.0)
    jax.effects_barrier()
    assert texts(run) == ["0", "1", "2"]


@pytest.mark.skipif(IS_GPU, reason="a GPU's launches work")
@writing
def test_events_are_lost_with_a_warning_while_launches_fail():
    program = printing(3)
    with jdw.capture() as run:
        program(0.0)
        jax.effects_barrier()
        assert texts(run) == ["0", "1", "2"]
        with cuda_on_host.launches_failing(cuda_on_host.RING_SOURCE, 719):
            jax.block_until_ready(program(0.0))
        with pytest.warns(UserWarning, match=r"3 events of a loop are lost: .* \(error 719\)"):
            run.collect()
        program(0.0)
    jax.effects_barrier()
    assert texts(run) == ["0", "1", "2"] * 2


def test_threads_share_a_small_ring(device_rings, monkeypatch):
    monkeypatch.setattr(device_rings, "RING_BYTES", 512)
    program = printing(300)
    with jdw.capture() as run:
        program(0.0)
        threads = [threading.Thread(target=program, args=(0.0,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    jax.effects_barrier()
    assert sorted(map(int, texts(run))) == sorted([*range(300)] * 4)


@writing
def test_watched_tables_of_a_loop_come_by_the_ring():
    @jax.jit
    def f(x):
        def body(i, x):
            y = jnp.sin(x) + i
            return y * 2

        return lax.fori_loop(0, 4, body, x)

    x = jnp.arange(8, dtype=jnp.float32)
    with jdw.capture(watch="y") as run:
        result = f(x)
    jax.effects_barrier()
    expected, state = [], np.asarray(x)
    for step in range(4):
        expected.append(float((np.sin(state) + step).max()))
        state = (np.sin(state) + step) * 2
    np.testing.assert_allclose(run["y"]["max"], expected, rtol=1e-5)
    np.testing.assert_allclose(result, state, rtol=1e-5)


@writing
def test_events_come_while_the_program_runs():
    go_on, began = threading.Event(), time.perf_counter_ns()

    @jax.jit
    def f(x):
        x = lax.fori_loop(0, 3, lambda i, x: (jax.debug.print("{}", i), x + 1)[1], x)
        jax.debug.callback(lambda _: go_on.wait(60), x)
        return x

    with jdw.capture() as run:
        thread = threading.Thread(target=f, args=(0.0,))
        thread.start()
        until(lambda: len([event for event in run.events if event.site.kind == "print"]) == 3)
        ages = [event.time_ns for event in run.events]
        go_on.set()
        thread.join()
    assert ages == sorted(ages)
    assert 0 <= ages[0] <= time.perf_counter_ns() - began


@writing
def test_events_of_several_rings_come_in_their_order_while_the_program_runs():
    length = 3000

    def body(i, x):
        jax.debug.print("a {}", i)
        x = jnp.sin(x)
        jax.debug.print("b {} {}", i, x)  # After the sine, and with it after the first print.
        return x

    program = jax.jit(lambda x: lax.fori_loop(0, length, body, x))
    with jdw.capture() as run:
        thread = threading.Thread(target=program, args=(1.0,))
        thread.start()
        while thread.is_alive():
            run.collect()
        thread.join()
    jax.effects_barrier()
    order = [tuple(event.text.split()[:2]) for event in run.events]
    numbers = [int(number) for _, number in order]
    assert len(order) == 2 * length
    assert numbers == sorted(numbers), "no event overtakes one of an earlier iteration"
    assert len(set(order)) == 2 * length
    times = [event.time_ns for event in run.events]
    assert times == sorted(times)


@pytest.fixture
def on_a_gpu(device_rings, monkeypatch):
    """Let programs on the CPU be watched as on a GPU: its kernels take the statistics, and write the rings."""
    if IS_GPU:
        return device_rings
    monkeypatch.setattr(statistics, "cuda_target", cuda_on_host.on_host)
    monkeypatch.setattr(statistics, "computed_natively", cuda_on_host.computed_by_cuda)
    reading, program_watcher = (
        importlib.import_module(f"jax_debug_widgets.watch.choosing.{name}") for name in ("reading", "program_watcher")
    )
    for module in (reading, program_watcher):
        monkeypatch.setattr(module, "cuda_target", cuda_on_host.on_host)
    monkeypatch.setattr(reading, "native_target", lambda: None)  # Chains are the CPU's.
    return device_rings


def names_of(run):
    return sorted(run.values)


def iterated(x):
    def body(i, x):
        y = jnp.sin(x) + i
        return y * 2

    return lax.fori_loop(0, 20, body, x)


def layered(x):
    def layer(x, w):
        h = jnp.tanh(x @ w)
        return h, None

    return lax.scan(layer, x, jnp.stack([jnp.eye(8) * number for number in range(12)]))[0].sum()


@pytest.mark.behaviour("A2")
@pytest.mark.parametrize("program", [iterated, jax.grad(layered)], ids=["a loop", "forward and backward"])
@pytest.mark.usefixtures("on_a_gpu")
def test_every_nth_iteration_is_watched_without_a_branch(program):
    x = jnp.arange(8, dtype=jnp.float32) / 8
    program = jax.jit(program)
    plain = program(x)
    with jdw.capture(watch=True) as whole:
        program(x)
    with jdw.capture(watch=True, every=3) as run:
        text = tapped(program.lower(x)).as_text()
        result = program(x)
        program(x)
    jax.effects_barrier()
    assert "stablehlo.if" not in text and "stablehlo.case" not in text
    assert "jax_debug_widgets_statistics_if_wanted" in text
    np.testing.assert_allclose(result, plain, rtol=1e-6)
    assert names_of(run) == names_of(whole)
    for name in names_of(whole):
        steps = whole[name].steps
        chosen = [at for at, step in enumerate(steps) if step % 3 == 0] if len(steps) > 1 else [0]
        for statistic in whole[name]:
            found = run[name][statistic]
            np.testing.assert_allclose(found[: len(chosen)], whole[name][statistic][chosen], rtol=1e-6, err_msg=name)
            assert len(found) == 2 * len(chosen) or len(steps) == 1


@pytest.mark.behaviour("A2")
@pytest.mark.usefixtures("on_a_gpu")
def test_a_condition_in_a_loop_needs_no_branch():
    program = jax.jit(iterated)
    x = jnp.arange(8, dtype=jnp.float32)
    with jdw.capture(watch="y", when="y.max() > 12") as run:
        text = tapped(program.lower(x)).as_text()
        program(x)
    with jdw.capture(watch="y") as whole:
        program(x)
    jax.effects_barrier()
    assert "stablehlo.if" not in text and "stablehlo.case" not in text
    expected = [value for value in whole["y"]["max"].tolist() if value > 12]
    assert 0 < len(expected) < 20
    assert run["y"]["max"].tolist() == expected
    assert run["y"].steps.tolist() == [step for step, value in enumerate(whole["y"]["max"]) if value > 12]


@pytest.mark.usefixtures("on_a_gpu")
def test_whole_values_under_a_condition_keep_their_branch():
    program = jax.jit(iterated)
    x = jnp.arange(8, dtype=jnp.float32)
    with jdw.capture(watch="y", values=True, every=4) as run:
        text = tapped(program.lower(x)).as_text()
        program(x)
    jax.effects_barrier()
    assert "stablehlo.case" in text or "stablehlo.if" in text
    assert run["y"].steps.tolist() == [0, 4, 8, 12, 16]


@pytest.mark.usefixtures("on_a_gpu")
def test_records_that_are_not_wanted_are_passed_over_at_a_closed_gate():
    program = jax.jit(iterated)
    gate, asked = current_session().capture.gate, []
    may_pass = gate.may_pass
    x = jnp.arange(8, dtype=jnp.float32)
    with jdw.capture(watch="y", every=5) as run:
        program(x)
        gate.may_pass = lambda tap, _arrays, _shown=None: asked.append(tap)
        gate.close(True)
        try:
            program(x)
        finally:
            gate.close(False)
            gate.may_pass = may_pass
    jax.effects_barrier()
    assert len(asked) == 4
    assert len(run["y"]["max"]) == 8
