"""Test that a program prints and computes the same in a capture as without one."""

from __future__ import annotations

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.running import handover, hooks
from tests.devices import cpu_mesh


def unordered(x):
    y = jnp.sin(x) * 2
    jax.debug.print("x={x} y={y}", x=x, y=y)
    return y


def ordered(x):
    y = jnp.sin(x) * 2
    jax.debug.print("x={x} y={y}", x=x, y=y, ordered=True)
    return y


def partitioned(x):
    y = jnp.sin(x) * 2
    jax.debug.print("x={x} y={y}", x=x, y=y, partitioned=True)
    return y


def skip_what_jax_refuses(transform, *, is_ordered):
    if is_ordered and transform.devices > 1 and not transform.name.startswith("eager"):
        pytest.skip("JAX refuses ordered effects on several devices")


@pytest.mark.behaviour("P1")
@pytest.mark.parametrize("body", [unordered, ordered])
def test_a_capture_sees_what_jax_would_print_and_changes_no_bit(transform, body, printed, same_bits):
    skip_what_jax_refuses(transform, is_ordered=body is ordered)
    program = transform.wrap(body)
    plain, written = printed(program)
    lines = written.splitlines()
    assert len(lines) == transform.firings

    with jdw.capture() as run:
        captured, leaked = printed(program)
    texts = [event.text for event in run.events]

    assert same_bits(plain, captured)
    assert leaked == ""
    assert Counter(texts) == Counter(lines)
    if body is ordered:
        assert texts == lines
    assert printed(program)[1].count("\n") == transform.firings, "JAX prints again once the capture is over"


@pytest.mark.behaviour("P1")
@pytest.mark.parametrize("is_ordered", [False, True])
def test_echo_writes_what_jax_writes(transform, is_ordered, printed):
    skip_what_jax_refuses(transform, is_ordered=is_ordered)
    program = transform.wrap(ordered if is_ordered else unordered)
    _, written = printed(program)
    with jdw.capture(echo=True) as run:
        _, echoed = printed(program)
    assert Counter(echoed.splitlines()) == Counter(written.splitlines())
    assert Counter(event.text for event in run.events) == Counter(written.splitlines())
    if is_ordered:
        assert echoed == written


@pytest.mark.behaviour("P7")
@pytest.mark.parametrize("is_ordered", [False, True])
def test_a_users_callback_is_called_as_without_a_capture(transform, is_ordered, printed, same_bits):
    skip_what_jax_refuses(transform, is_ordered=is_ordered)
    calls = []

    def record(x, *, name, y):
        calls.append((type(x), x.dtype, x.shape, x.weak_type, *map(str, x.devices()), x.tobytes(), name, y.tobytes()))

    def body(x):
        y = jnp.sin(x) * 2
        jax.debug.callback(record, x, name="static", y=y, ordered=is_ordered)
        return y

    program = transform.wrap(body)
    plain, _ = printed(program)
    expected, calls[:] = calls[:], []
    with jdw.capture() as run:
        captured, _ = printed(program)

    assert same_bits(plain, captured)
    assert len(calls) == len(run.events) == transform.firings
    assert Counter(calls) == Counter(expected)
    if is_ordered:
        assert calls == expected


@pytest.mark.behaviour("P5")
def test_a_partitioned_print_shows_each_shard(printed):
    devices = jax.devices("cpu")
    mesh = cpu_mesh((len(devices),), ("d",))
    f, x = jax.jit(partitioned), jax.device_put(np.arange(8.0, dtype=np.float32), NamedSharding(mesh, P("d")))
    _, written = printed(lambda: f(x))
    with jdw.capture() as run:
        _, leaked = printed(lambda: f(x))
    assert len(run.events) == len(devices)
    assert Counter(event.text for event in run.events) == Counter(written.splitlines())
    assert leaked == ""


@pytest.mark.behaviour("P5")
def test_parts_that_devices_hand_over_have_their_own_shape_step_and_series():
    def body(carry, row):
        step, x = row
        jax.debug.print("{step} {x}", step=step, x=x + carry, partitioned=True)
        return carry + 1, None

    count = len(jax.devices("cpu"))
    spread = NamedSharding(Mesh(np.array(jax.devices("cpu")), ("d",)), P(None, "d"))
    xs = jax.device_put(np.arange(6.0 * count, dtype=np.float32).reshape(3, -1), spread)
    with jdw.capture() as run:
        jax.jit(lambda xs: jax.lax.scan(body, 0.0, (jnp.arange(3), xs))[0])(xs)
    assert [event.step for event in run.events] == [(int(event.kwargs["step"]),) for event in run.events]
    assert Counter(event.step for event in run.events) == {(step,): count for step in range(3)}
    assert {event.values[1].shape for event in run.events} == {(2,)}
    assert run.series("x")[1].shape == (3 * count, 2)
    assert run.to_pandas()["text"].tolist() == [event.text for event in run.events]
    assert not run.findings


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_the_mesh_of_shard_map_may_be_the_one_that_is_set(kind):
    mesh = cpu_mesh((len(jax.devices("cpu")),), ("d",), kind)

    def each(x):
        jax.debug.print("{d}", d=jax.lax.axis_index("d"))
        return x

    with jax.set_mesh(mesh), jdw.capture() as run:
        x = jax.device_put(np.arange(8.0, dtype=np.float32), NamedSharding(mesh, P("d")))
        jax.jit(jax.shard_map(each, in_specs=P("d"), out_specs=P("d")))(x)
    assert Counter(int(event.text) for event in run.events) == dict.fromkeys(range(mesh.size), 1)
    assert all(event.mesh_coords == {"d": int(event.text)} for event in run.events)
    assert {event.device for event in run.events} == {f"cpu:{number}" for number in range(mesh.size)}
    assert run.findings == []


@pytest.mark.behaviour("P5")
def test_lanes_of_which_devices_hand_over_parts_print_as_ever(printed):
    def lane(row):
        jax.debug.print("{row} {}", row.sum(), row=row, partitioned=True)
        jax.lax.cond(row[0] > 0, lambda: jax.debug.print("cond {row}", row=row, partitioned=True), lambda: None)
        return row

    f, mesh = jax.jit(jax.vmap(lane)), Mesh(np.array(jax.devices("cpu")), ("d",))
    xs = jax.device_put(np.arange(4.0 * mesh.size).reshape(-1, 2), NamedSharding(mesh, P("d")))
    _, written = printed(lambda: f(xs))
    with jdw.capture() as run:
        f(xs)
    assert Counter(event.text for event in run.events) == Counter(written.splitlines())
    assert sum(event.phantom for event in run.events) == mesh.size


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("devices", [1, 4])
def test_a_shard_map_over_some_axes_prints_as_often_as_ever(devices, printed):
    mesh = cpu_mesh((devices // 2 or 1, devices // 2 or 1), ("a", "b"))
    f = jax.jit(jax.shard_map(unordered, mesh=mesh, in_specs=P("a"), out_specs=P("a"), axis_names={"a"}))
    x = np.arange(4, dtype=np.float32)
    _, written = printed(lambda: f(x))
    with jdw.capture() as run:
        _, leaked = printed(lambda: f(x))
    assert len(run.events) == (devices // 2 or 1)
    assert Counter(event.text for event in run.events) == Counter(written.splitlines())
    assert leaked == ""


def test_a_program_compiled_ahead_of_the_capture_prints_as_ever(printed):
    program = jax.jit(unordered).lower(1.0).compile()
    _, written = printed(lambda: program(2.0))
    with jdw.capture() as run:
        _, again = printed(lambda: program(2.0))
    assert again == written
    assert list(run.events) == []


def test_a_pullback_that_outlives_its_capture_prints_as_without_one(printed):
    def linearised():
        return jax.vjp(jax.vmap(jax.checkpoint(ordered)), jnp.ones(3))[1]

    _, written = printed(lambda: linearised()(jnp.ones(3)))
    with jdw.capture() as run:
        pull = linearised()
        jax.effects_barrier()
    _, late = printed(lambda: pull(jnp.ones(3)))
    assert len(run.events) == 3
    assert late == "".join(written.splitlines(keepends=True)[3:])


@pytest.mark.behaviour("P11")
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("also_in_body", [False, True])
def test_a_condition_that_xla_keeps_for_plain_jax_fires_as_often_in_a_capture(nested, also_in_body, printed):
    """XLA finds the length of loops with several operands and drops the condition; a counter is an operand."""

    def count(_, x):
        def condition(i):
            jax.debug.print("at {i}", i=i)
            return i < 300

        def body(i):
            if also_in_body:
                jax.debug.print("in {i}", i=i)
            return i + 1

        return x + jax.lax.while_loop(condition, body, 0)

    f = jax.jit(lambda x: jax.lax.fori_loop(0, 2, count, x) if nested else count(0, x))
    written = Counter(printed(lambda: f(1))[1].splitlines())
    assert written["at 300"] == 1 + nested
    with jdw.capture() as run:
        f(1)
    assert Counter(event.text for event in run.events) == written
    assert run.findings == []
    steps = [event.step for event in run.events if event.text.startswith("at")]
    assert steps == [(j, i) if nested else (i,) for j in range(1 + nested) for i in range(301)]
    with jdw.capture(every=10) as run:
        f(1)
    found = {event.text for event in run.events}
    assert "at 0" in found and "at 1" not in found
    assert run.findings == []


def test_an_un_jitted_shard_map_prints_numbers_that_are_not_on_its_mesh(printed):
    """JAX's own rule then runs on the first device only."""
    mesh = cpu_mesh((len(jax.devices("cpu")),), ("d",))

    def body(x):
        jax.debug.print("{i} of {n}", i=jax.lax.axis_index("d"), n=3)
        return x

    f = jax.shard_map(body, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    _, written = printed(lambda: f(jnp.arange(4.0)))
    with jdw.capture() as run:
        printed(lambda: f(jnp.arange(4.0)))
    assert [event.text for event in run.events] == written.splitlines() == ["0 of 3"]


@pytest.mark.behaviour("P7")
@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(
            lambda f: f, id="eager", marks=pytest.mark.cpu("JAX's own print reads from the device, un-jitted")
        ),
        pytest.param(jax.jit, id="jit"),
    ],
)
def test_a_capture_works_under_a_transfer_guard(wrap, printed):
    def program(x):
        jax.debug.print("x {}", x)
        jax.debug.callback(lambda x: None, x)  # noqa: ARG005 - its name is x
        return io_callback(np.asarray, x, x) + jax.pure_callback(np.asarray, x, x)

    x = jnp.arange(3.0)
    with jax.transfer_guard("disallow"):
        _, plain = printed(lambda: wrap(program)(x))
        with jdw.capture(echo=True) as run:
            _, captured = printed(lambda: wrap(program)(x))
        assert plain == captured == "x [0. 1. 2.]\n"
        assert "x [0. 1. 2.]" in [event.text for event in run.events]


def test_recorded_events_can_be_read_under_a_transfer_guard():
    with jdw.capture() as run:
        jax.jit(lambda x, key: jax.debug.print("{x!r} {x.dtype} {key}", x=x, key=key))(
            jnp.arange(3.0), jax.random.key(1)
        )
    text = run.events[0].text
    with jdw.capture() as again:
        jax.jit(lambda x, key: jax.debug.print("{x!r} {x.dtype} {key}", x=x, key=key))(
            jnp.arange(3.0), jax.random.key(1)
        )
    with jax.transfer_guard("disallow_explicit"):
        assert again.events[0].text == text
        assert text in str(again.panel._repr_mimebundle_())


def test_a_program_whose_taps_cannot_be_put_in_runs_as_without_us_and_a_note_says_so(monkeypatch, capfd):
    @jax.jit
    def program(x):
        jax.debug.print("x {}", x)
        return x + 1

    def rewritten(program, _name, *_: object):
        if program.effects:
            raise AttributeError("no such name in this JAX")
        return program

    monkeypatch.setattr(hooks, "with_recorders", rewritten)
    monkeypatch.setattr(handover, "with_results", rewritten)
    with jdw.capture(echo=False) as run:
        assert program(jnp.int32(1)) == 2
        jax.effects_barrier()
    assert capfd.readouterr().out == "x 1\n"
    assert len(run.events) == 0
    [note] = run.status().notes
    assert "What `program` says may be incomplete" in note
    assert "no such name in this JAX" in note
    monkeypatch.undo()
    jax.clear_caches()
    with jdw.capture(echo=False) as run:
        program(jnp.int32(2))
    assert [event.text for event in run.events] == ["x 2"]
