"""Test which threads made calls, ran host functions, or waited."""

from __future__ import annotations

import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.running import waits
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.run.spans import MAX_SPANS, SpanLog


def spans_of(run):
    run.collect()
    spans = run.call_log.spans.since(0)
    threads = [spans.threads[number] for number in spans.thread]
    return list(zip(spans.site.tolist(), threads, (spans.to_ns - spans.from_ns).tolist(), strict=True))


def test_calls_and_host_functions_know_their_threads():
    seen = []

    def host(_):
        thread = threading.current_thread()
        name = {"MainThread": "main"}.get(thread.name, thread.name)
        seen.append(f"XLA {thread.ident}" if name.startswith("Dummy") else name)

    @jax.jit
    def load(x):
        jax.debug.callback(host, x.sum())
        return x * 2

    with jdw.capture() as run:
        threads = [threading.Thread(target=load, args=(jnp.ones(3),), name=f"loader-{i}") for i in range(2)]
        for thread in threads:
            thread.start()
            thread.join()
        load(jnp.ones(3))
        jax.effects_barrier()
    assert [call.thread for call in run.calls] == ["loader-0", "loader-1", "main"]
    functions = [(site, thread) for site, thread, _ in spans_of(run) if site >= 0]
    assert [site for site, _ in functions] == [run.sites[0].id] * 3
    # Where a program runs is the backend's choice: on its caller's thread, or on one of its own.
    assert [thread for _, thread in functions] == seen
    assert [call.thread for call in run.callbacks.calls] == [thread for _, thread in functions]


@pytest.fixture
def shortest(monkeypatch):
    """Set the shortest recorded wait, in nanoseconds; real waits depend on the machine."""
    return lambda ns: monkeypatch.setattr(waits, "_SHORTEST_NS", ns)


@pytest.fixture
def sharded():
    """Return a program on four devices that each call a function; the call returns before these have returned."""
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:4]), ("i",))
    spec = jax.sharding.PartitionSpec("i")

    @jax.jit
    def program(x):
        def shard(x):
            jax.debug.callback(lambda _: time.sleep(0.01), x)
            return x * 2

        return jax.shard_map(shard, mesh=mesh, in_specs=spec, out_specs=spec)(x)

    return program


@pytest.mark.parametrize(
    "wait",
    [
        lambda y: y.block_until_ready(),
        jax.block_until_ready,
        lambda y: jax.block_until_ready({"a": y, "b": [y, 1.0]}),
    ],
    ids=["method", "function", "several"],
)
def test_waits_for_outputs_are_reported(wait, sharded, shortest):
    shortest(0)
    with jdw.capture() as run:
        wait(sharded(jnp.arange(8.0)))
    assert [(site, thread) for site, thread, _ in spans_of(run) if site < 0] == [(-2, "main")]


def test_the_programs_own_effects_barrier_is_reported_and_not_what_it_waits_for(sharded, shortest):
    shortest(0)
    with jdw.capture() as run:
        sharded(jnp.arange(8.0))
        jax.effects_barrier()
    spans = spans_of(run)
    assert [(site, thread) for site, thread, _ in spans if site < 0] == [(-1, "main")]
    assert len([site for site, _, _ in spans if site >= 0]) == 4


def test_a_wait_that_is_over_at_once_has_no_span(sharded, shortest):
    shortest(10**12)
    with jdw.capture() as run:
        jax.block_until_ready(sharded(jnp.arange(8.0)))
    assert [site for site, _, _ in spans_of(run) if site < 0] == []


def test_outside_a_capture_jax_has_its_own_waits():
    array = type(jnp.ones(1))
    own = array.block_until_ready
    with jdw.capture():
        assert array.block_until_ready is not own
    assert array.block_until_ready is own


def test_the_newest_spans_are_kept_and_keep_their_numbers():
    log = SpanLog()
    for i in range(2 * MAX_SPANS + 5):
        log.add(0, i, i + 1, "main")
    spans = log.since(0)
    assert spans.first == MAX_SPANS
    np.testing.assert_array_equal(spans.from_ns[:3], MAX_SPANS + np.arange(3))
    assert log.count == 2 * MAX_SPANS + 5
    assert len(log.since(log.count).site) == 0


def test_the_browser_gets_each_span_once_and_all_again_when_it_asks(shortest):
    shortest(10**12)  # a slow machine may wait at the barrier, which would be a span of its own

    @jax.jit
    def step(x):
        jax.debug.callback(lambda _: None, x)
        return x

    with jdw.capture() as run:
        step(1.0)
        step(2.0)
        jax.effects_barrier()
    run.collect()
    feed = current_session().panels.feed_of(run)

    def told(messages):
        return [
            (content["first_span"], next(one["length"] for one in content["columns"] if one["name"] == "span_site"))
            for content, _ in messages
        ]

    assert told(feed.news()) == [(0, 2)]
    assert feed.news() == []
    assert told(feed.again(0)) == [(0, 2)]
