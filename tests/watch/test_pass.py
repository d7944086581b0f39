"""Test that watching preserves a program: its bits, effects, donation, and its own executable outside of captures."""

from __future__ import annotations

import asyncio
import gc
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import native, versions
from jax_debug_widgets._jax.passes.watching import WatchHooks
from jax_debug_widgets.watch.choosing.lanes import by_lane
from jax_debug_widgets.watch.statistics import statistics
from jax_debug_widgets.watch.statistics.full_values import MAX_ELEMENTS, sampled, whole_shape
from jax_debug_widgets.watch.statistics.statistics import STATISTICS, stacked
from tests.devices import cpu_mesh
from tests.gpu import cuda_on_host


def body(x):
    inner = jnp.sin(x)
    out = inner * inner - x
    return out


UNCOMPILED = {
    "eager", "vmap", "vmap_of_nothing", "vmap_mixed", "grad", "vjp", "eager_custom_vjp", "eager_shard_map",
    "remat_grad", *(("custom_vjp", "vmap_custom_vjp") if versions.TRACEBACKS_LEAVE_THEIR_PROGRAM else ()),
}  # fmt: skip
"""Operations are run one by one, or (with JAX 0.8) there is a rule in the place of the body, of which it keeps no lines."""
UNWATCHED = {*UNCOMPILED, "cond_not_taken"}


def test_results_are_the_same_bits_under_every_transformation(transform, same_bits):
    program = transform.wrap(body)
    plain = jax.block_until_ready(program())
    with jdw.capture(watch=True) as run:
        result = jax.block_until_ready(program())
    assert same_bits(result, plain)
    watched = {event.site.watch.name for event in run.events}
    assert ("inner" in watched) == (transform.name not in UNWATCHED), run.status().notes


JIT_TRAP = {
    "elementwise": lambda x: _returned(x * 2),
    "matmul": lambda x: _returned(x @ x),
    "sum beside": lambda x: (_returned(x @ x), x.sum(), x.sum(axis=1)),
    "scan": lambda x: lax.scan(lambda c, _: (_returned(c @ x), None), x, length=2)[0],
}


def _returned(value):
    y = value * 1
    return y


@pytest.mark.parametrize("name", JIT_TRAP)
@pytest.mark.parametrize("size", [64, 100])
def test_a_reduction_of_what_is_also_returned_compiles(name, size, same_bits):
    """With jaxlib 0.10.2 a callback on `y.sum()` does not compile where `y` is returned and large enough."""
    program = jax.jit(JIT_TRAP[name])
    x = jax.random.normal(jax.random.key(0), (size, size)) / size
    plain = program(x)
    for options in ({"ops": True}, {"watch": "y", "values": True}):
        with jdw.capture(**options) as run:
            result = program(x)
        assert not any("unwatched" in note for note in run.status().notes) and len(run.events)
        assert same_bits(result, plain)


def test_a_program_outside_the_capture_is_its_own(same_bits):
    program = jax.jit(body)
    x = jnp.linspace(0, 1, 5)
    plain = program(x)
    with jdw.capture(watch=True) as run:
        program(x)
    seen = len(run.events)
    assert seen and same_bits(program(x), plain)
    assert len(run.events) == seen
    with jax.log_compiles(False), jdw.capture(watch=True) as again:
        program(x)
    assert len(again.events) == seen
    assert not [call for call in again.calls if call.compile]  # equal settings share the executable


def test_donation_and_static_arguments_are_kept():
    @jax.jit
    def step(x):
        y = x + 1
        return y

    donating = jax.jit(lambda x, n: step(x) * n, donate_argnums=0, static_argnums=1)
    x = jnp.ones(1000)
    with jdw.capture(watch=True) as run:
        result = donating(x, 3)
    assert x.is_deleted() and float(result[0]) == 6
    assert "y" in run.values


def test_a_pass_that_fails_leaves_the_program_unwatched_and_says_so(monkeypatch):
    def broken(*_args):
        raise RuntimeError("no pass today")

    monkeypatch.setattr(WatchHooks, "_with_taps", broken)
    with jdw.capture(watch=True) as run:
        result = jax.jit(lambda x: body(x) * 5)(jnp.float32(1))
    assert np.isfinite(result)
    assert any("no pass today" in note for note in run.status().notes)


@pytest.mark.skipif(jax.__version_info__ < (0, 9), reason="jax 0.8 keeps programs whose functions are gone")
def test_a_failure_to_watch_a_freed_program_is_not_reported_again(monkeypatch):
    def broken(*_args):
        raise RuntimeError("no pass today")

    x = jnp.float32(1)  # JAX compiles a program for the conversion once.

    def notes(f):
        with jdw.capture(watch="inner,one") as run:
            f(x)
        return run.status().notes

    kept = jax.jit(lambda x: body(x) * 7)
    with monkeypatch.context() as patch:
        patch.setattr(WatchHooks, "_with_taps", broken)
        assert "no pass today" in notes(jax.jit(lambda x: body(x) * 8))[0]
        assert "no pass today" in notes(kept)[0]
    assert "no pass today" in notes(kept)[0]  # The program is compiled here.
    del kept
    gc.collect()
    assert not any("no pass today" in note for note in notes(jax.jit(lambda x: x * 9)))


def test_a_failure_is_reported_until_the_program_is_watched(monkeypatch):
    tapped = WatchHooks._with_taps

    def broken(*_args):
        raise RuntimeError("no pass today")

    def notes():
        with jdw.capture(watch="inner") as run:
            jax.block_until_ready(jax.jit(lambda x: body(x) * 6)(one))
        return run.status().notes

    one = jnp.float32(1)

    monkeypatch.setattr(WatchHooks, "_with_taps", broken)
    assert "no pass today" in notes()[0]
    monkeypatch.setattr(WatchHooks, "_with_taps", tapped)
    assert notes() == ()


def test_large_float64_numbers_are_not_counted_as_infinite(watched):
    with jax.enable_x64(True):

        @jax.jit
        def f(x):
            large = x * 1e200
            infinite = jnp.where(x == 0, large, large * jnp.inf)
            size = lax.complex(large, large)
            return large, infinite, size

        run = watched(f, jnp.array([-1.0, 0.0, 2.0]), watch="large,infinite,size")
    for name, counts in {"large": (0, 0, 1), "infinite": (1, 1, 1), "size": (0, 0, 1)}.items():
        assert tuple(run[name][kind][0] for kind in ("posinf", "neginf", "zeros")) == counts


@pytest.mark.parametrize("is_native", [True, False])
def test_zeros_are_what_is_zero_in_its_own_type(monkeypatch, is_native):
    if not is_native:
        monkeypatch.setattr(statistics, "native_target", lambda: None)
    with jax.enable_x64(True):
        real = np.array([1e-300, 0.0, -0.0, -1e-300, 1e-305, 1e-40, 1.0, np.nan])
        arrays = [real, real[:6], real[:4] * 1j, real[-4:]]
        table = np.asarray(jax.jit(lambda *each: stacked(each))(*map(jnp.asarray, arrays)))
    told = table[:, STATISTICS.index("zeros")].tolist()
    assert told == [np.count_nonzero(array == 0) for array in arrays]
    assert table[1, STATISTICS.index("min")] < 0 < table[1, STATISTICS.index("max")] < 1e-37


@pytest.mark.parametrize("long", [False, True], ids=["handed over", "in a loop"])
def test_integer_scalars_are_exact(watched, long):
    @jax.jit
    def f(start):
        def step(before, _):
            tokens = before + 1
            left = jnp.uint32(2**32 - 1) - tokens.astype(jnp.uint32)
            share = tokens.astype(jnp.float32) / 2
            debt = -tokens
            return tokens, (left, share, debt)

        return lax.scan(step, start, length=100)[1] if long else step(start, None)[1]

    first = 2**24
    run = watched(f, jnp.int32(first), watch="tokens,left,share,debt")
    exact = np.arange(first + 1, first + (100 if long else 1) + 1)
    assert run["tokens"]["value"].tolist() == exact.tolist()
    assert run["debt"]["value"].tolist() == (-exact).tolist()
    assert run["left"]["value"].tolist() == (2**32 - 1 - exact).tolist()
    assert run["share"]["value"].tolist() == (exact.astype(np.float32) / 2).tolist()
    assert {name: run.series(name)[1].dtype.name for name in ("tokens", "left", "share")} == {
        "tokens": "int32",
        "left": "uint32",
        "share": "float32",
    }
    assert any(event.text == f"tokens: value {exact[0]}" for event in run.events)


@pytest.mark.parametrize("every", [2, 4])
def test_every_nth_iteration_of_a_loop_is_watched(every, same_bits):
    @jax.jit
    def train(x):
        def step(c, t):
            c = jnp.tanh(c * 1.1 + t)
            return c, c.sum()

        return lax.scan(step, x, jnp.arange(10.0))

    plain = train(jnp.ones(4))
    with jdw.capture(watch="c", every=every) as run:
        result = train(jnp.ones(4))
    assert same_bits(result, plain)
    new = [event for event in run.events if event.site.watch.primitive != "argument"]
    assert [event.step for event in new] == [(step,) for step in range(0, 10, every)]
    with jdw.capture(watch="c") as full:
        train(jnp.ones(4))
    means = [event.kwargs["mean"] for event in full.events if event.site.watch.primitive != "argument"]
    np.testing.assert_allclose([event.kwargs["mean"] for event in new], means[::every], rtol=1e-6)


def test_every_nth_iteration_of_a_while_and_every_nth_call():
    @jax.jit
    def loop(x):
        def advance(c):
            i, x = c
            y = x * 1.5
            return i + 1, y

        return lax.while_loop(lambda c: c[0] < 7, advance, (0, x))

    @jax.jit
    def call(x):
        y = x * 2
        return y

    with jdw.capture(watch="y", every=3) as run:
        assert loop(jnp.ones(3))[0] == 7
        for i in range(7):
            assert call(jnp.full(3, i))[0] == 2 * i
    steps = [event.step for event in run.events if event.step]
    assert steps == [(0,), (3,), (6,)]
    assert [int(event.kwargs["max"]) for event in run.events if not event.step] == [0, 6, 12]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "array",
    [
        np.linspace(-3, 5, 1000, dtype=np.float32),
        np.zeros((64, 64), np.float32),
        np.array([1, -2, 0, np.nan, np.inf, -np.inf, np.nan], np.float32),
        np.array([1e30, -1e30, 0], np.float32),
        np.array([1e-25, -3e-25, 0], np.float32),
        np.where(np.arange(5000) % 7 == 0, np.nan, np.arange(5000)).astype(np.float32),
        np.arange(12, dtype=np.int32).reshape(3, 4),
        np.array([True, False, True]),
        np.linspace(0, 1, 256).astype(jnp.bfloat16),
        np.linspace(0, 1, 100).astype(np.float16),
        np.array([3 + 4j, 0], np.complex64),
        np.array([200, 100], np.uint8),
        np.float32(7.5),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
@pytest.mark.each
@pytest.mark.usefixtures("way")
def test_statistics_are_right_for_every_dtype(array, agrees):
    other = np.ones((3, 129), np.float32)
    table = jax.jit(lambda *arrays: stacked(arrays))(array, other)
    names = STATISTICS if array.size > 1 else ("value",)
    agrees({name: [number] for name, number in zip(names, np.asarray(table[0]), strict=False)}, array)
    agrees({name: [number] for name, number in zip(STATISTICS, np.asarray(table[1]), strict=True)}, other)


@pytest.fixture(
    params=[
        pytest.param("natively", marks=pytest.mark.cpu("Numba reads memory of CPUs")),
        "by CUDA's kernels",
        "by XLA",
    ]
)
def way(request, monkeypatch):
    """Select the implementation that computes statistics; all must give the same."""
    if request.param == "by XLA":
        monkeypatch.setattr(statistics, "native_target", lambda: None)
        monkeypatch.setattr(statistics, "cuda_target", lambda: None)
    elif request.param == "by CUDA's kernels" and jax.default_backend() == "gpu":
        assert statistics.cuda_target()
    elif request.param == "by CUDA's kernels":
        monkeypatch.setattr(statistics, "cuda_target", cuda_on_host.on_host)
        monkeypatch.setattr(statistics, "computed_natively", cuda_on_host.computed_by_cuda)
    else:
        assert statistics.native_target()
    return request.param


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("odd_one", [np.nan, np.inf])
def test_statistics_of_arrays_without_finite_elements_are_nan(odd_one):
    array = np.full((2, 3), odd_one, np.float32)
    whole = jax.jit(lambda x: stacked([x]))(array)[0]
    for found in (whole, *jax.jit(lambda x: by_lane(x, (0,)))(array)):
        told = dict(zip(STATISTICS, found.tolist(), strict=True))
        assert all(np.isnan(told[name]) for name in ("min", "max", "mean", "std"))
        assert (told["nan"], told["posinf"]) in {(6, 0), (0, 6), (3, 0), (0, 3)}


@pytest.mark.parametrize("size", [100, 5_000, 140_000])
@pytest.mark.parametrize("first", [0.0, 1e3, 1e6, np.nan])
@pytest.mark.each
def test_the_standard_deviation_of_numbers_far_from_zero_is_precise(size, first, way):
    array = (300 + 0.1 * np.random.default_rng(0).standard_normal(size)).astype(np.float32)
    array[0] = first
    for each in (array, array[1:]):
        told = dict(zip(STATISTICS, np.asarray(jax.jit(lambda x: stacked([x]))(each))[0].tolist(), strict=True))
        exact = each[np.isfinite(each)].astype(np.float64)
        wanted = {"mean": exact.mean(), "std": exact.std(), "l2": np.linalg.norm(exact)}
        if len(exact) < len(each):
            wanted["l2"] = np.nan
        # XLA's implementation subtracts the middle of minimum and maximum, which may be far from the other elements.
        digits = 1e-2 if way == "by XLA" else 1e-5
        assert {name: told[name] for name in wanted} == pytest.approx(wanted, rel=digits, nan_ok=True)
        lane = dict(
            zip(STATISTICS, np.asarray(jax.jit(lambda x: by_lane(x[None], (0,)))(each))[0].tolist(), strict=True)
        )
        digits = digits if jax.default_backend() == "cpu" else 1e-2  # XLA computes the statistics of lanes.
        assert {name: lane[name] for name in wanted} == pytest.approx(wanted, rel=digits, nan_ok=True)


def test_odd_values_in_long_arrays_are_found_each_way(way, agrees):
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=n).astype(np.float32) for n in (5, 1500, 800_000)]
    for array, odd_one in zip(arrays, (np.nan, np.inf, -3e30), strict=True):
        array[[1, -1]] = odd_one, 0
    program = jax.jit(lambda *arrays: stacked(arrays)).lower(*arrays)
    assert (program.as_text().count("jax_debug_widgets_statistics") == 3) == (way == "natively")
    table = np.asarray(program.compile()(*arrays))
    for row, array in zip(table, arrays, strict=True):
        agrees(dict(zip(STATISTICS, row[:, None], strict=True)), array)
    assert table[:, STATISTICS.index("l2")].tolist() == pytest.approx([np.nan, np.inf, 3e30], nan_ok=True)
    assert table[1, STATISTICS.index("mean")] == pytest.approx(arrays[1][np.isfinite(arrays[1])].mean(), rel=1e-5)


def test_statistics_are_computed_natively_where_each_device_has_the_whole_array_only(agrees):
    mesh = cpu_mesh((4,), ("x",))
    split = jax.sharding.NamedSharding(mesh, jax.P("x"))
    array = np.linspace(-1, 1, 4096, dtype=np.float32)
    whole = jax.device_put(array, jax.devices("cpu")[0])
    program = jax.jit(lambda x: stacked([x]))
    parted = jax.jit(jax.shard_map(program, mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P("x"), check_vma=False))
    lowered = [program.lower(whole), program.lower(jax.device_put(array, split)), parted.lower(array)]
    assert ["jax_debug_widgets_statistics" in one.as_text() for one in lowered] == [True, False, True]
    for one in (whole, jax.device_put(array, split)):
        agrees(dict(zip(STATISTICS, np.asarray(program(one))[0][:, None], strict=True)), array)
    for row, quarter in zip(np.asarray(parted(array)), np.split(array, 4), strict=True):
        agrees(dict(zip(STATISTICS, row[:, None], strict=True)), quarter)


def test_a_numba_that_does_not_work_is_reported_and_done_without(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax_debug_widgets.watch.statistics.native", None)
    monkeypatch.setattr(native, "_known", {})
    with pytest.warns(UserWarning, match="Numba cannot be used"):
        assert statistics.native_target() is None
    monkeypatch.undo()
    assert statistics.native_target() == "jax_debug_widgets_statistics"


def test_hundreds_of_arrays_have_their_rows(way):
    most = 32 if way == "by XLA" else 302  # XLA compiles six passes for each; the kernels take 128 in a launch.
    arrays = [np.arange(number, 2 * number, dtype=np.float32) for number in range(1, most)]
    table = np.asarray(jax.jit(lambda *arrays: stacked(arrays))(*arrays))
    assert table[:, 0].tolist() == [*range(1, most)]
    assert table[1:, 1].tolist() == [array[-1] for array in arrays[1:]]


@pytest.mark.usefixtures("way")
def test_rows_are_in_order_whatever_is_read_together(monkeypatch, agrees):
    monkeypatch.setattr(statistics, "_TOGETHER", 2000)
    arrays = [np.arange(1500.0), np.array(3.0), np.full((30, 40), np.inf), np.array([[7.0]]), np.linspace(1, 2, 400)]
    rows = [4, 0, 3, 3, 2, 1]
    table = np.asarray(jax.jit(lambda *arrays: stacked(arrays, rows))(*map(np.float32, arrays)))
    assert table[[2, 3, 5], 0].tolist() == [7, 7, 3]
    for row, array in ((0, arrays[4]), (1, arrays[0])):
        agrees(dict(zip(STATISTICS, table[row][:, None], strict=True)), array)
    assert table[4][STATISTICS.index("posinf")] == 1200


def test_transposed_values_share_statistics_and_rounded_ones_do_not(agrees):
    @jax.jit
    def f(x):
        made = x * 1.003
        turned = made.T.reshape(-1)
        rounded = turned.astype(jnp.bfloat16)
        wide = rounded.astype(jnp.float32)
        return wide.sum() + turned[3]

    x = np.linspace(-1, 3, 15, dtype=np.float32).reshape(3, 5)
    with jdw.capture(watch="made,turned,rounded,wide") as run:
        f(x)
    made = x * np.float32(1.003)
    for name in ("made", "turned"):
        agrees(run[name], made)
    assert run["made"]["max"] == run["turned"]["max"] == made.max()
    for name in ("rounded", "wide"):
        assert run[name]["max"] == made.max().astype(jnp.bfloat16).astype(np.float32) != made.max()


def test_whole_values_are_taken_and_large_ones_down_sampled():
    @jax.jit
    def f(x):
        small = x[:4, :5] * 2
        large = x * 3
        return small.sum() + large.sum()

    x = jnp.arange(512.0 * 512).reshape(512, 512) % 7
    with jdw.capture(watch=["small", "large"], values=True) as run:
        f(x)
    np.testing.assert_array_equal(run["small"]["value"][0], np.asarray(x[:4, :5]) * 2)
    assert run["large"]["value"][0].size <= MAX_ELEMENTS
    np.testing.assert_array_equal(run["large"]["value"][0], np.asarray(x)[::2, ::2] * 3)
    assert run["large"].site.watch.full and run["large"]["max"][0] == 18
    sample = "every 2nd along axis 0 and every 2nd along axis 1"
    assert run.show("large").get_title() == f"large, step 0, {sample}  float32[256, 256]"
    assert run.show("small").get_title() == "small, step 0  float32[4, 5]"
    (note,) = run.notes
    assert note.startswith(
        f"--values takes a sample of large (of large {sample}): an array that is taken whole has at most 65,"
    )


@pytest.mark.parametrize("options", [{}, {"lanes": True}, {"every": 2}, {"histograms": True}, {"exact": True}], ids=str)
def test_whole_single_numbers_have_all_their_bits(options):
    @jax.jit
    def f(xs, n):
        def step(c, x):
            u = jnp.sin(x) / 3
            z = lax.complex(u, x)
            k = n * 3 + 1
            small = u * 1e-300
            h = jnp.stack([n, n + 1])
            single = u.astype(jnp.float32)
            return c + u[None], (z, k, small, h, single)

        return lax.scan(step, jnp.zeros(1), xs)

    with jax.enable_x64(True):
        xs, n = jnp.arange(1.0, 5), jnp.int64(2**60 + 7)
        _, wanted = f(xs, n)
        with jdw.capture(watch="z,k,small,h,single,c", values=True, **options) as run:
            f(xs, n)
    for name, values in zip(("z", "k", "small", "h", "single"), wanted, strict=True):
        found = run[name]["value"]
        np.testing.assert_array_equal(found, np.asarray(values)[:: options.get("every", 1)], err_msg=name)
        assert run.series(name)[1].dtype == values.dtype
        assert found.dtype == (np.float64 if values.dtype == np.float32 else values.dtype), name
    text = {event.site.label: event.text for event in run.events}
    assert text["k"] == f"k: value {3 * (2**60 + 7) + 1}" and text["z"].startswith("z: value ")


@pytest.mark.parametrize("shape", [(), (7,), (256, 256), (257, 256), (3, 10**6), (2, 3, 5, 10**5)])
def test_the_shape_of_what_is_taken_is_known_before_it_is(shape):
    taken = sampled(jnp.zeros(shape, jnp.int8))
    assert whole_shape(shape) == taken.shape and taken.size <= MAX_ELEMENTS


def test_the_note_about_the_cost_of_watching_comes_before_the_program_runs():
    told = []

    @jax.jit
    def f(x):
        inner = jnp.sin(x)
        jax.debug.callback(lambda _: told.append(run.status().notes), x)
        return inner * 2

    with jdw.capture(watch=True, barrier=False) as run:
        f(jnp.zeros((64, 64)))
    jax.effects_barrier()
    (note,) = told[0]
    assert note.startswith("With 3 watched values (49.2 kB a step) programs are expected to take about")
    assert len(note.split(". ")[0]) < 140, "a line of the panel"
    # For a very short program a multiple says little.
    assert re.search(r"about 0\.\d+ ms longer a call, [\d.]+ times as long", note)
    with jdw.capture(watch="inner") as run:
        f(jnp.zeros((64, 64)))
    assert run.status().notes == ()


def test_each_call_of_an_instrumented_function_is_a_run():
    @jax.jit
    def double(x, *, by=2.0):
        """Return twice the number."""
        y = x * by
        return y

    f = jdw.instrument(double, watch="y")
    assert (f.__name__, f.__doc__) == ("double", "Return twice the number.")
    with pytest.raises(LookupError, match="not been called"):
        f.run  # noqa: B018
    np.testing.assert_array_equal(f(jnp.arange(3.0)), [0, 2, 4])
    first = f.run
    f(jnp.arange(3.0), by=5.0)
    assert (first["y"]["max"].tolist(), f.run["y"]["max"].tolist()) == ([4], [10])
    assert f.run.title == "double" and jdw.last() is f.run
    with pytest.raises(ValueError, match="every"):
        jdw.instrument(double, watch="y", every=0)


def test_every_nth_call_of_an_instrumented_function_is_watched():
    @jax.jit
    def double(x):
        y = x * 2
        return y

    f = jdw.instrument(double, watch="y", every=3)
    told = []
    for _ in range(7):
        f(jnp.arange(3.0))
        told.append((len(f.run.events), f.run.findings))
    assert told == [(1, []), (0, []), (0, [])] * 2 + [(1, [])]


def test_an_async_function_is_instrumented_until_it_is_awaited_and_a_generator_is_not():
    @jax.jit
    def jitted(x):
        y = x * 2
        return y

    async def double(x):
        await asyncio.sleep(0)
        return jitted(x)

    def doubles(x):
        yield jitted(x)

    f = jdw.instrument(double, watch="y")
    assert asyncio.run(f(jnp.float32(3))) == 6
    assert f.run["y"]["value"].tolist() == [6]
    with pytest.raises(TypeError, match="instrument a function"):
        jdw.instrument(3)
    with pytest.raises(TypeError, match="generator"):
        jdw.instrument(doubles, watch="y")


@pytest.mark.parametrize("option", ["values", "histograms", "lanes"])
def test_options_for_watched_values_are_refused_without_watch(option):
    with pytest.raises(ValueError, match=f"{option} .*say which as well, with watch"):
        jdw.capture(**{option: True})


def test_an_instrumented_method_is_given_its_object():
    class Model:
        scale = 3.0

        def apply(self, x):
            return jax.jit(lambda x: (y := x * self.scale))(x)

        watched = jdw.instrument(apply, watch="y")

    assert Model().watched(jnp.float32(2)) == 6
    assert Model.watched.run["y"]["value"].tolist() == [6]
