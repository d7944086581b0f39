"""Test that a batch of a real run decodes to the contents of the run."""

from __future__ import annotations

import itertools
import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.transport import run_messages, wire
from jax_debug_widgets.transport.columns import unpack, unpack_texts
from tests.devices import cpu_mesh


@jax.jit
def program(x):
    jax.debug.print("x {} and {}", x, x > 0, ordered=True)
    jax.debug.callback(lambda *_: None, x * 2, jnp.ones(3), jnp.int32(4))
    jax.vmap(jax.vmap(lambda y: jax.debug.print("y {}", y)))(jnp.arange(6.0).reshape(2, 3) * x)
    jax.debug.print("z {}", x * 1j)
    return x


@pytest.fixture(scope="module")
def captured():
    with jdw.capture(title="program(x)") as run:
        for x in (1.0, float("nan"), -2.0):
            program(x)
    ((content, buffer),) = current_session().panels.feed_of(run).again(0)
    return run, content, unpack(content["columns"], buffer)


def test_every_event_has_its_row(captured):
    run, content, columns = captured
    events = list(run.events)
    assert content["count"] == len(events) == 3 * (1 + 1 + 6 + 1)
    assert columns["site"].tolist() == [event.site.id for event in events]
    assert columns["occurrence"].tolist() == [event.occurrence for event in events]
    assert columns["call"].tolist() == [event.call for event in events]
    np.testing.assert_allclose(columns["time"], [event.time_ns * 1e-9 for event in events])


def test_steps_and_devices_are_reported():
    mesh = cpu_mesh((4,), ("d",))
    spec = jax.sharding.PartitionSpec("d")

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=spec, out_specs=spec)
    def nested(x):
        def outer(x, i):
            def inner(x, j):
                jax.debug.print("x {} {}", x, i * 10 + j)
                return x + 1, None

            return jax.lax.scan(inner, x, jnp.arange(3))

        jax.debug.callback(lambda *_: None, x)
        return jax.lax.scan(outer, x, jnp.arange(2))[0]

    with jdw.capture() as run:
        nested(jnp.arange(4.0))
    ((content, buffer),) = current_session().panels.feed_of(run).again(0)
    columns = unpack(content["columns"], buffer)
    steps = [event.step for event in run.events]
    assert columns["step"].tolist() == [step[0] if step else -1 for step in steps]
    assert columns["inner"].tolist() == [step[1] if step else -1 for step in steps]
    assert [content["devices"][device] for device in columns["device"]] == [event.device for event in run.events]
    assert sorted(content["devices"]) == [f"cpu:{number}" for number in range(4)]
    sites = sorted(content["sites"], key=lambda site: site["kind"])
    assert [site["loops"] for site in sites] == [[], [2, 3]]
    assert [site["reverse"] for site in sites] == [[], [False, False]]
    assert set(zip(*(columns[name].tolist() for name in ("step", "inner", "device")), strict=True)) == {
        *itertools.product(range(2), range(3), range(4)),
        *((-1, -1, device) for device in range(4)),
    }


def test_lanes_are_flat_indices(captured):
    run, _, columns = captured
    wanted = [np.ravel_multi_index(event.lane, (2, 3)) if event.lane else -1 for event in run.events]
    assert columns["lane"].tolist() == wanted
    assert set(wanted) == {-1, *range(6)}


def test_points_are_the_real_scalars_and_the_elements_of_small_vectors(captured):
    run, _, columns = captured
    wanted = [
        (row, index, element, float(number))
        for row, event in enumerate(run.events)
        for index, value in enumerate(event.values)
        if value.ndim <= 1 and value.dtype.kind != "c"
        for element, number in enumerate(value.ravel())
    ]
    assert {element for _, _, element, _ in wanted} == {0, 1, 2}
    rows = columns["point_row"].tolist()
    assert rows == sorted(rows)
    names = ("point_row", "point_value", "point_element", "point_y")
    found = sorted(zip(*(columns[name].tolist() for name in names), strict=True))
    np.testing.assert_array_equal(np.array(found), np.array(sorted(wanted)))


def test_texts_are_the_lines_that_jax_would_print(captured):
    run, _, columns = captured
    assert unpack_texts(columns) == {row: event.text for row, event in enumerate(run.events)}


def test_sites_calls_and_status_are_reported_in_full(captured):
    run, content, _ = captured
    assert [site["id"] for site in content["sites"]] == [site.id for site in run.sites]
    for told, site in zip(content["sites"], run.sites, strict=True):
        assert set(told) == set(run_messages.SiteMessage.__annotations__)
        of_values = {"leap", "loops", "reverse", "shapes", "dtypes", "type"}
        wanted = {name: getattr(site, name) for name in set(told) - of_values}
        wanted |= {name: list(getattr(site, name)) for name in ("values", "transforms", "callers")}
        assert {name: told[name] for name in wanted} == wanted
        (first, *_) = [event for event in run.events if event.site == site]
        assert told["shapes"] == [list(value.shape) for value in first.values]
        assert told["dtypes"] == [value.dtype.name for value in first.values]
    for told, call in zip(content["calls"], run.calls, strict=True):
        assert set(told) == set(run_messages.CallMessage.__annotations__)
        assert (told["name"], told["state"], told["events"]) == (call.name, call.state, call.events)
        assert told["dispatched"] == pytest.approx(call.dispatched_ns * 1e-9)
        assert told["started"] <= told["dispatched"] <= told["ready"] <= told["drained"]
    assert set(content) == set(wire.BatchMessage.__annotations__)
    assert set(content["status"]) == set(run_messages.StatusMessage.__annotations__)
    assert content["status"]["title"] == "program(x)"
    assert content["status"]["barrier"]["state"] == "drained"
    assert content["status"]["events"] == len(run.events)


def test_the_content_is_json(captured):
    assert json.loads(json.dumps(captured[1], allow_nan=False)) == captured[1]
