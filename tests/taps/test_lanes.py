"""Test that a vmapped print makes one host call for each firing, and one event for each lane."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from tests.devices import PLATFORM
from tests.tapped import tapped

LANES = 64


def printing(x):
    jax.debug.print("x={x}", x=x)
    return x * 2


def host_calls(f, x):
    return tapped(jax.jit(f).lower(x)).compile().as_text().count(f"xla_ffi_python_{PLATFORM}_callback")


@pytest.mark.cpu("counts calls by the name that they have on the CPU")
@pytest.mark.behaviour("P4")
@pytest.mark.parametrize(
    "loop", [lambda f: f, lambda f: lambda x: lax.fori_loop(0, 3, lambda _, y: f(y), x)], ids=["once", "in a loop"]
)
def test_a_vmapped_print_is_one_host_call(loop):
    f, x = jax.vmap(loop(printing)), jnp.arange(LANES, dtype=jnp.float32)
    assert host_calls(f, x) == LANES, "JAX unrolls"
    with jdw.capture():
        assert host_calls(f, x) == 1


@pytest.mark.behaviour("P4")
def test_nested_lanes_are_one_host_call_and_an_event_each():
    f, x = jax.vmap(jax.vmap(printing)), jnp.arange(LANES, dtype=jnp.float32).reshape(8, 8)
    with jdw.capture() as run:
        assert host_calls(f, x) == 1
        jax.jit(f)(x)
    assert len(run.events) == LANES
    assert {event.lane for event in run.events} == set(np.ndindex(8, 8))
    assert all(event.values[0] == x[event.lane] for event in run.events)
    assert {event.occurrence for event in run.events} == {0}
    assert [event.seq for event in run.events] == list(range(LANES))


@pytest.mark.behaviour("P4")
def test_a_print_has_the_lanes_of_its_own_values():
    def f(x, y):
        jax.debug.print("{x} {y}", x=x, y=y)
        jax.debug.print("{y}", y=y)
        jax.debug.print("{z}", z=jnp.float32(7))

    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    with jdw.capture() as run:
        jax.jit(jax.vmap(jax.vmap(f, (1, None)), (None, 0)))(table, np.arange(4, dtype=np.float32))
    both, only_y, neither = sorted(run.sites, key=lambda site: site.line)
    by_site = {site: [event for event in run.events if event.site is site] for site in (both, only_y, neither)}
    assert [len(events) for events in by_site.values()] == [8, 4, 1]
    for event in by_site[both]:
        outer, inner = event.lane
        assert np.array_equal(event.kwargs["x"], table[:, inner])
        assert event.kwargs["y"] == outer
    assert [event.lane for event in by_site[only_y]] == [(0,), (1,), (2,), (3,)]
    assert [event.lane for event in by_site[neither]] == [()]


@pytest.mark.behaviour("P4")
def test_vmap_and_map_show_the_same_values_by_lane_and_by_step():
    def f(x):
        y = jnp.sin(x)
        jax.debug.print("x: {}", x, ordered=True)
        jax.debug.print("y: {}", y, ordered=True)
        return y

    xs = jnp.arange(3.0)
    with jdw.capture() as vmapped:
        jax.vmap(f)(xs)
    with jdw.capture() as mapped:
        lax.map(f, xs)
    assert [event.text[0] for event in vmapped.events] == list("xxxyyy")
    assert [event.text[0] for event in mapped.events] == list("xyxyxy")
    by_lane = {(event.text[0], event.lane[0], event.text) for event in vmapped.events}
    by_step = {(event.text[0], event.occurrence, event.text) for event in mapped.events}
    assert by_lane == by_step


def test_series_share_the_step_between_lanes():
    @jax.jit
    @jax.vmap
    def f(x):
        def body(_, x):
            jax.debug.print("{x}", x=x)
            return x + 1

        return lax.fori_loop(0, 3, body, x)

    with jdw.capture() as run:
        f(jnp.arange(2.0) * 10)
    steps, values = run.series("x")
    assert steps.tolist() == [0, 0, 1, 1, 2, 2]
    assert values.tolist() == [0, 10, 1, 11, 2, 12]
    assert values.dtype == np.float32


def test_a_vmap_over_zero_lanes_has_no_event():
    with jdw.capture() as run:
        jax.jit(jax.vmap(printing))(jnp.zeros(0))
        jax.vmap(jax.vmap(printing))(jnp.zeros((3, 0)))
        jax.vmap(printing)(jnp.zeros(0))
    assert list(run.events) == []
    assert run.sites == []
