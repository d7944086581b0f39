"""Test a breakpoint under each transformation: where it stops, and that results are unchanged."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw


def plain(x):
    y = jnp.sin(x)
    return y * 2


def stopping(x):
    y = jnp.sin(x)
    y = jdw.breakpoint(y)
    return y * 2


LANES = {"vmap": [4], "jit_vmap": [4], "vmap_last_axis": [3], "vmap_scan": [4], "scan_vmap": [4], "vmap_grad": [4]}


@pytest.mark.behaviour("B1")
def test_a_breakpoint_stops_under_every_transformation_and_leaves_results_unchanged(transform, stopped, same_bits):
    expected = jax.block_until_ready(transform.wrap(plain)())
    stops = []
    result, run = stopped(transform.wrap(stopping), user=lambda page: stops.extend(page.all_stops()))
    assert same_bits(result, expected)
    if transform.name == "aot":
        # The lambda itself compiles in the capture.
        assert len(stops) == 1
    assert bool(stops) == bool(transform.firings)
    for stop in stops:
        assert stop["frames"][0]["function"] == "stopping"
        assert [one["name"] for one in stop["frames"][0]["locals"]] == ["x", "y"]
        assert stop["lanes"]["sizes"] == LANES.get(transform.name, stop["lanes"]["sizes"])
    assert run.status().notes == ()


def test_a_chosen_lane_stays_chosen_at_the_next_stop(stopped):
    def program(x):
        for _ in range(3):
            x = jdw.breakpoint(x + 1)
        return x

    seen = []

    def each(page, stop):
        seen.append(stop["lanes"]["chosen"])
        if len(seen) == 1:
            page.ask("lane", stop=stop["id"], lane=[2])

    stopped(jax.jit(jax.vmap(program)), jnp.arange(3.0), user=lambda page: page.all_stops(each))
    assert seen == [[0], [2], [2]]
