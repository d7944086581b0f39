"""Test the steps of values and gradients in branches and loops inside a loop.

The program notes its values and their steps itself while it runs unjitted. The expected gradient of a value is that for
a factor of one by which each iteration multiplies the value, divided by the value.
"""

from __future__ import annotations

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import native, versions
from jax_debug_widgets.watch.statistics import statistics
from tests.devices import cpu_mesh

OUTER, INNER = 8, 3
X = jnp.float32(0.5)
_NOTED: list[tuple[tuple[int, ...], float]] = []


def noted(h, *at):
    if not isinstance(h, jax.core.Tracer):
        _NOTED.append((tuple(int(i) for i in at), float(h)))


def over(length, step, c):
    """Return `c` after `step(c, t)` for each iteration `t`."""
    return lax.scan(lambda c, t: (step(c, t), None), c, jnp.arange(length))[0]


def cond(x, ones):
    def step(c, t):
        def taken(c):
            h = jnp.sin(c) * ones[t]
            noted(h, t)
            return h * 1.1

        return lax.cond(t % 3 != 1, taken, lambda c: c * 0.9, c)

    return over(OUTER, step, x)


def switch(x, ones):
    def step(c, t):
        def taken(c):
            h = jnp.sin(c) * ones[t]
            noted(h, t)
            return h * 1.1

        return lax.switch(t % 3, [taken, jnp.cos, lambda c: c * 0.9], c)

    return over(OUTER, step, x)


def fori(x, ones):
    def step(t, c):
        def taken(c):
            h = jnp.sin(c) * ones[t]
            noted(h, t)
            return h * 1.1

        return lax.cond(t % 3 != 1, taken, lambda c: c * 0.9, c)

    return lax.fori_loop(0, OUTER, step, x)


def reverse(x, ones):
    def step(c, t):
        def taken(c):
            h = jnp.sin(c) * ones[t]
            noted(h, t)
            return h * 1.1

        return lax.cond(t % 3 != 1, taken, lambda c: c * 0.9, c), None

    return lax.scan(step, x, jnp.arange(OUTER), reverse=True)[0]


def remat(x, ones):
    @jax.checkpoint
    def step(c, t):
        def taken(c):
            h = jnp.sin(c) * ones[t]
            noted(h, t)
            return h * 1.1

        return lax.cond(t % 3 != 1, taken, lambda c: c * 0.9, c)

    return over(OUTER, step, x)


def loop_in_branch(x, ones):
    def step(c, t):
        def inner(c, u):
            h = jnp.sin(c) * ones[t, u]
            noted(h, t, u)
            return h * 1.1

        return lax.cond(t % 3 != 1, lambda c: over(INNER, inner, c), lambda c: c * 0.9, c)

    return over(OUTER, step, x)


def branch_in_both(x, ones):
    def step(c, t):
        def inner(c, u):
            def taken(c):
                h = jnp.sin(c) * ones[t, u]
                noted(h, t, u)
                return h * 1.1

            return lax.cond((t + u) % 3 != 1, taken, lambda c: c * 0.9, c)

        return over(INNER, inner, c)

    return over(OUTER, step, x)


def branch_loop_branch(x, ones):
    def step(c, t):
        def inner(c, u):
            def taken(c):
                h = jnp.sin(c) * ones[t, u]
                noted(h, t, u)
                return h * 1.1

            return lax.cond(u != 1, taken, lambda c: c * 0.9, c)

        return lax.cond(t % 3 != 1, lambda c: over(INNER, inner, c), lambda c: c * 0.9, c)

    return over(OUTER, step, x)


def while_in_loop(x, ones):
    def step(c, t):
        def inner(state):
            u, c = state
            h = jnp.sin(c) * ones[t, u]
            noted(h, t, u)
            return u + 1, h * 1.1

        return lax.while_loop(lambda state: state[0] < 1 + t % INNER, inner, (0, c))[1]

    return over(OUTER, step, x)


def branch_in_while(x, ones):
    def body(state):
        t, c = state

        def taken(c):
            h = jnp.sin(c) * ones[t]
            noted(h, t)
            return h * 1.1

        return t + 1, lax.cond(t % 3 != 1, taken, lambda c: c * 0.9, c)

    return lax.while_loop(lambda state: state[0] < OUTER, body, (0, x))[1]


DIFFERENTIATED = [cond, switch, fori, reverse, remat, loop_in_branch, branch_in_both, branch_loop_branch]
UNDIFFERENTIATED = [while_in_loop, branch_in_while]
LOOP_IN_LOOP = [loop_in_branch, branch_in_both, branch_loop_branch, while_in_loop]


def ones_of(program):
    return jnp.ones((OUTER, INNER) if program in LOOP_IN_LOOP else OUTER)


@functools.cache
def values_of(program, x=float(X)):
    """Return the values that the program assigns to `h`, each with the iteration of each loop and its number."""
    _NOTED.clear()
    with jax.disable_jit():  # Checkpointed functions are traced even so, and compute the same.
        (cond if program is remat else program)(jnp.float32(x), ones_of(program))
    return tuple(_NOTED)


@functools.cache
def gradients_of(program, x=float(X)):
    slopes = np.asarray(jax.grad(program, 1)(jnp.float32(x), ones_of(program)))
    return tuple((at, float(slopes[at]) / h) for at, h in values_of(program, x))


def events_of(run, calls=1, device=None):
    """Return the events of each call by their iterations: of the value, and of its gradient."""
    told = {"forward": [], "backward": []}
    for event in run.events:
        is_of_it = device is None or event.device.endswith(f":{device}")
        if event.site.watch is not None and event.phase in told and is_of_it:
            told[event.phase].append((event.call, tuple(event.step), float(event.kwargs["value"])))
    return [
        [sorted((step, number) for call, step, number in events if call == which) for which in range(calls)]
        for events in told.values()
    ]


def same(told, wanted):
    assert [at for at, _ in told] == [at for at, _ in wanted]
    np.testing.assert_allclose([x for _, x in told], [x for _, x in wanted], rtol=1e-5)


@pytest.fixture(params=[1, 3], ids=["each", "every third"])
def every(request):
    return request.param


def taken(events, every):
    return sorted(one for one in events if one[0][0] % every == 0)


@pytest.mark.parametrize("program", [*DIFFERENTIATED, *UNDIFFERENTIATED], ids=lambda one: one.__name__)
@pytest.mark.each
def test_values_have_the_iterations_in_which_the_branch_was_taken(program, every, watched, same_bits):
    jitted = jax.jit(program)
    plain = jitted(X, ones_of(program))
    run = watched(jitted, X, ones_of(program), watch="h", every=every)
    assert same_bits(run.result, plain)
    ((told,), _) = events_of(run)
    same(told, taken(values_of(program), every))


@pytest.mark.parametrize("program", DIFFERENTIATED, ids=lambda one: one.__name__)
@pytest.mark.each
def test_gradients_in_branches_have_the_steps_of_their_values(program, every, watched):
    step = jax.jit(jax.value_and_grad(program, 1))
    plain = step(X, ones_of(program))

    def twice():
        return [step(X, ones_of(program)) for _ in range(2)]

    run = watched(twice, watch="h", every=every)
    for result in run.result:
        np.testing.assert_allclose(result[1], plain[1], rtol=1e-6)
    values, gradients = events_of(run, calls=2)
    for told in values:
        same(told, taken(values_of(program), every))
    for told in gradients:
        same(told, taken(gradients_of(program), every))
    h = run["h"]
    assert h.steps.tolist() == h.gradient.steps.tolist()
    count = len(taken(gradients_of(program), every))
    np.testing.assert_allclose(
        h.gradient["value"], 2 * [number for _, number in taken(gradients_of(program), every)], rtol=1e-5
    )
    steps = np.asarray(h.steps)
    np.testing.assert_allclose(steps[count:] - steps[:count], OUTER)
    outer, *inner = np.array([at for at, _ in taken(values_of(program), every)]).T
    np.testing.assert_allclose(steps[:count], outer + (inner[0] / INNER if inner else 0))


def test_values_and_gradients_where_a_condition_holds(every, watched):
    step = jax.jit(jax.value_and_grad(cond, 1))
    limit = float(np.median([h for _, h in values_of(cond)]))
    held = [(at, h) for at, h in values_of(cond) if h >= limit]
    assert 0 < len(held) < len(values_of(cond))
    (told,), (gradients,) = events_of(watched(step, X, ones_of(cond), watch="h", when=f"h >= {limit}", every=every))
    same(told, taken(held, every))
    assert gradients == []  # The gradients are computed in another body.


@pytest.mark.parametrize("program", [cond, remat, branch_loop_branch], ids=lambda one: one.__name__)
@pytest.mark.each
def test_lanes_have_the_same_steps(program, every, watched):
    xs = jnp.linspace(0.2, 0.8, 4)
    lanes = jax.jit(jax.vmap(jax.value_and_grad(program, 1), (0, None)))
    run = watched(lanes, xs, ones_of(program), watch="h", every=every)
    wanted = [dict(taken(values_of(program, float(x)), every)) for x in xs]
    slopes = [dict(taken(gradients_of(program, float(x)), every)) for x in xs]
    steps = [at[0] + (at[1] / INNER if len(at) > 1 else 0) for at in wanted[0]]
    for value, lanes in ((run["h"], wanted), (run["h"].gradient, slopes)):
        assert value.steps.tolist() == steps
        np.testing.assert_allclose(value["mean"], np.mean([list(lane.values()) for lane in lanes], 0), rtol=1e-5)


@pytest.mark.parametrize("program", [cond, branch_loop_branch], ids=lambda one: one.__name__)
@pytest.mark.each
def test_devices_have_their_own_values_at_the_same_steps(program, every, watched):
    split = jax.P("d")
    mesh = cpu_mesh((2,), ("d",))
    step = jax.shard_map(
        lambda x, ones: jax.grad(program, 1)(x[0], ones[0])[None], mesh=mesh, in_specs=split, out_specs=split
    )
    xs, ones = jnp.array([0.5, 0.7]), jnp.stack([ones_of(program)] * 2)
    run = watched(jax.jit(step), xs, ones, watch="h", every=every)
    for number, x in enumerate(xs):
        values, gradients = events_of(run, device=number)
        same(values[0], taken(values_of(program, float(x)), every))
        if not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:  # See docs/limits.md.
            same(gradients[0], taken(gradients_of(program, float(x)), every))


@pytest.mark.filterwarnings("ignore:Numba cannot be used")
@pytest.mark.parametrize("program", [cond, branch_loop_branch], ids=lambda one: one.__name__)
@pytest.mark.each
def test_steps_in_branches_are_right_without_numba(program, every, watched, monkeypatch):
    monkeypatch.setattr(statistics, "native_target", lambda: None)
    monkeypatch.setitem(sys.modules, "jax_debug_widgets._jax.passes.rings_native", None)
    monkeypatch.setattr(native, "_known", {})
    values, gradients = events_of(
        watched(jax.jit(jax.value_and_grad(program, 1)), X, ones_of(program), watch="h", every=every)
    )
    same(values[0], taken(values_of(program), every))
    same(gradients[0], taken(gradients_of(program), every))
