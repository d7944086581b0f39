"""Test rings, into which loops write instead of calling Python: the same events, and none lost."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from contextlib import nullcontext

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import native
from jax_debug_widgets._jax.passes import emit, ring_records, rings
from jax_debug_widgets.session import current_session
from tests.conftest import TRANSFORMS
from tests.devices import cpu_mesh
from tests.gpu import cuda_on_host
from tests.tapped import tapped
from tests.waiting import until

of_the_cpu = pytest.mark.cpu("a GPU has rings of its own: test_device_rings.py")

DTYPES = ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float8_e5m2", "float32", "complex64"]


@pytest.fixture(params=["of the CPU", "of a GPU"] if jax.default_backend() == "cpu" else ["of a GPU"])
def kind(request):
    """Whose rings the programs write into. Without a GPU, its kernel is compiled for the host."""
    on_host = request.param == "of a GPU" and jax.default_backend() == "cpu"
    with cuda_on_host.writing_into_device_rings() if on_host else nullcontext():
        yield request.param


on_each = pytest.mark.usefixtures("kind")


@pytest.fixture
def written(monkeypatch):
    """Return a list with the number of records of each batch taken from rings."""
    counts = []
    take = ring_records.RingRecords.take

    def counted(ring, until_ns):
        found = take(ring, until_ns)
        counts.append(0 if found is None else len(found[0]))
        return found

    monkeypatch.setattr(ring_records.RingRecords, "take", counted)
    return counts


def by_python(monkeypatch):
    monkeypatch.setattr(emit, "RINGS", {})


def said(run):
    """Return what each event shows, sorted: the order of unordered prints is the compiler's."""
    return sorted((event.text, event.step, event.lane, event.phase, event.phantom, event.call) for event in run.events)


def counting(length):
    """Return a loop that prints its number and its square."""

    def f(x):
        def body(x, i):
            jax.debug.print("{i} {square}", i=i, square=i * i)
            return x + 1, None

        return lax.scan(body, x, jnp.arange(length))[0]

    return jax.jit(f)


def numbers(run):
    return [int(event.kwargs["i"]) for event in run.events]


@on_each
@pytest.mark.behaviour("P4", "P5")
@pytest.mark.parametrize("transform", [one for one in TRANSFORMS if one.devices == 1], ids=lambda one: one.name)
def test_events_from_rings_equal_events_from_host_calls(transform, monkeypatch, same_bits):
    def run_it():
        def body(x):
            y = jnp.sin(x)
            jax.debug.print("{x} {y}", x=x, y=y)
            return y

        program = transform.wrap(lambda x: lax.fori_loop(0, 3, lambda _, x: body(x), x))
        with jdw.capture() as run:
            result = program()
        jax.effects_barrier()
        return run, result

    run, result = run_it()
    by_python(monkeypatch)
    expected, same = run_it()
    assert same_bits(result, same)
    assert said(run) == said(expected)


@on_each
@pytest.mark.parametrize("dtype", DTYPES)
def test_rings_keep_values_of_every_dtype(dtype, written):
    values = jnp.asarray(np.arange(12).reshape(4, 3) % 2, dtype)

    @jax.jit
    def f(values):
        def body(_, row):
            jax.debug.print("{row} {first}", row=row, first=row[0])
            return None, None

        lax.scan(body, None, values)
        return values

    with jdw.capture() as run:
        f(values)
    jax.effects_barrier()
    assert sum(written) == 4
    assert [event.text for event in run.events] == [f"{row} {row[0]}" for row in np.asarray(values)]
    assert {array.dtype for event in run.events for array in event.values} == {np.dtype(dtype)}


@of_the_cpu
def test_a_ring_that_is_full_asks_for_python_and_nothing_is_lost(monkeypatch, written):
    monkeypatch.setattr(rings, "_FIRST_BYTES", 100)
    monkeypatch.setattr(rings, "_MOST_BYTES", 1000)
    with jdw.capture() as run:
        counting(5000)(0)
    jax.effects_barrier()
    assert numbers(run) == list(range(5000))
    assert 0 < sum(written) < 5000, "the firing that finds the ring full is told by Python"


@of_the_cpu
def test_a_full_ring_holds_up_the_program_until_it_is_read(monkeypatch, written):
    monkeypatch.setattr(rings, "_FIRST_BYTES", 1000)
    monkeypatch.setattr(rings, "_MOST_BYTES", 1000)
    monkeypatch.setattr(ring_records, "MOST_WAITING", 2000)
    f = counting(1000)
    with jdw.capture() as run:
        f(0)
        jax.effects_barrier()
        first = numbers(run)
        in_rings = sum(written)
        f(0)
    jax.effects_barrier()
    assert first == list(range(1000))
    assert numbers(run) == 2 * first
    assert in_rings < 900, "it was not taken while it ran"
    assert sum(written) > in_rings, "and again there is room"


@on_each
def test_threads_write_into_one_ring(written):
    f, count = counting(2000), 4
    with jdw.capture() as run:
        f(0)
        threads = [threading.Thread(target=f, args=(0,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    jax.effects_barrier()
    assert sorted(numbers(run)) == sorted((count + 1) * list(range(2000)))
    assert sum(written) > count * 1000


@on_each
def test_the_ring_of_a_freed_program_is_freed():
    made = []

    def run_it():
        f = counting(10)
        with jdw.capture() as run:
            firings = (
                current_session().capture.box(run.box).firings
            )  # This box may still have programs of earlier captures.
            before = {id(source) for _, source in firings._all_sources()}
            f(0)
            (own,) = (source for _, source in firings._all_sources() if id(source) not in before)
            made.append(weakref.ref(own))
            del own
            assert made[-1]() is not None, "while it is captured"
        jax.effects_barrier()
        assert numbers(run) == list(range(10))

    run_it()
    jax.clear_caches()
    gc.collect()
    run_it()
    gc.collect()
    assert made[0]() is None


@on_each
def test_events_come_while_the_program_runs():
    seen, go_on = [], threading.Event()

    @jax.jit
    def f(x):
        x = lax.fori_loop(0, 3, lambda i, x: (jax.debug.print("{i}", i=i), jnp.sin(x))[1], x)
        jax.debug.callback(lambda _: go_on.wait(60), x)
        return x

    with jdw.capture() as run:
        thread = threading.Thread(target=f, args=(0.5,))
        thread.start()
        until(lambda: len([event for event in run.events if event.site.kind == "print"]) == 3)
        seen += [event.text for event in run.events if event.site.kind == "print"]
        go_on.set()
        thread.join()
    jax.effects_barrier()
    assert seen == ["0", "1", "2"]


@on_each
def test_muting_a_site_keeps_what_its_ring_already_has(written):
    f = counting(10)
    with jdw.capture() as run:
        f(0)
        jax.effects_barrier()
        (site,) = [site.id for site in run.sites]
        switches = current_session().switches
        f(0)
        jax.effects_barrier()
        switches.mute(site, muted=True)
        f(0)
        jax.effects_barrier()
        switches.mute(site, muted=False)
        switches.sample(site, 5)
        f(0)
        jax.effects_barrier()
        switches.sample(site, None)
    assert numbers(run) == [*range(10), *range(10), 0, 5]
    assert sum(written) >= 30


def lowered(f, x):
    with jdw.capture():
        return tapped(jax.jit(f).lower(x)).as_text()


def looped(say):
    return lambda x: lax.fori_loop(0, 3, lambda _, x: (say(x), x + 1)[1], x)


def on_mesh(f):
    mesh = cpu_mesh((2,), ("d",))
    return jax.shard_map(f, mesh=mesh, in_specs=jax.P(), out_specs=jax.P())


def printing(x):
    jax.debug.print("{}", x)


CALLS = {
    "no loop": lambda x: (printing(x), x)[1],
    "ordered": looped(lambda x: jax.debug.print("{}", x, ordered=True)),
    "large": looped(lambda x: jax.debug.print("{}", jnp.full(2000, x))),
    "callback": looped(lambda x: jax.debug.callback(lambda _: None, x)),
    "mesh": on_mesh(looped(printing)),
}


@of_the_cpu
def test_small_values_of_loops_are_written_on_one_device():
    assert "jax_debug_widgets_ring" in lowered(looped(printing), 1.0)


@of_the_cpu
@pytest.mark.parametrize("program", CALLS)
def test_programs_that_cannot_use_rings_call_the_host(program):
    assert "jax_debug_widgets_ring" not in lowered(CALLS[program], 1.0)


@of_the_cpu
def test_loops_call_python_without_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax_debug_widgets._jax.passes.rings_native", None)
    monkeypatch.setattr(native, "_known", {})
    rings._is_available.cache_clear()
    with (
        pytest.warns(UserWarning, match="so loops hand over prints and watched values by calls of Python"),
        jdw.capture() as run,
    ):
        counting(3)(0)
    jax.effects_barrier()
    assert numbers(run) == [0, 1, 2]
    monkeypatch.undo()
    rings._is_available.cache_clear()


@of_the_cpu
def test_loops_call_python_if_jax_lacks_the_names_for_rings(monkeypatch):
    rings._is_available.cache_clear()
    monkeypatch.setattr(ring_records.features, "missing", lambda: {ring_records.features.RINGS: "its names are others"})
    assert "jax_debug_widgets_ring" not in lowered(looped(printing), 1.0)
    monkeypatch.undo()
    rings._is_available.cache_clear()
    assert "jax_debug_widgets_ring" in lowered(looped(printing), 1.0)


def is_scalar(each):
    return isinstance(each, type) and issubclass(each, np.generic) and "complex" not in each.__name__


def test_types_whose_elements_take_no_whole_byte_call_python():
    types = [np.dtype(each) for each in vars(ml_dtypes).values() if is_scalar(each)]
    in_parts = [dtype for dtype in types if (jnp.iinfo if "int" in dtype.name else jnp.finfo)(dtype).bits % 8]
    assert {"int2", "uint4"} <= {dtype.name for dtype in in_parts} < {dtype.name for dtype in types}
    recorded = [dtype for dtype in types if ring_records.can_be_recorded([jax.ShapeDtypeStruct((8,), dtype)])]
    assert not set(recorded) & set(in_parts)
    assert set(recorded) | set(in_parts) == set(types)
