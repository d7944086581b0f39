"""Test `--every N`: the watched iterations of a loop, its unchanged results, and its division into an outer loop."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.running.sampled_calls import SampledCalls
from jax_debug_widgets.session import current_session
from tests.tapped import tapped

EVERY = 3
X = np.linspace(0, 1, 4, dtype=np.float32)


def advance(c, t):
    y = jnp.tanh(c * 1.1 + jnp.float32(t))
    return y


def scan(x, *, reverse=False, unroll=1):
    """Run a scan with constants, carry, inputs and results in trees."""
    times = {"t": jnp.arange(10.0), "u": jnp.arange(20.0).reshape(10, 2)}

    def step(carry, at):
        c, count = carry
        y = advance(c, at["t"] + at["u"].sum() + x[0])
        return (y, count + 1), (y.sum(), {"count": count})

    return lax.scan(step, (x, 0), times, reverse=reverse, unroll=unroll)


def scan_of_keys(x):
    def step(c, key):
        y = advance(c, jax.random.normal(key, c.shape))
        return y, jax.random.fold_in(key, 1)

    c, keys = lax.scan(step, x, jax.random.split(jax.random.key(0), 10))
    return c, jax.random.key_data(keys)


def printing_scan(x):
    def step(c, t):
        y = advance(c, t)
        jax.debug.print("{}", t)
        return y, None

    return lax.scan(step, x, jnp.arange(10.0))


def without_carry(x):
    return lax.map(lambda t: advance(x, t), jnp.arange(10.0))


def while_loop(x):
    limit = x.size + 6

    def body(state):
        i, c = state
        y = advance(c, i)
        return i + 1, y

    return lax.while_loop(lambda state: state[0] < limit, body, (0, x))


def vmapped_while(x):
    def one(start):
        return lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, advance(c[1], start)), (0, start))

    return jax.vmap(one)(x)


def lanes_that_end(x):
    """Run as many iterations as the last lane needs: the condition is by lane."""

    def one(lane):
        return lax.while_loop(lambda c: c[0] < 7 + lane, lambda c: (c[0] + 1, advance(c[1], lane)), (0.0, lane))

    return jax.vmap(one)(jnp.arange(4.0) + x[0])


def printing_lanes(x):
    """Every iteration is watched, because a switch would need the number of the iteration in each lane."""
    return jax.vmap(lambda lane: lax.while_loop(lambda c: c < lane, printed, lane * 0))(jnp.arange(4.0) + x[0])


def printed(c):
    y = c + 1
    jax.debug.print("{}", c)
    return y


def nested(x):
    def outer(c, t):
        c = lax.fori_loop(0, 2, lambda i, c: advance(c, i), c)
        return c, t

    return lax.scan(outer, x, jnp.arange(10))


def gradient(x):
    def loss(x):
        return scan(x)[0][0].sum()

    return jax.grad(loss)(x)


TURNS = {
    "scan": scan,
    "reversed": lambda x: scan(x, reverse=True),
    "no carry": without_carry,
    "while": while_loop,
    "vmapped while": vmapped_while,
    "lanes that end": lanes_that_end,
    "nested": nested,
    "gradient": gradient,
}
SWITCHES = {
    "unrolled": lambda x: scan(x, unroll=2),
    "keys": scan_of_keys,
    "prints": printing_scan,
}


def statistics_of(event):
    return {name: float(array) for name, array in event.kwargs.items()}


@pytest.mark.parametrize("name", [*TURNS, *SWITCHES])
def test_a_sampled_loop_gives_the_same_and_every_nth_of_its_values(name, same_bits):
    program = jax.jit((TURNS | SWITCHES)[name])
    plain = program(X)
    with jdw.capture(watch="y") as full:
        program(X)
    with jdw.capture(watch="y", every=EVERY) as run:
        result = program(X)
        text = tapped(program.lower(X)).as_text()
    assert same_bits(result, plain)
    # Under `vmap` a branch searches for the lane of the first NaN.
    if jax.default_backend() == "cpu":  # A GPU's kernels look at the condition by themselves.
        assert ("stablehlo.case" in text) == (name in SWITCHES or name in ("vmapped while", "lanes that end"))
    kept = [event for event in full.events if event.site.watch and event.step[0] % EVERY == 0]
    sampled = [event for event in run.events if event.site.watch]
    assert len({event.step[0] for event in sampled}) == 4
    for theirs, ours in zip(kept, sampled, strict=True):
        assert (theirs.step, theirs.site.watch.name, theirs.phase) == (ours.step, ours.site.watch.name, ours.phase)
        assert statistics_of(ours) == pytest.approx(statistics_of(theirs), rel=1e-5, abs=1e-3)


def test_a_print_in_a_sampled_loop_is_called_from_where_it_is_without():
    with jdw.capture(watch="y") as full:
        jax.jit(printing_scan)(X)
    with jdw.capture(watch="y", every=EVERY) as run:
        jax.jit(printing_scan)(X)
    callers = [{site.callers for site in one.sites if not site.watch} for one in (full, run)]
    assert callers[0] == callers[1] and len(callers[0]) == 1


def test_a_loop_that_never_runs():
    program = jax.jit(lambda x, n: lax.fori_loop(0, n, lambda i, c: advance(c, i), x))
    with jdw.capture(watch="y", every=EVERY) as run:
        assert np.array_equal(program(X, 0), X)
        program(X, 1)
    assert len([event for event in run.events if event.site.watch]) == 1


def test_lanes_that_print_are_watched_in_each_iteration(same_bits):
    program = jax.jit(printing_lanes)
    plain = program(X)
    with jdw.capture(watch="y", every=EVERY) as run:
        assert same_bits(program(X), plain)
    assert [event.step for event in run.events if event.site.watch] == [(0,), (1,), (2,)]


def test_one_of_the_watched_values_is_muted_or_sampled_while_the_others_go_on(watched):
    @jax.jit
    def program(x):
        def step(x, _):
            h = jnp.sin(x)
            g = jnp.cos(h)
            return g, None

        return lax.scan(step, x, None, length=6)[0]

    def steps():
        run = watched(program, X, watch=["h", "g"])
        sites = {site.watch.name: site.id for site in run.sites}
        return (
            run,
            sites,
            [[event.step for event in run.events if event.site.watch.name == name] for name in ("h", "g")],
        )

    every_step = [(i,) for i in range(6)]
    _, sites, seen = steps()
    assert seen == [every_step, every_step]
    switches = current_session().switches
    try:
        switches.mute(sites["h"], muted=True)
        assert steps()[2] == [[], every_step]
        switches.mute(sites["h"], muted=False)
        switches.sample(sites["g"], 3)
        _, _, (h, g) = steps()
        assert (h, len(g)) == (every_step, 2)
    finally:
        switches.mute(sites["h"], muted=False)
        switches.sample(sites["g"], None)
    assert steps()[2] == [every_step, every_step]


def test_every_nth_call_of_a_function_is_watched_with_its_own_number():
    @jax.jit
    def program(x):
        h = jnp.sin(x)
        return h * 2

    for _ in range(2):  # In the second capture it is compiled; the calls before are no multiple of `every`.
        with jdw.capture(watch="h", every=3) as run:
            for _ in range(5):
                program(X)
        assert [(event.call, event.occurrence) for event in run.events] == [(0, 0), (3, 3)]


def nested(x):
    def outer(c, t):
        c, _ = lax.scan(lambda c, u: (advance(c, t + u), None), c, jnp.arange(4.0))
        return c, None

    return lax.scan(outer, x, jnp.arange(5.0))[0]


def counting(x):
    return lax.while_loop(lambda c: c[0] < 8, lambda c: (c[0] + 1, advance(c[1], c[0])), (0, x))[1]


@pytest.mark.parametrize(
    ("program", "every", "steps"),
    [
        (lambda x: scan(x)[0], EVERY, [0, 3, 6, 9, 10, 13, 16, 19]),
        (lambda x: scan(x)[0], 4, [0, 4, 8, 10, 14, 18]),
        (lambda x: scan(x, reverse=True)[0], 4, [0, 4, 8, 10, 14, 18]),
        (counting, 4, [0, 4, 5, 9]),
        (nested, 2, [base + i + j / 4 for base in (0, 5) for i in (0, 2, 4) for j in range(4)]),
    ],
    ids=["a scan", "with a rest", "reversed", "while", "nested"],
)
def test_rows_of_a_sampled_value_have_the_steps_of_their_loop(program, every, steps):
    compiled = jax.jit(program)
    with jdw.capture(watch="y", every=every) as run:
        compiled(X)
        compiled(X)
    assert run["y"].steps.tolist() == steps
    assert list(run["y"].to_pandas().index) == steps
    np.testing.assert_array_equal(np.unique(run.plot("y.mean").lines[0].get_xdata()), np.unique(steps))


def test_rows_of_several_calls_outside_loops_are_counted():
    program = jax.jit(lambda x: advance(x, 1.0))
    with jdw.capture(watch="y", every=EVERY) as run:
        for _ in range(7):
            program(X)
    assert run["y"].steps.tolist() == [0, 3, 6]


@jax.jit
def telling_call(w, i):
    g = w * 2
    jax.debug.print("i={i}", i=i)
    jax.debug.callback(lambda *_: None, i + 10)
    return w - 0.1 * g


@jax.jit
def telling_scan(w):
    return lax.scan(lambda w, i: (telling_call(w, i), None), w, jnp.arange(7))[0]


def calls_in_python(w):
    for i in range(7):
        w = telling_call(w, i)
    return w


@pytest.mark.parametrize("echo", [False, True])
@pytest.mark.parametrize("program", [calls_in_python, telling_scan])
def test_prints_beside_sampled_values_are_one_site_and_recorded_as_without_the_watch(program, echo):
    """The watched and the plain version of the program fire alternately."""
    told = {}
    for watch in (None, "g"):
        with jdw.capture(every=EVERY, watch=watch, echo=echo) as run:
            program(X)
        told[watch] = [[column.tolist() for column in run.series(name)] for name in ("i", "i + 10")]
        assert run.findings == []
    assert told["g"] == told[None] == [[[0, 3, 6], [0, 3, 6]], [[0, 3, 6], [10, 13, 16]]]
    np.testing.assert_array_equal(run["g"].steps, [0, 3, 6])


# ---------------------------------------------------------------- calls that are not watched


@pytest.fixture
def executed(monkeypatch):
    """The text of each program without a loop that a call runs, in the order of calls."""
    texts = []
    call = SampledCalls._call

    def noted(self, theirs, *args, jaxpr, **params: Any):
        ran = call(self, theirs, *args, jaxpr=jaxpr, **params)
        texts.append(ran[1].as_text() if hasattr(ran[1], "as_text") else "")
        return ran

    monkeypatch.setattr(SampledCalls, "_call", noted)
    return texts


def test_calls_that_are_not_watched_run_the_plain_program(executed):
    @jax.jit
    def program(x):
        h = jnp.sin(x)
        return h * 2

    plain = program.lower(X).compile().as_text()
    with jdw.capture(watch="h", every=3) as run:
        for _ in range(7):
            program(X)
    jax.effects_barrier()
    operations = [set(re.findall(r"\b(sine|custom-call|conditional)\b", text)) for text in executed]
    of_plain = set(re.findall(r"\b(sine|custom-call|conditional)\b", plain))
    assert [one == of_plain for one in operations] == [False, True, True, False, True, True, False]
    assert not any("conditional" in one for one in operations)
    assert [call.events for call in run.calls] == [1, 0, 0, 1, 0, 0, 1]


def test_each_call_of_a_sampled_function_is_a_call_of_the_run():
    @jax.jit
    def program(x):
        h = jnp.sin(x)
        return h * 2

    with jdw.capture(watch="h", every=2) as run:
        for _ in range(5):
            program(X)
    jax.effects_barrier()
    assert [call.state for call in run.calls] == ["drained"] * 5
    assert [call.name for call in run.calls] == ["program"] * 5


@pytest.mark.parametrize("keep_inputs", [0, 2])
def test_a_sampled_program_whose_prints_are_results_gives_the_users_results(keep_inputs):
    """The plain program hands its prints over as further results in each call that is not watched."""

    @jax.jit
    def program(x):
        h = jnp.sin(x)
        jax.debug.print("{}", h[1])
        return h * 2

    plain = program(X)
    with jdw.capture(watch="h", every=2, keep_inputs=keep_inputs) as run:
        for _ in range(7):
            np.testing.assert_array_equal(program(X), plain)
    np.testing.assert_array_equal(run["h"].steps, [0, 2, 4, 6])


def test_captures_after_a_sampled_one_are_as_ever():
    @jax.jit
    def program(x):
        h = jnp.sin(x)
        return h * 2

    with jdw.capture(watch="h", every=2):
        program(X)
        program(X)
    with jdw.capture() as unwatched:
        program(X)
        program(X)
    assert list(unwatched.calls) == []
    with jdw.capture(watch="h") as run:
        program(X)
        program(X)
    assert run["h"].steps.tolist() == [0, 1]


def test_a_function_in_which_nothing_is_watched_is_dispatched_as_ever(executed):
    silent = jax.jit(lambda x: x + 1)
    with jdw.capture(watch="h", every=3):
        for _ in range(5):
            silent(X)
    assert len(executed) <= 2, "from then on JAX's C++ dispatches it"


def test_an_error_of_a_call_that_is_not_watched_is_that_of_its_program():
    @jax.jit
    def program(x):
        h = jnp.sin(x)
        jax.debug.callback(refuse, h[0])
        return h * 2

    def refuse(value):
        if value > 0.5:
            raise ValueError("too large")

    with jdw.capture(watch="h", every=3) as run:
        program(jnp.zeros(3))
        with pytest.raises(Exception, match="too large"):
            jax.block_until_ready(program(jnp.ones(3)))
    assert [call.state for call in run.calls] == ["drained", "failed"]


def test_donated_arguments_are_taken_in_each_call():
    @partial(jax.jit, donate_argnums=0)
    def program(x):
        h = jnp.sin(x)
        return h + 1

    with jdw.capture(watch="h", every=2) as run:
        x = jnp.zeros(4)
        for _ in range(5):
            before, x = x, program(x)
            assert before.is_deleted()
    expected, state = [], np.zeros(4, np.float32)
    for _ in range(5):
        expected.append(np.sin(state).max())
        state = np.sin(state) + 1
    np.testing.assert_allclose(run["h"]["max"], expected[::2], rtol=1e-6)
    np.testing.assert_allclose(x, state, rtol=1e-6)


def test_gradients_of_each_nth_call_are_watched():
    @jax.jit
    def step(w):
        def loss(w):
            h = jnp.tanh(w)
            return (h * h).sum()

        return w - 0.1 * jax.grad(loss)(w)

    with jdw.capture(watch=True, every=2) as run:
        w = X
        for _ in range(4):
            w = step(w)
    assert run["grad/h"].steps.tolist() == [0, 2]
    assert run["h"].steps.tolist() == [0, 2]


def test_what_a_callback_calls_in_a_call_that_is_not_watched_is_no_call_of_the_run():
    @jax.jit
    def doubled(x):
        return x * 2

    @jax.jit
    def program(x):
        h = jnp.sin(x)
        jax.debug.callback(lambda value: doubled(np.asarray(value)), h[0])
        return h * 2

    with jdw.capture(watch="h", every=3) as run:
        for _ in range(3):
            program(X)
    jax.effects_barrier()
    assert [call.name for call in run.calls] == ["program"] * 3
