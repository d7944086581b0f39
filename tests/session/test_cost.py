"""Test the cost of a print in its program: `jdw.cost(f, x)` and `%jaxdebug cost f(x)`."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from IPython.core.error import UsageError
from jax import lax
from jax.experimental import io_callback
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from sklearn.datasets import load_digits

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.studies.cost import Variations
from jax_debug_widgets._jax.studies.kernels import kernels_of
from jax_debug_widgets.events.amounts import in_bytes, in_time
from jax_debug_widgets.magics.programs import cost_of
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.studies.event_cost import event_cost
from tests.conftest import DEVICES, mesh
from tests.devices import PLATFORM

FLOAT32 = np.dtype(np.float32)


def must_not_run(*_args: object) -> None:
    pytest.fail("a host function was called")


def in_the_middle(x):
    y = jnp.sin(x) * 2 + 1
    jax.debug.print("y {}", y)
    return jnp.cos(y) + y * y


@pytest.mark.cpu("other backends fuse otherwise")
@pytest.mark.behaviour("P10")
def test_a_print_that_breaks_a_fusion_is_reported_with_its_memory(capfd):
    report = jdw.cost(in_the_middle, jnp.ones(1024))
    (site,) = report
    assert (site.firings, site.per, site.nbytes) == (1, "a call", 4096)
    assert (site.kernels, site.temporaries) == (1, 4096), "XLA computes everything in one kernel without it"
    assert [name.rpartition("/")[2] for name in site.broken] == ["add"]
    assert site.collectives == {}
    line = in_the_middle.__code__.co_firstlineno + 2
    assert site.sentence.startswith(f"test_cost.py:{line} y {{}}: 1 firing a call moves 4.1 kB to the host, about ")
    assert "it adds 4.1 kB of temporaries and 1 kernel; it breaks 1 fusion: `add` would not" in site.sentence
    refused = "not written to the persistent cache because of it." in site.sentence
    assert refused != versions.CACHES_HOST_CALLBACKS
    assert capfd.readouterr().out == "", "nothing has run"


@pytest.mark.behaviour("P10")
def test_a_print_of_a_sharded_array_adds_an_all_gather():
    def f(x):
        y = jnp.sin(x)
        jax.debug.print("y {}", y)
        return y * 2

    x = jax.device_put(jnp.ones((16 * DEVICES, 128)), NamedSharding(mesh(), P("d")))
    (site,) = jdw.cost(f, x)
    assert site.collectives == {"all-gather": 1}
    assert site.nbytes == x.nbytes
    assert site.temporaries > x.nbytes
    assert "1 all-gather, which `partitioned=True` would not" in site.sentence
    local = jax.shard_map(f, mesh=mesh(), in_specs=P("d"), out_specs=P("d"))
    (site,) = jdw.cost(local, x)
    assert (site.collectives, site.firings, site.nbytes) == ({}, DEVICES, x.nbytes)


@pytest.mark.behaviour("P10")
def test_a_partitioned_print_fires_on_each_device_with_its_part():
    def f(x, bias):
        y = jnp.sin(x)
        jax.debug.print("y {} {}", y, bias, partitioned=True)
        return y * 2

    x = jax.device_put(jnp.ones((16 * DEVICES, 128)), NamedSharding(mesh(), P("d")))
    (site,) = jdw.cost(f, x, jnp.ones(3))
    assert (site.firings, site.collectives, site.partitioned) == (DEVICES, {}, True)
    assert site.nbytes == x.nbytes + DEVICES * 3 * 4, "of what is not divided each device hands over the whole"
    assert "partitioned=True" not in site.sentence
    captured = jax.jit(f)
    with jdw.capture() as run:
        captured(x, jnp.ones(3))
    assert sum(value.nbytes for event in run.events for value in event.values) == site.nbytes
    local = jax.shard_map(f, mesh=mesh(), in_specs=(P("d"), P()), out_specs=P("d"))
    (inside,) = jdw.cost(local, x, jnp.ones(3))
    assert (inside.firings, inside.nbytes) == (site.firings, site.nbytes)


def train(weights, images, labels):
    """Run softmax regression on scikit-learn's digits with three prints, one of them of a large array."""

    def loss_of(w):
        logits = images @ w
        jax.debug.print("logits {}", logits)
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels])

    def step(w, _):
        loss, gradient = jax.value_and_grad(loss_of)(w)
        jax.debug.print("loss {loss}", loss=loss)
        jax.debug.callback(must_not_run, jnp.linalg.norm(gradient), ordered=True)
        return w - 0.1 * gradient, loss

    return lax.scan(step, weights, length=10)


@pytest.fixture(scope="module")
def digits():
    images, labels = load_digits(return_X_y=True)
    return jnp.zeros((64, 10)), jnp.asarray(images, jnp.float32) / 16, jnp.asarray(labels)


@pytest.mark.behaviour("P10")
def test_a_training_loop_says_which_of_its_calls_costs(digits):
    report = jdw.cost(jax.jit(train), *digits)
    logits, loss, norm = report
    assert [site.firings for site in report] == [10, 10, 10]
    assert logits.nbytes == 10 * 1797 * 10 * 4
    assert loss.nbytes == norm.nbytes == 40
    assert (norm.kind, norm.ordered) == ("callback", True)
    assert logits.plain > loss.plain > loss.captured > 0
    assert report.all.nbytes == sum(site.nbytes for site in report)
    assert report.all.kernels >= max(site.kernels for site in report)
    assert not any(site.is_alone for site in report), "each keeps the program from the cache"
    assert report.all.is_alone != versions.CACHES_HOST_CALLBACKS
    assert report.is_cacheable == versions.CACHES_HOST_CALLBACKS


RUN_TIME_TELLS = {
    "while_body", "while_cond", "vmap_while", "cond", "cond_not_taken", "switch",
}  # fmt: skip
"""Where the program's text does not say how often a print fires."""


@pytest.mark.behaviour("P10")
def test_every_firing_is_counted_and_the_program_without_them_computes_the_same(transform, same_bits):
    if transform.name == "aot":
        pytest.skip("what has been compiled cannot be traced again")

    def body(x):
        jax.debug.print("x {}", x, ordered=transform.devices == 1)
        return jnp.sin(x)

    program = Variations(transform.wrap(body), (), {})
    bare = program.without(set(range(len(program.equations))))
    assert not bare.called
    assert bare.is_cacheable
    given, wanted = bare.run(), transform.wrap(jnp.sin)()
    if PLATFORM == "cpu":
        assert same_bits(given, wanted)
    else:  # There an unjitted sine differs in a bit from one that is fused into a kernel.
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-6), given, wanted)
    report = jdw.cost(transform.wrap(body), timeout=1e-9)
    assert {site.per == "a call" for site in report} <= {transform.name not in RUN_TIME_TELLS}
    if transform.name not in RUN_TIME_TELLS:
        assert sum(site.firings for site in report) == transform.firings


@pytest.mark.behaviour("P10")
def test_a_report_says_correctly_whether_jax_caches_the_program(tmp_path):
    def f(x):
        jax.debug.print("x {}", x)
        return jnp.cos(x) @ x

    settings = {"jax_compilation_cache_dir": str(tmp_path), "jax_persistent_cache_min_compile_time_secs": 0.0}
    before = {name: getattr(jax.config, name) for name in settings}
    try:
        for name, value in settings.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
        program = Variations(f, (jnp.ones((8, 8)),), {})
        for dropped in (set(), {0}):
            written = set(tmp_path.iterdir())
            executable = program.without(dropped)
            taken = bool(dropped) or versions.CACHES_HOST_CALLBACKS
            assert executable.is_cacheable == bool(set(tmp_path.iterdir()) - written) == taken
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


def several(x):
    jax.debug.print("same {}", x)
    jax.debug.print("lanes {}", x[0]), jax.vmap(lambda v: jax.debug.print("lane {}", v))(x)
    y = jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    jax.pure_callback(must_not_run, jax.ShapeDtypeStruct((), x.dtype), x)
    io_callback(must_not_run, None, y)
    jax.debug.inspect_array_sharding(y, callback=lambda _: None)
    say = lambda: (jax.debug.print("high {}", y[0]), 1)[1]  # noqa: E731
    z = lax.cond(y.sum() > 0, say, lambda: 0)
    return lax.while_loop(lambda i: i < 3, lambda i: (jax.debug.print("i {}", i), i + 1)[1], z)


@pytest.fixture(scope="module")
def cost_of_several():
    """Return the cost of a program with several calls, which is compiled once without each of them."""
    return jdw.cost(several, jnp.ones(32))


@pytest.mark.behaviour("P10")
def test_each_kind_of_call_has_its_row_in_the_cost_report(cost_of_several):
    report = cost_of_several
    rows = [(site.function, site.kind, site.firings, site.per, site.removable) for site in report]
    assert rows == [
        ("same {}", "print", 1, "a call", True),
        ("lanes {}", "print", 1, "a call", True),
        ("lane {}", "print", 32, "a call", True),
        ("sin", "pure", 1, "a call", False),
        ("must_not_run", "pure", 0, "a call", False),
        ("must_not_run", "io", 1, "a call", True),
        ("several.<lambda>", "sharding", 0, "a call", False),
        ("high {}", "print", 1, "where its branch is taken", True),
        ("i {}", "print", 1, "an iteration of its while", True),
    ]
    found = {site.function: site for site in report}
    unused = next(site for site in report if site.kind == "pure" and site.function == "must_not_run")
    assert "XLA removes it" in unused.sentence
    assert "called once, when the program is compiled" in found["several.<lambda>"].sentence
    assert "it cannot be measured without it" in found["sin"].sentence
    refused = "because of it and the others" in found["same {}"].sentence
    assert refused != versions.CACHES_HOST_CALLBACKS
    lanes = found["lane {}"]
    assert lanes.captured < lanes.plain / 32, "a capture has one firing for all lanes"


@pytest.mark.behaviour("P10")
def test_cost_with_run_measures_both_programs_and_leaves_the_arguments(capfd):
    called = []

    def f(x):
        jax.debug.print("x {}", x)
        jax.debug.callback(lambda v: called.append(float(v)), x.sum())
        return x + 1

    x = jnp.ones(8)
    report = jdw.cost(jax.jit(f, donate_argnums=0), x, run=True)
    assert report.with_all > report.without_all > 0
    assert set(called) == {8.0}
    assert float(x.sum()) == 8.0, "what the program may take over is a copy"
    assert "a run, " in repr(report)
    together = in_time(max(report.with_all - report.without_all, 0.0))
    assert f"is their sum: together, as JAX does it, they take {together} of the " in repr(report)
    assert capfd.readouterr().out == ""


def test_after_the_timeout_single_calls_are_not_compiled_and_it_says_so():
    report = jdw.cost(several, jnp.ones(32), timeout=1e-9)
    assert not any(site.compiled for site in report)
    assert report.all.compiled
    assert "because the time was up (--timeout S)" in report[0].sentence


@pytest.mark.behaviour("P10")
def test_the_cost_report_is_a_table_in_text_html_and_pandas(cost_of_several):
    report = cost_of_several
    text = repr(report)
    assert text.splitlines()[0].startswith(f"several: {len(report)} calls to the host; ")
    assert "nothing has run" in text
    assert f"sum {in_time(report.all.plain)}  " in text and "`--run` (`run=True`) measures" in text
    assert all(sentence in text for sentence in report.sentences)
    assert report._repr_html_().count("<tr>") == len(report) + 2, "headers, a row a call, one for all"
    frame = report.to_pandas()
    assert frame["nbytes"].sum() == report.all.nbytes
    assert frame["plain"].dtype == np.float64
    assert repr(jdw.cost(jnp.sin, 1.0)) == "sin: calls nothing on the host, so there is no cost"
    html = jdw.cost(lambda x: jax.debug.print("<script>{}", x), 1.0)._repr_html_()
    assert "<script>" not in html


def test_a_capture_around_it_sees_nothing_of_it():
    with jdw.capture() as run:
        report = jdw.cost(in_the_middle, jnp.ones(1024), run=True)
    assert len(run.events) == len(run.calls) == 0
    assert run.notes == []
    assert len(report[0].broken) == 1


def test_static_arguments_and_keywords_go_through():
    def f(x, count, *, scale):
        jax.debug.print("{}", x * scale)
        return x * count

    assert jdw.cost(jax.jit(f, static_argnames="count"), 1.0, count=3, scale=2.0)[0].nbytes == 4


def test_an_event_is_measured_without_the_users_function_and_every_one_of_them():
    for prints in (True, False):
        scalar, large = (event_cost(prints, (shape,), (FLOAT32,)) for shape in ((), (1 << 16,)))
        assert all(0 < seconds < 1e-2 for seconds in (scalar.plain, scalar.captured, large.plain, large.captured))
    assert event_cost(True, ((),), (FLOAT32,)).captured < event_cost(True, ((),), (FLOAT32,)).plain / 2
    assert event_cost(True, (), ()).plain > 0
    key = np.dtype(np.uint32)
    assert event_cost(True, ((2,), ()), (key, np.dtype(bool))).plain > 0


def test_the_magic_gives_the_report_and_refuses_what_is_no_call():
    names = {"f": in_the_middle, "x": jnp.ones(64)}
    assert cost_of(current_session(), "f(x)", names).with_all is None
    assert cost_of(current_session(), "--run --timeout 5 f(x)", names).with_all > 0
    with pytest.raises(UsageError, match="`cost` takes a call"):
        cost_of(current_session(), "f", names)
    with pytest.raises(UsageError, match="did you mean --run"):
        cost_of(current_session(), "--rum f(x)", names)


def test_cost_is_refused_with_a_reason_if_jax_lacks_a_name(monkeypatch):
    monkeypatch.setattr(features, "missing", lambda: {features.COST: "jax 9 has no _params, so it is off."})
    with pytest.raises(NotImplementedError, match="jax 9 has no _params"):
        jdw.cost(jnp.sin, 1.0)


def test_kernels_are_read_off_the_text():
    text = """HloModule m
%region (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

%fused (p: f32[8]) -> (f32[8], f32[8]) {
  %p = f32[8]{0} parameter(0)
  %s = f32[8]{0} sine(%p), metadata={op_name="jit(f)/sin"}
  %c = f32[8]{0} cosine(%s), metadata={op_name="jit(f)/cos"}
  %n = f32[8]{0} negate(%c), metadata={op_name="jit(f)/neg"}
  ROOT %t = (f32[8]{0}, f32[8]{0}) tuple(%s, %n)
}

ENTRY %main (x: f32[8]) -> f32[] {
  %x = f32[8]{0} parameter(0)
  %f = (f32[8]{0}, f32[8]{0}) fusion(%x), kind=kLoop, calls=%fused
  %g = f32[8]{0} get-tuple-element(%f), index=0
  %r = f32[16]{0} all-gather-start(%g), dimensions={0}
  %d = f32[16]{0} all-gather-done(%r)
  %h = () custom-call(%d), custom_call_target="xla_ffi_python_cpu_callback"
  ROOT %z = f32[] reduce(%d, %x), to_apply=%region
}
"""
    found = kernels_of(text)
    assert (found.count, found.fusions, found.collectives) == (3, 1, {"all-gather": 1})
    assert [value[0] for value in found.inside] == ["cosine"]
    assert {value[0] for value in found.written} == {"sine", "negate", "all-gather-start", "reduce"}


def test_figures_are_written_for_people():
    assert [in_bytes(n) for n in (0, 4, 4096, 32768, 5.2e7, 3e9)] == [
        "0 B",
        "4 B",
        "4.1 kB",
        "32.8 kB",
        "52 MB",
        "3 GB",
    ]
    assert [in_time(s) for s in (1.7e-6, 46e-6, 3.14e-3, 0.2, 2.5)] == ["1.7 µs", "46 µs", "3.1 ms", "0.20 s", "2.50 s"]
