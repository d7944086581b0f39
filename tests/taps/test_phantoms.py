"""Test phantoms: prints that run only because `vmap` runs both branches; JAX prints them, and they are marked."""

from __future__ import annotations

import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from tests.conftest import mesh
from tests.devices import cpu_mesh

XS = jnp.array([3.0, -2.0, 0.5, 7.0])


def say(name, x):
    jax.debug.print(name + " {x}", x=x)
    return x


def one_of_two(x):
    return lax.cond(x > 0, lambda x: say("positive", x) * 2, lambda x: say("negative", x) - 1, x)


def one_of_three(x):
    return lax.switch(jnp.int32(x) % 3, [lambda x, n=n: say(f"branch {n}", x) * n for n in range(3)], x)


def without_values(x):
    def shout(x):
        jax.debug.print("here")
        return x

    return lax.cond(x > 100, shout, jnp.sin, x)


def one_in_another(x):
    return lax.cond(
        x > 0, lambda x: lax.cond(x > 5, lambda x: say("big", x), lambda x: say("small", x), x), one_of_two, x
    )


def halved(x):
    return lax.while_loop(lambda x: x > 1, lambda x: say("halving", x) / 2, x)


def halved_if_positive(x):
    return lax.cond(x > 0, halved, lambda x: x, x)


def in_a_while(x):
    return lax.while_loop(lambda x: jnp.abs(x) > 1, lambda x: one_of_two(x) / 3, x)


def while_in_a_while(x):
    def body(x):
        return lax.while_loop(lambda y: y > 2, lambda y: say("inner", y) - 1, x) / 2

    return lax.while_loop(lambda x: x > 0.5, body, x)


def constant_of_the_condition(x):
    limit = x / 2
    return lax.while_loop(lambda i: i < limit, lambda i: say("step", i) + 1, 0.0)


def asked(x):
    return lax.while_loop(lambda x: say("is it", x) > 1, lambda x: say("halving", x) / 2, x)


def asked_in_a_branch(x):
    go_on = jax.jit(lambda x: say("jitted", x) > 1)
    return lax.cond(x > 0, lambda x: lax.while_loop(go_on, lambda x: x - 1.5, x), one_of_two, x)


def asked_of_several(x):
    """Run a `while` whose condition has a constant, a key in the carry, a branch and an inner loop."""
    limit = jnp.abs(x) / 2

    def go_on(carry):
        x, _ = carry
        inner = lax.while_loop(lambda y: say("inner", y) > 1, lambda y: y / 3, x)
        lax.cond(inner > 0.5, lambda y: say("more", y), lambda y: y, inner)
        return x > limit

    def body(carry):
        x, key = carry
        key, now = jax.random.split(key)
        return x - jax.random.uniform(now), key

    return lax.while_loop(go_on, body, (x, jax.random.key(0)))[0]


def in_a_scan(x):
    return lax.scan(lambda x, i: (one_of_two(x) + i, None), x, jnp.arange(3.0))[0]


def behind_calls(x):
    @jax.custom_jvp
    def marked(x):
        return say("custom", x)

    marked.defjvp(lambda primals, tangents: (marked(*primals), tangents[0]))

    @jax.custom_vjp
    def pulled(x):
        return say("pulled", x)

    pulled.defvjp(lambda x: (pulled(x), None), lambda _, g: (g,))
    inner = jax.jit(lambda x: say("jitted", marked(x)))
    kept = jax.checkpoint(lambda x: say("kept", jnp.sin(x)))
    return lax.cond(x > 0, lambda x: pulled(inner(kept(x))), lambda x: say("negative", x), x)


PROGRAMS = [
    one_of_two,
    one_of_three,
    one_in_another,
    halved,
    halved_if_positive,
    in_a_while,
    while_in_a_while,
    constant_of_the_condition,
    asked,
    asked_in_a_branch,
    asked_of_several,
    in_a_scan,
    behind_calls,
]


def texts(events):
    return Counter(event.text for event in events)


@pytest.mark.behaviour("P11")
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("wrap", [jax.jit, lambda f: f], ids=["jit", "eager"])
@pytest.mark.each
def test_events_that_are_no_phantoms_are_those_of_each_lane_alone(program, wrap, printed, same_bits):
    plain, written = printed(lambda: wrap(jax.vmap(program))(XS))
    with jdw.capture() as run:
        captured = wrap(jax.vmap(program))(XS)
    assert same_bits(plain, captured)
    assert texts(run.events) == Counter(written.splitlines()), "what JAX prints, phantoms too"
    for lane, x in enumerate(XS):
        _, alone = printed(lambda x=x: jax.jit(program)(x))
        real = [event for event in run.events if event.lane == (lane,) and not event.phantom]
        assert texts(real) == Counter(alone.splitlines())


@pytest.mark.behaviour("P11")
@pytest.mark.parametrize("program", [one_of_two, one_in_another, in_a_scan])
def test_phantoms_are_marked_under_grad(program, printed):
    def loss(xs):
        return jax.vmap(program)(xs).sum()

    _, written = printed(lambda: jax.jit(jax.grad(loss))(XS))
    with jdw.capture() as run:
        jax.jit(jax.grad(loss))(XS)
    assert texts(run.events) == Counter(written.splitlines())
    alone = Counter(line for x in XS for line in printed(lambda x=x: jax.jit(program)(x))[1].splitlines())
    forward = [event for event in run.events if event.phase == "forward" and not event.phantom]
    assert texts(forward) == alone


@pytest.mark.parametrize("looped", [False, True])
def test_derivative_rules_in_a_branch_get_the_arguments_that_are_theirs(looped, printed, same_bits):
    @jax.custom_vjp
    def cubed(x, y):
        return say("value", x) ** 3 * y

    # JAX reads residuals that are arguments from the call itself, by their position.
    cubed.defvjp(
        lambda x, y: (cubed(x, y), (x, y, x * y)),
        lambda kept, g: (say("x", kept[0]) ** 2 * 3 * kept[1] * g, kept[2] * kept[0] ** 2 * g / kept[1]),
    )

    @jax.custom_jvp
    def squared(x, y):
        return say("value", x) ** 2 * y

    @squared.defjvp
    def _(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return squared(x, y), 2 * say("x", x) * y * dx + x**2 * dy

    def branch(x):
        return lax.scan(lambda x, y: (cubed(x, y) + squared(x, y), None), x, jnp.array([0.1, 0.2]))[0]

    def once(x):
        return cubed(x, x + 1) * squared(x, x - 1)

    def loss(xs):
        return jax.vmap(lambda x: lax.cond(x > 0, branch if looped else once, jnp.sin, x))(xs).sum()

    for program in (jax.grad(loss), jax.vmap(jax.grad(lambda x: loss(x[None])))):
        plain, written = printed(lambda program=program: jax.jit(program)(XS))
        with jdw.capture() as run:
            captured = jax.jit(program)(XS)
        assert same_bits(plain, captured)
        assert texts(run.events) == Counter(written.splitlines())


@pytest.mark.behaviour("P5", "P11")
@pytest.mark.parametrize("program", [one_in_another, while_in_a_while, asked_of_several, in_a_scan])
def test_phantoms_are_marked_on_each_device_of_a_mesh(program, printed, same_bits):
    on_mesh = jax.jit(jax.shard_map(jax.vmap(program), mesh=mesh(), in_specs=P("d"), out_specs=P("d")))
    xs = jnp.concatenate([XS, -XS])
    plain, written = printed(lambda: on_mesh(xs))
    with jdw.capture() as run:
        captured = on_mesh(xs)
    assert same_bits(plain, captured)
    assert texts(run.events) == Counter(written.splitlines())
    for device, block in enumerate(xs.reshape(4, 2)):
        for lane, x in enumerate(block):
            _, alone = printed(lambda x=x: jax.jit(program)(x))
            here = [event for event in run.events if (event.mesh_coords["d"], *event.lane) == (device, lane)]
            assert texts(event for event in here if not event.phantom) == Counter(alone.splitlines())


def test_phantoms_are_marked_if_only_the_inner_vmap_batches_the_predicate():
    def rows(scale):
        return jax.vmap(lambda x: lax.cond(x > 0, lambda x: say("positive", x * scale), lambda x: x, x))(XS)

    with jdw.capture() as run:
        jax.jit(jax.vmap(rows))(jnp.array([1.0, 10.0]))
    real = {event.lane for event in run.events if not event.phantom}
    assert real == {(row, lane) for row in range(2) for lane in (0, 2, 3)}


def test_phantoms_are_marked_if_both_vmaps_batch_the_predicate():
    xs = np.array([[1.0, -1.0], [-1.0, 1.0]], np.float32)
    with jdw.capture() as run:
        jax.jit(jax.vmap(jax.vmap(one_of_two)))(xs)
    assert all(event.phantom == (event.text.startswith("positive") != (xs[event.lane] > 0)) for event in run.events)
    assert len(run.events) == 8


@pytest.mark.behaviour("P11")
def test_a_print_without_values_fires_once_and_is_a_phantom_if_no_lane_takes_the_branch(printed):
    _, written = printed(lambda: jax.jit(jax.vmap(without_values))(XS))
    assert written == "here\n"
    with jdw.capture() as run:
        jax.jit(jax.vmap(without_values))(XS)
        jax.jit(jax.vmap(without_values))(XS * 50)
    assert [(event.text, event.lane, event.phantom) for event in run.events] == [
        ("here", (), True),
        ("here", (), False),
    ]


@pytest.mark.behaviour("P11")
def test_phantoms_are_counted_in_a_finding_and_left_out_of_series():
    with jdw.capture() as run:
        jax.jit(jax.vmap(lambda x: lax.cond(x > 0, lambda x: say("positive", x), lambda x: x, x)))(XS)
    [finding] = run.findings
    assert (finding.kind, finding.expected, finding.seen) == ("phantom", 3, 4)
    assert (
        "1 of 4 are phantoms, which would not have fired without vmap: vmap turned the cond around it into a select"
        in finding.message
    )
    assert finding.message in run.notes and not run.status().notes, "once in the panel, in its list"
    assert run.series("x")[1].tolist() == [3.0, 0.5, 7.0]
    assert run.series("x", phantoms=True)[1].tolist() == XS.tolist()
    assert [line.get_ydata().tolist() for line in run.plot("x").lines] == [[3.0], [0.5], [7.0]], "a line a lane"
    assert "phantom" in run.to_pandas().columns


def test_a_finding_names_the_while():
    with jdw.capture() as run:
        jax.jit(jax.vmap(halved))(XS)
    assert [finding.kind for finding in run.findings] == ["phantom"]
    assert "runs the while loop around it until the last lane has finished" in run.findings[0].message


@pytest.mark.parametrize("axes", [((0, None), (None, 0)), ((None, 0), (0, None))])
def test_phantoms_are_marked_if_each_vmap_batches_another_operand(axes, printed, same_bits):
    def climb(x, limit):
        return lax.while_loop(lambda x: say("up", x) < limit, lambda x: say("from", x) + 1.5, x)

    program = jax.jit(jax.vmap(jax.vmap(climb, axes[0]), axes[1]))
    limits = jnp.array([1.0, 4.0])
    plain, written = printed(lambda: program(XS, limits))
    with jdw.capture() as run:
        captured = program(XS, limits)
    assert same_bits(plain, captured)
    assert texts(run.events) == Counter(written.splitlines())
    of_limit = 0 if axes[1] == (None, 0) else 1
    for (i, x), (j, limit) in itertools.product(enumerate(XS), enumerate(limits)):
        _, alone = printed(lambda x=x, limit=limit: jax.jit(climb)(x, limit))
        lane = (j, i) if of_limit == 0 else (i, j)
        real = [event for event in run.events if event.lane == lane and not event.phantom]
        assert texts(real) == Counter(alone.splitlines())


@pytest.mark.behaviour("P11")
def test_the_condition_reports_the_iteration_that_it_is_asked_for_and_which_answer_counts():
    with jdw.capture() as run:
        jax.jit(jax.vmap(asked))(XS)
    said = [(event.lane, event.step, event.values[0]) for event in run.events if event.text.startswith("is it")]
    alone = {(lane, step): float(XS[lane]) / 2**step for lane in range(4) for step in range(4)}
    real = {(lane, step) for (lane, step), x in alone.items() if step == 0 or alone[lane, step - 1] > 1}
    assert {(lane, step): x for (lane,), (step,), x in said if (lane, step) in real} == {at: alone[at] for at in real}
    marked = Counter((*event.lane, *event.step) for event in run.events if not event.phantom)
    assert all(marked[at] == 1 + (alone[at] > 1) for at in real), "once in the condition and, if it holds, in the body"
    assert set(marked) == real
    told = next(
        finding for finding in run.findings if "evaluates the condition of a while loop twice" in finding.message
    )
    assert (told.kind, told.seen, told.expected) == ("phantom", 4 * (4 + 3), len(real))


def test_a_predicate_that_is_not_batched_makes_no_phantoms_and_costs_nothing():
    def program(x, times):
        return lax.fori_loop(0, times, lambda _, x: say("x", x) + 1, x)

    with jdw.capture() as run:
        jax.jit(jax.vmap(program, in_axes=(0, None)))(XS, 2)
    assert len(run.events) == 8
    assert all(event.tap.guard is None for event in run.events)


def test_a_condition_that_calls_the_host_is_not_run_once_more():
    calls = []

    def positive(x):
        calls.append(1)
        return np.asarray(x > 0)

    def go_on(x):
        flag = jax.ShapeDtypeStruct((), np.dtype("bool"))
        return jax.pure_callback(positive, flag, x, vmap_method="sequential")

    def program(x):
        return lax.while_loop(go_on, lambda x: say("x", x) - 1, x)

    jax.jit(jax.vmap(program))(jnp.array([1.0, 2.0]))
    without = len(calls)
    calls.clear()
    with jdw.capture() as run:
        jax.jit(jax.vmap(program))(jnp.array([1.0, 2.0]))
    assert len(calls) == without
    assert [event.kind for event in run.events].count("print") == 4


def test_a_pullback_that_outlives_its_capture_does_what_jax_does(printed):
    with jdw.capture():
        _, pull_back = jax.vjp(jax.vmap(one_of_two), XS)
    assert printed(lambda: pull_back(XS))[1] == ""


def test_a_plot_leaves_out_phantoms():
    with jdw.capture() as run:
        jax.jit(jax.vmap(lambda x: lax.cond(x > 0, lambda x: say("positive", x), lambda x: x, x)))(XS)
    shown = [float(y) for line in run.plot("x").get_lines() for y in line.get_ydata()]
    assert sorted(shown) == [0.5, 3.0, 7.0]


def test_lanes_that_the_user_shards_explicitly_run_as_ever(printed, same_bits):
    explicit = cpu_mesh((4,), ("d",), AxisType.Explicit)

    def said(x):
        jax.debug.print("here")
        return x

    def program(x):
        down = lax.while_loop(lambda x: said(x) > 0, lambda x: said(x) - 1, x)
        return lax.cond(x > 0, said, lambda x: x, down)

    with jax.set_mesh(explicit):
        xs = jax.device_put(jnp.arange(8.0) - 3, P("d"))
        plain, written = printed(lambda: jax.jit(jax.vmap(program))(xs))
        with jdw.capture() as run:
            captured = jax.jit(jax.vmap(program))(xs)
    assert same_bits(plain, captured)
    assert texts(run.events) == Counter(written.splitlines())
