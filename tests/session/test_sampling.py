"""Test `every` (the sampling of firings, on the device or at run time for a site) and `debug=False`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer
from tests.tapped import tapped

STEPS = 25


def loop(x, *, ordered=False):
    def body(_, x):
        jax.debug.print("x {x}", x=x, ordered=ordered)
        return x + 1

    return lax.fori_loop(0, STEPS, body, x)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_sampled_loop_calls_the_host_only_in_every_nth_iteration(ordered, monkeypatch):
    from jax_debug_widgets.taps import capture

    called = []
    make = capture.recorder

    def counting(tap, *args: Any, **kwargs: Any):
        made = make(tap, *args, **kwargs)

        def record(*arrays: Any):
            called.append(1)
            return made(*arrays)

        record.tap = tap
        return record

    monkeypatch.setattr(capture, "recorder", counting)
    with jdw.capture(every=10) as run:
        program = jax.jit(loop, static_argnames="ordered")
        results = [program(0.0, ordered=ordered) for _ in range(2)]
    assert results == [STEPS, STEPS]
    assert [(event.step, event.text) for event in run.events] == [((i,), f"x {i:.1f}") for i in (0, 10, 20)] * 2
    assert [event.occurrence for event in run.events] == [0, 10, 20, STEPS, STEPS + 10, STEPS + 20]
    assert len(called) == 6, "the others did not fire"
    assert run.findings == []


def test_nested_loops_count_on():
    def program(x):
        return lax.scan(lambda x, _: (lax.fori_loop(0, 4, lambda _, x: body(x), x), None), x, None, length=3)[0]

    def body(x):
        jax.debug.print("{x}", x=x)
        return x + 1

    with jdw.capture(every=5) as run:
        jax.jit(program)(0)
    assert [(event.step, event.text) for event in run.events] == [((0, 0), "0"), ((1, 1), "5"), ((2, 2), "10")]
    assert [event.occurrence for event in run.events] == [0, 5, 10]


def test_outside_loops_the_host_drops_the_other_firings():
    step = jax.jit(lambda x: jax.debug.print("x {x}", x=x))
    for _ in range(2):
        with jdw.capture(every=4) as run:
            for i in range(10):
                step(i)
        assert [(int(event.values[0]), event.occurrence) for event in run.events] == [(0, 0), (4, 4), (8, 8)]
        assert run.findings == []


def test_a_sampled_firing_under_vmap_has_all_its_lanes():
    with jdw.capture(every=10) as run:
        jax.jit(jax.vmap(loop))(jnp.zeros(3))
    assert [(event.lane, event.step) for event in run.events] == [((j,), (i,)) for i in (0, 10, 20) for j in range(3)]


def test_users_callbacks_are_called_each_time_and_echo_writes_all(capfd):
    calls = []

    def program(x):
        def body(i, x):
            jax.debug.callback(calls.append, i, ordered=True)
            jax.debug.print("x {x}", x=x, ordered=True)
            return x + io_callback(lambda _: np.float32(1), x, x, ordered=True)

        return lax.fori_loop(0, STEPS, body, x)

    with jdw.capture(every=10, echo=True) as run:
        assert jax.jit(program)(np.float32(0)) == STEPS
    assert len(calls) == STEPS
    assert capfd.readouterr().out.count("x ") == STEPS
    steps = {kind: [event.step for event in run.events if event.kind == kind] for kind in ("callback", "print", "io")}
    assert all(found == [(0,), (10,), (20,)] for found in steps.values()), "counted, though not all came"
    assert run.findings == []


@pytest.mark.behaviour("C6")
def test_every_call_of_a_users_callback_is_reported_with_what_it_raised():
    def host(i):
        if i == STEPS - 1:  # This firing is not recorded.
            msg = "the last"
            raise ValueError(msg)

    def body(i, x):
        jax.debug.callback(host, i)
        return x + i

    with pytest.raises(Exception, match="the last"), jdw.capture(every=10) as run:  # noqa: PT012
        jax.jit(lambda x: lax.fori_loop(0, STEPS, body, x))(0)
        jax.effects_barrier()
    (summary,) = run.callbacks
    assert (summary.calls, summary.returned, summary.raised) == (STEPS, STEPS - 1, 1)
    assert any("raised ValueError: the last" in note for note in run.status().notes)
    assert [int(event.args[0]) for event in run.events] == [0, 10, 20]
    assert [run.callbacks.call_of(event).number for event in run.events] == [0, 10, 20]


def test_sampling_changes_no_bit_of_the_results(same_bits):
    def program(x):
        return jax.value_and_grad(lambda x: jnp.sin(loop(x * 1.1)))(x)

    x = np.float32(0.7)
    plain = jax.jit(program)(x)
    with jdw.capture(every=7):
        assert same_bits(plain, jax.jit(program)(x))


def test_a_site_can_be_sampled_at_run_time_without_recompiling():
    step = jax.jit(loop)
    with jdw.capture() as run:
        step(0.0)
    site = run.sites[0].id
    session = current_session()
    assert len(run.events) == STEPS
    [(message, _), *_] = answer(session, {"type": "every", "run": run.key, "id": 1, "site": site, "n": 5})
    assert message["type"] == "done"
    assert run.status().every == {site: 5}
    try:
        with jdw.capture() as sampled:
            step(0.0)
        assert len(sampled.events) == 5
        assert [event.occurrence for event in sampled.events] == [int(event.values[0]) for event in sampled.events]
        assert {event.step for event in sampled.events} == {()}, "with gaps, counting tells no step"
        assert sampled.findings == [], "what is not recorded is not lost"
        assert not any(call.compile for call in sampled.calls)
    finally:
        session.switches.sample(site, None)
    with jdw.capture() as again:
        step(0.0)
    assert [event.step for event in again.events] == [(i,) for i in range(STEPS)]
    with pytest.raises(ValueError, match="at least 1"):
        session.switches.sample(site, 0)


def test_a_site_that_is_recorded_each_time_again_has_its_steps():
    step = jax.jit(loop)
    with jdw.capture() as run:
        step(0.0)
    site, switches = run.sites[0].id, current_session().switches
    switches.sample(site, 5)
    try:
        with jdw.capture() as switched:
            step(0.0)
            switched.barrier()
            switches.sample(site, 1)  # `%jaxdebug every 1 SITE`
            step(0.0)
        with jdw.capture() as later:
            step(0.0)
        with jdw.capture(every=5) as sparse:
            jax.jit(jax.vmap(loop))(jnp.zeros(2))
    finally:
        switches.sample(site, None)
    steps = [(i,) for i in range(STEPS)]
    assert [event.step for event in switched.events] == [()] * 5 + steps
    assert [event.step for event in later.events] == steps
    assert {event.step for event in sparse.events} == set(steps[::5])


def test_a_site_muted_for_part_of_a_run_reports_no_wrong_step():
    step = jax.jit(loop)
    with jdw.capture() as run:
        step(0.0)
        run.barrier()
        site = run.sites[0].id
        current_session().switches.mute(site, muted=True)
        step(1.0)
        run.barrier()
        current_session().switches.mute(site, muted=False)
        step(2.0)
    assert [event.step for event in run.events] == [(i,) for i in range(STEPS)] * 2
    assert run.findings == []


def test_every_must_be_positive():
    with pytest.raises(ValueError, match="every must be"):
        jdw.capture(every=0)


def test_debug_off_removes_jax_debug_from_the_program(capfd, same_bits):
    called = []

    def program(x):
        jax.debug.print("x {x}", x=x)
        jax.debug.callback(called.append, x, ordered=True)
        jax.debug.breakpoint()
        x = jax.debug.breakpoint(token=x)
        jax.debug.inspect_array_sharding(x, callback=called.append)
        y = jax.pure_callback(lambda x: np.asarray(x) * 2, x, x)
        return loop(io_callback(lambda y: np.asarray(y) + 1, y, y))

    with jdw.capture(debug=False) as run:
        compiled = tapped(jax.jit(jax.vmap(loop)).lower(jnp.zeros(3))).compile().as_text()
        result = jax.jit(program)(np.float32(1))
        eager = program(np.float32(1))
    assert result == eager == 3 + STEPS
    assert "custom-call" not in compiled
    assert called == []
    assert {event.kind for event in run.events} == {"pure", "io"}
    assert capfd.readouterr().out == ""
    assert same_bits(jax.jit(loop)(0.0), result - 3)


def test_the_programs_own_debugging_comes_back(capfd):
    step = jax.jit(lambda x: jax.debug.print("x {x}", x=x))
    with jdw.capture(debug=False):
        step(1)
    step(2)
    jax.effects_barrier()
    assert capfd.readouterr().out == "x 2\n"


def test_debug_off_silences_programs_that_were_traced_before(capfd, same_bits):
    def body(x, i):
        jax.debug.print("x {x}", x=x, ordered=True)
        jax.debug.callback(print, x)
        return jnp.sin(x) + i, None

    def program(x):
        return lax.scan(jax.checkpoint(body), x, jnp.arange(2.0))[0]

    traced = jax.jit(program).trace(1.0)
    plain, pull_back = jax.vjp(program, 1.0)
    gradient = pull_back(1.0)
    with jdw.capture():
        _, of_a_capture = jax.vjp(jax.vmap(jax.checkpoint(lambda x: body(x, 0.0)[0])), jnp.ones(2))
    jax.effects_barrier()
    capfd.readouterr()
    with jdw.capture(debug=False) as run:
        assert same_bits(plain, traced.lower().compile()(1.0))
        assert same_bits(gradient, pull_back(1.0))
        assert same_bits(gradient, jax.jit(pull_back)(1.0))
        of_a_capture(jnp.ones(2))
        jax.effects_barrier()
    assert (len(run.events), run.status().notes, capfd.readouterr().out) == (0, (), "")


def test_a_muted_site_is_listed_and_named_in_the_runs_that_it_is_silent_in():
    step = jax.jit(loop)
    with jdw.capture() as run:
        step(0.0)
    session, site = current_session(), run.sites[0]
    session.switches.mute(site.id, muted=True)
    try:
        with jdw.capture() as silent:
            step(0.0)
        assert len(silent.events) == 0
        assert silent.status().notes == (f"{site.where} (x) is muted: `%jaxdebug unmute {site.id}` records it again.",)
    finally:
        session.switches.mute(site.id, muted=False)
    assert silent.status().notes == ()


def test_a_site_that_has_not_fired_yet_can_be_muted():
    def say(x):
        jax.debug.print("positive {x}", x=x)
        return x

    step = jax.jit(lambda x: lax.cond(x > 0, say, lambda x: x, x))
    with jdw.capture() as run:
        step(-1.0)
        [site] = [site for site in current_session().switches.sites() if site.format == "positive {x}"]
        current_session().switches.mute(site.id, muted=True)
        step(1.0)
        current_session().switches.mute(site.id, muted=False)
        step(2.0)
    assert [event.text for event in run.events] == ["positive 2.0"]


@pytest.mark.parametrize("is_jitted", [True, False])
def test_a_muted_print_is_not_echoed(is_jitted, capfd):
    def say(x):
        jax.debug.print("aloud {x}", x=x)

    step = jax.jit(say) if is_jitted else say
    with jdw.capture(echo=True) as run:
        for number, muted in enumerate((False, True, False)):
            for site in run.sites:
                current_session().switches.mute(site.id, muted=muted)
            step(number)
            jax.effects_barrier()
    assert capfd.readouterr().out == "aloud 0\naloud 2\n"
    assert [event.text for event in run.events] == ["aloud 0", "aloud 2"]
