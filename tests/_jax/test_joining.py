"""Test that consecutive prints leave the program in one call to the host, with the same output as before."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from tests.devices import cpu_mesh
from tests.tapped import tapped

X = np.linspace(0, 1, 6, dtype=np.float32)


def statistics(x):
    jax.debug.print("min {}", x.min())
    jax.debug.print("max {m}", m=x.max())
    jax.debug.print("mean {} of {}", x.mean(), x.size)
    return x


def in_scan(x):
    return lax.scan(lambda c, t: (statistics(c * 0.9 + t), None), x, jnp.arange(4.0))[0]


def with_a_product_between(x):
    jax.debug.print("before {}", x[0])
    y = jnp.outer(x, x) @ x
    jax.debug.print("after {}", y[0])
    return y


def with_a_callback_between(x):
    jax.debug.print("before {}", x[0])
    jax.debug.callback(lambda _: None, x[1])
    jax.debug.print("after {}", x[2])
    return x


def with_a_large_one(x):
    big = jnp.tile(x, 100)
    jax.debug.print("large {}", big)
    jax.debug.print("small {}", x[0])
    return x


def with_what_stays_the_same(x):
    """XLA may hoist the first print out of the loop, so it must not be joined with the others."""

    def step(c, _):
        jax.debug.print("fixed {}", x[0])
        jax.debug.print("one {}", c[0])
        jax.debug.print("two {}", c[1])
        return c + 1, None

    return lax.scan(step, x, length=3)[0]


def ordered(x):
    jax.debug.print("one {}", x[0], ordered=True)
    jax.debug.print("two {}", x[1], ordered=True)
    return x


def parted(x):
    mesh = cpu_mesh((2,), ("i",))
    return jax.shard_map(statistics, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))(x)


def in_lanes(x):
    def one(lane):
        return lax.cond(lane > 0.3, statistics, lambda lane: lane, lane * jnp.ones(2))

    return jax.vmap(one)(x)


CALLS = {
    statistics: 1,
    in_scan: 1,
    with_a_product_between: 2,
    with_a_callback_between: 3,
    with_a_large_one: 2,
    with_what_stays_the_same: 2,
    ordered: 2,
    parted: 1,
    in_lanes: 1,
}


def told(events):
    return sorted((event.text, event.step, event.lane, event.phantom, event.device, event.phase) for event in events)


ENDS_THE_PROCESS = pytest.mark.cpu("XLA ends the process, without a capture as well")


@pytest.mark.parametrize(
    "program",
    [pytest.param(one, marks=ENDS_THE_PROCESS if one is in_lanes else ()) for one in CALLS],
    ids=lambda program: program.__name__,
)
def test_joined_prints_have_the_same_events_with_fewer_host_calls(program, same_bits, monkeypatch):
    compiled = jax.jit(program)
    plain = compiled(X)
    with jdw.capture() as run:
        assert same_bits(compiled(X), plain)
        text = tapped(compiled.lower(X)).as_text()
    assert text.count("_callback(") == CALLS[program]
    monkeypatch.setattr("jax_debug_widgets._jax.passes.program.with_joined_prints", lambda equations, _place: equations)
    apart = jax.jit(program)
    # With other settings the program is compiled again.
    with jdw.capture(every=1, debug=True, watch="nothing of that name") as other:
        apart(X)
    assert told(run.events) == told(other.events) != []
    assert [(one.kind, one.expected, one.seen) for one in run.findings] == [
        (one.kind, one.expected, one.seen) for one in other.findings
    ]


def test_one_of_several_joined_prints_can_be_muted():
    compiled = jax.jit(in_scan)
    with jdw.capture() as run:
        compiled(X)
        jax.effects_barrier()
        (muted,) = {event.site.id for event in run.events if "max" in event.text}
        current_session().switches.mute(muted, muted=True)
        compiled(X)
    current_session().switches.mute(muted, muted=False)
    counts = {name: [event.text.split()[0] for event in run.events].count(name) for name in ("min", "max", "mean")}
    assert counts == {"min": 8, "max": 4, "mean": 8}


def test_joined_prints_arrive_in_source_order():
    with jdw.capture() as run:
        jax.jit(in_scan)(X)
    assert [event.text.split()[0] for event in run.events] == ["min", "max", "mean"] * 4
    times = [event.time_ns for event in run.events]
    assert times == sorted(times)
