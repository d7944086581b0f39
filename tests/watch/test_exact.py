"""Test `exact=True`: the program gives its own results, and a watched twin beside it the values."""

from __future__ import annotations

import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from IPython.core.error import UsageError
from jax import lax
from jax.experimental import io_callback

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.running import twins
from jax_debug_widgets.magics.options import parse
from tests.benchmarks import watch as benchmark

X = np.linspace(-1, 1, 6, dtype=np.float32)


def layer(x):
    h = jnp.tanh(x * 3)
    total = (h**2).sum()
    return total


def scanned(x):
    def body(carry, one):
        h = jnp.tanh(carry + one)
        return h, h

    return lax.scan(body, jnp.zeros((), x.dtype), x)


PROGRAMS = {
    "jit": layer,
    "grad": jax.value_and_grad(layer),
    "vmap": jax.vmap(lambda x: layer(x[None])),
    "scan": scanned,
    "grad of scan": jax.grad(lambda x: scanned(x)[0]),
    "checkpoint": jax.grad(jax.checkpoint(layer)),
}


@pytest.mark.behaviour("A3")
@pytest.mark.parametrize("name", PROGRAMS)
def test_exact_gives_plain_results_and_the_values_of_a_watched_run(name, same_bits):
    program = jax.jit(PROGRAMS[name])
    plain = program(X)
    with jdw.capture(watch="h") as watched:
        program(X)
    with jdw.capture(watch="h", exact=True) as run:
        results = [program(X) for _ in range(2)]
    jax.effects_barrier()
    assert all(same_bits(one, plain) for one in results)
    wanted, found = ([(event.step, event.text) for event in one.events] for one in (watched, run))
    assert wanted
    assert found == wanted * 2
    assert [call.name.endswith(", watched twin") for call in run.calls] == [True] * 2, "the program says nothing itself"


def test_a_benchmark_whose_last_bits_watching_moves_has_its_own(same_bits):
    keys = jax.random.split(jax.random.key(0), 5)
    params = [jax.random.normal(key, (256, 256)) / 16 for key in keys[:4]]
    x = jax.random.normal(keys[4], (64, 256))
    train = jax.jit(benchmark.trained(benchmark.forward, 20))
    plain = train(params, x, jnp.sin(x))
    with jdw.capture(watch=True, exact=True) as run:
        result = train(params, x, jnp.sin(x))
    assert same_bits(result, plain)
    assert len(run.values) > 2


def test_prints_come_once_and_in_order_and_arguments_may_be_given_away(printed):
    def step(x, y):
        jax.debug.print("x {}", x.sum())
        jax.debug.print("first", ordered=True)
        h = x + y
        jax.debug.print("second {}", h.sum(), ordered=True)
        return h

    program = jax.jit(step, donate_argnums=0)
    with jdw.capture(watch="h", exact=True, echo=True) as run:
        given = jnp.ones(4)
        result, written = printed(lambda: program(given, jnp.ones(4)))
    assert result.tolist() == [2.0] * 4
    assert given.is_deleted()
    assert sorted(written.splitlines()) == ["first", "second 8.0", "x 4.0"]
    assert [event.text for event in run.events if event.ordered] == ["first", "second 8.0"]
    assert run["h"]["max"].tolist() == [2.0]


def test_exact_with_every_runs_the_twin_in_each_nth_call():
    program = jax.jit(layer)
    with jdw.capture(watch="h", exact=True, every=3) as run:
        for number in range(7):
            program(X * number)
    assert run["h"]["max"].tolist() == pytest.approx([0, np.tanh(9), np.tanh(18)])
    assert not [note for note in run.notes if "Nothing to watch" in note]


@pytest.mark.parametrize("what", ["io", "pure", "reference"])
def test_programs_with_effects_run_once_under_exact_with_a_note(what):
    called = []

    def host(x):
        called.append(x)
        return np.asarray(x)

    def step(x):
        h = x * 2
        if what == "io":
            return io_callback(host, h, h)
        if what == "pure":
            return jax.pure_callback(host, h, h)
        reference = jax.array_ref(h) if not hasattr(jax, "new_ref") else jax.new_ref(h)
        total[...] += reference[...]
        return reference[...]

    total = (jax.new_ref if hasattr(jax, "new_ref") else jax.array_ref)(jnp.zeros(6)) if what == "reference" else None
    with jdw.capture(watch="h", exact=True) as run:
        jax.block_until_ready(jax.jit(step)(X))
    assert any("`step` is not watched" in note and "twice" in note for note in run.notes)
    assert len(called) == (what != "reference")
    assert what != "reference" or np.array_equal(total[...], X * 2)


def test_an_error_of_the_twin_reaches_nobody(monkeypatch, same_bits):
    program = jax.jit(layer)
    plain = program(X)

    with jdw.capture(watch="h", exact=True) as run:
        monkeypatch.setattr(twins.jax, "jit", lambda *_args, **_options: 1 / 0)
        result = program(X)
        monkeypatch.undo()
    assert same_bits(result, plain)
    assert any("was not watched in a call: its watched twin raised" in note for note in run.notes)


def test_exact_does_not_repeat_prints_of_tracing(capsys):
    log = io.StringIO()

    @jax.jit
    def step(x):
        h = jnp.sin(x)
        print("traced", h.shape)
        print("traced", file=log)
        return h * 2

    with jdw.capture(watch="h", exact=True) as run:
        step(X)
    assert capsys.readouterr().out.count("traced") == 1 == log.getvalue().count("traced")
    assert len(run["h"]["mean"]) == 1, "the twin has run"


def test_an_error_of_the_program_is_its_own():
    def step(x):
        raise ValueError(f"broken {x.shape}")

    with pytest.raises(ValueError, match="broken"), jdw.capture(watch="h", exact=True):
        jax.jit(step)(X)


def test_exact_does_not_run_lowered_programs_and_notes_unjitted_transformations():
    with jdw.capture(watch="h", exact=True) as run:
        jax.jit(layer).lower(X)
        jax.grad(jax.jit(layer))(X)
    assert not run.events
    assert any("un-jitted transformation" in note for note in run.notes)


def test_exact_has_a_note_about_its_cost_and_refuses_break_on():
    with jdw.capture(watch="h", exact=True) as run:
        assert any("as long as both together" in note for note in run.notes)
    assert "--exact" in str(run.options)
    with pytest.raises(ValueError, match="cannot go together"):
        jdw.capture(watch="h", exact=True, break_on="nonfinite")


@pytest.mark.parametrize("check", ["all", "nonfinite", "oob,keys"])
def test_a_check_that_is_compiled_into_the_program_cannot_go_with_it(check):
    with pytest.raises(ValueError, match=r"compiled into the program itself.*in a capture of its own, without exact"):
        jdw.capture(exact=True, watch="h", check=check)
    with pytest.raises(UsageError, match="cannot go together"):
        parse(f"--exact --watch h --check {check}", echo_by_default=False)


def test_exact_allows_checks_on_the_host():
    with jdw.capture(exact=True, watch="h", check="keys,leaks") as run:
        jax.jit(layer)(X)
    jax.effects_barrier()
    assert [event.site.label for event in run.events] == ["h"]


def test_verify_with_exact_finds_equal_results():
    assert jdw.verify(jax.jit(layer), X, options={"watch": "h", "exact": True}).equal


def test_no_note_names_a_function_of_jaxs():
    key = jax.random.key(0)
    with jdw.capture(watch="h", exact=True) as run:
        jax.random.normal(key, (3,)).mean()
        jax.grad(jax.jit(layer))(X)
    named = [note for note in run.notes if "is not watched" in note]
    assert [note.split()[0] for note in named] == ["`layer`"]
