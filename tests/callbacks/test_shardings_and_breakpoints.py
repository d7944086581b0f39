"""Test `inspect_array_sharding`, recorded when the compiler has chosen, and `breakpoint` with JAX's own debugger."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.debugger import core as debugger  # noqa: TID251 - where JAX keeps its debuggers.
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from tests.devices import cpu_mesh


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_sharding_is_shown_as_text_and_the_users_function_called_as_ever(wrap):
    mesh = cpu_mesh((4,), ("d",))
    x = jax.device_put(np.arange(8.0, dtype=np.float32), NamedSharding(mesh, P("d")))
    seen = []

    def f(x):
        jax.debug.inspect_array_sharding(x, callback=seen.append)
        return x + 1

    wrap(f)(x)
    expected, seen[:] = list(map(str, seen)), []
    with jdw.capture() as run:
        program = wrap(f)
        program(x)
        program(x)
    assert len(expected) == 1
    assert list(map(str, seen)) == expected * (1 if wrap is jax.jit else 2), "compiled, it is asked once"
    assert [event.kind for event in run.events] == ["sharding"] * len(seen)
    assert [event.text for event in run.events] == list(map(str, seen))
    assert run.events[0].args == (seen[0],)
    assert run.events[0].site.source.startswith("jax.debug.inspect_array_sharding(x")
    assert run.status().notes == ()


@pytest.fixture
def stops():
    """Return the local values of the frames at each stop of a debugger that continues at once."""
    found = []
    debugger.register_debugger("recording", lambda frames, _thread, **_: found.append(frames[0].locals), 100)
    yield found
    del debugger._debugger_registry["recording"]


def stopping(x):
    y = x * 2
    jax.debug.breakpoint(num_frames=1)
    return y


WRAPS = {"eager": lambda f: f, "jit": jax.jit, "vmap": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x + 1]))}


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("wrap", WRAPS)
def test_a_breakpoint_is_an_event_and_its_debugger_runs(wrap, stops):
    program = WRAPS[wrap](stopping)
    program(jnp.float32(1))
    jax.effects_barrier()
    expected, stops[:] = [float(stop["y"]) for stop in stops], []
    with jdw.capture() as run:
        program(jnp.float32(1))
        jax.effects_barrier()
    assert [float(stop["y"]) for stop in stops] == expected
    assert [event.kind for event in run.events] == ["breakpoint"] * len(expected)
    assert {event.site.line for event in run.events} == {stopping.__code__.co_firstlineno + 2}
    assert run.callbacks["breakpoint"].returned == len(expected)


@pytest.mark.behaviour("C1")
def test_a_breakpoint_with_a_token_is_one_as_well(stops):
    def f(x):
        return jax.debug.breakpoint(token=x, num_frames=1)

    with jdw.capture() as run:
        assert jax.jit(f)(2.0) == 2
    assert len(stops) == 1
    assert [event.kind for event in run.events] == ["breakpoint"]
