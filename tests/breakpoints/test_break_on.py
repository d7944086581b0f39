"""Test the values that `--break-on` checks: each watched value once, by its own name, as it was at that step."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw


def hits(function: Any, *args: Any, **options: Any) -> int:
    """Return how often a condition would have stopped a program without a page."""
    with jdw.capture(**options) as run:
        jax.block_until_ready(function(*args))
        jax.effects_barrier()
    assert not [note for note in run.notes if "was never checked" in note], run.notes
    return sum(run.policy.hits.values())


def scaled(w):
    h = w * 3.0
    return (-5.0 * h).sum()


both = jax.value_and_grad
DERIVATIVES = {
    "jit(grad)": lambda: jax.jit(both(scaled)),
    "grad(jit)": lambda: both(jax.jit(scaled)),
    "vmap": lambda: jax.jit(lambda w: jax.vmap(both(scaled))(w[None])),
    "checkpoint": lambda: jax.jit(both(jax.checkpoint(scaled))),
    "scan": lambda: jax.jit(both(lambda w: lax.scan(lambda c, w: (c + scaled(w), None), 0.0, w[None])[0])),
}


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_a_condition_over_a_name_is_over_its_value_and_grad_over_its_gradient(derivative):
    f, w = DERIVATIVES[derivative](), jnp.float32(2)
    conditions = ["h < 0", "grad.h < 0", "grad.h > 0", "grad.h == -5"]
    found = {text: hits(f, w, watch="h", break_on=text) for text in conditions}
    assert found == {"h < 0": 0, "grad.h < 0": 1, "grad.h > 0": 0, "grad.h == -5": 1}


def test_a_condition_holds_where_it_does_for_any_element():
    f = jax.jit(lambda h: jax.debug.print("{h}", h=h))
    assert hits(f, jnp.array([1.0, 5.0]), break_on="h > 3") == 1
    assert hits(f, jnp.array([1.0, 5.0]), break_on="h > 6") == 0


def test_a_condition_over_a_part_of_a_tree_finds_it():
    @jax.jit
    def f(params):
        params = {"w": params["w"] * 2, "b": -params["w"]}
        return params["w"] + params["b"]

    assert hits(f, {"w": jnp.float32(3)}, watch="params", break_on='params["b"] < -2') == 1


def test_a_condition_over_an_unwatched_value_names_its_watched_gradient():
    with jdw.capture(watch="grad/h", break_on="h < 0") as run:
        jax.jit(jax.grad(scaled))(2.0)
    (note,) = (note for note in run.notes if "was never checked" in note)
    assert "Its gradient is called grad.h." in note


def test_a_name_without_values_is_explained_where_everything_is_watched():
    @jax.jit
    def step(x):
        y = x * 2
        norm = jnp.linalg.norm(y)  # noqa: F841 - JAX removes what no result needs
        return y

    with jdw.capture(watch=True, break_on="norm > 3") as run:
        step(jnp.ones(3))
    (note,) = (note for note in run.notes if "was never checked" in note)
    line = inspect.getsourcelines(step.__wrapped__)[1] + 3
    assert note.startswith(f"--break-on norm > 3 was never checked: 'norm' (line {line}) has no values: no operation")
    with jdw.capture(watch=True, break_on="nosuch > 3") as run:
        step(jnp.ones(3))
    (note,) = (note for note in run.notes if "was never checked" in note)
    assert note.endswith("none of these is called nosuch.")


def test_what_the_device_has_looked_at_had_something_to_look_at():
    f = jax.jit(lambda x: jnp.sqrt(r := x * 2) + r)
    for condition, watch in [("r.min() < 1", "r"), ("grad.r > 9", "grad/r"), ("r < 1", "r")]:
        with jdw.capture(watch=watch, break_on=condition) as run:
            jax.jit(jax.grad(lambda x: f(y := x * 1.0).sum() + y.sum()))(jnp.ones(3))
        assert [note for note in run.notes if "--break-on" in note] == []
    assert hits(f, jnp.ones(3) / 4, watch="r", break_on="r.min() < 1") == 1
    assert hits(f, jnp.ones(3) / 4, watch="r", values=True, break_on="r.min() < 1") == 1


def step_of_two_names(x):
    def inner(x):
        loss = x * x
        return loss  # noqa: RET504 - it has a name.

    loss = inner(x)
    return loss * 2


def trained(w, xs):
    def step(w, x):
        h = x * w
        size = abs(h).max()
        loss = (h * h).sum()
        loss = loss + 0.5
        jax.debug.print("{loss}", loss=loss)
        return w - 0.5, (size, loss)

    w, (sizes, losses) = lax.scan(step, w, xs)
    last = losses[-1]
    return w, sizes, last


W, XS = jnp.float32(2), jnp.array([[1.0, 2], [2, 1], [3, 3], [4, 1]])
# h is [2, 4], [3, 1.5], [3, 3], [2, 0.5], and loss 20.5, 11.75, 18.5, 4.75
SEVERAL = {
    "size > 2.5 and loss > 12": [0, 2],
    "h[0] > 2.5 and loss < 12": [1],
    "h.sum() + x.sum() > 8 and not loss > 20": [2],
    "float(h[1]) < 2 and loss > 4.9": [1],
    "h.tolist()[0] == 3 and loss > 12": [2],
    "size > 99 or loss > 20": [0],
}


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize("condition", SEVERAL)
@pytest.mark.parametrize("watch", [True, "loss"], ids=["all", "by name"])
def test_a_condition_over_several_values_of_one_body_stops_at_the_last_of_them(condition, watch, stopped):
    seen = []
    stopped(jax.jit(trained), W, XS, user=lambda page: seen.extend(page.all_stops()), watch=watch, break_on=condition)
    assert [stop["step"] for stop in seen] == [[step] for step in SEVERAL[condition]]
    assert {stop["name"] for stop in seen} == {"loss"}
    assert {stop["reason"].partition(" at ")[0] for stop in seen} == {condition}


def test_a_condition_over_values_of_several_bodies_has_a_note():
    with jdw.capture(watch=True, break_on="last > loss") as run:
        jax.jit(trained)(W, XS)
    (note,) = (note for note in run.notes if "--break-on" in note)
    assert "was never checked: no function or loop body computes all of last, loss" in note
    with jdw.capture(break_on="a > 0 and b > 0") as run:
        jax.jit(lambda a, b: [jax.debug.print("{a}", a=a), jax.debug.print("{b}", b=b)])(1, 2)
    (note,) = (note for note in run.notes if "--break-on" in note)
    assert "and no event has all of a, b" in note


def test_a_condition_that_cannot_be_computed_says_why():
    for condition, why in {
        "h.l2 > 1": "no attribute 'l2'",
        "h[7] > 1": "out of bounds",
        "h @ x > 'a'": "Error",
        "h > 1 & loss > 1": ". Python takes & and",
    }.items():
        with jdw.capture(watch=True, break_on=condition) as run:
            jax.jit(trained)(W, XS)
        (note,) = (note for note in run.notes if "--break-on" in note)
        assert "could not be computed: " in note and why in note


@pytest.mark.behaviour("B2")
def test_a_line_stops_although_its_value_is_shown_under_the_same_name_elsewhere(stopped):
    line = step_of_two_names.__code__.co_firstlineno
    for place in (line + 2, line + 5):
        seen = []
        where = f"test_break_on.py:{place}"
        options = {"watch": "loss", "break_on": where}
        stopped(jax.jit(both(step_of_two_names)), 3.0, user=lambda page, s=seen: s.extend(page.all_stops()), **options)
        assert ("loss", "forward") in [(stop["name"], stop["phase"]) for stop in seen]


def test_a_condition_over_a_large_value_has_a_note_that_names_the_values_option():
    with jdw.capture(watch="r", break_on="r < 1") as run:
        jax.jit(lambda x: (r := x * 2) + r)(jnp.ones((1 << 20) + 1))
    (note,) = (note for note in run.notes if "--break-on" in note)
    assert "only statistics of r are recorded" in note and "`--values` records the elements" in note


def assigned(pos):
    def body(pos, _):
        pos = pos + 1.0
        return pos, None

    return lax.scan(body, pos, length=6)[0]


def given_only(pos):
    pos, _ = lax.scan(lambda pos, _: (pos + 1.0, None), pos, length=6)
    return pos * 2


def in_a_tuple(pos):
    def body(carry, _):
        pos, vel = carry
        pos = pos + vel
        return (pos, vel), None

    return lax.scan(body, (pos, 1.0), length=6)[0][0]


def with_a_condition(pos):
    def body(pos):
        pos = pos + 1.0
        return pos  # noqa: RET504 - it has a name.

    return lax.while_loop(lambda pos: pos < 6, body, pos)


def in_python(pos):
    for _ in range(6):
        pos = pos + 1.0
    return pos


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize("loop", [assigned, given_only, in_a_tuple, with_a_condition, in_python])
@pytest.mark.parametrize("watch", ["pos", True], ids=["by name", "all"])
def test_a_condition_over_a_loops_carry_stops_once_for_each_value(loop, watch):
    assert hits(jax.jit(loop), 0.0, watch=watch, break_on="pos >= 4") == 3


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize(("kind", "steps"), [("nan", [2]), ("inf", [1]), ("NaN", [2]), ("nonfinite", [1, 2])])
@pytest.mark.parametrize("told", ["printed", "watched"])
def test_nan_and_inf_are_looked_for_by_themselves(kind, steps, told, stopped):
    def step(x, _):
        y = jnp.log(x)
        if told == "printed":
            jax.debug.print("{y}", y=y)
        return x - 1, y.sum()

    f = jax.jit(lambda x: lax.scan(step, x, length=3))
    seen, watch = [], "y" if told == "watched" else None
    start = jnp.float32([1, 1])  # log is 0, -inf, nan
    stopped(f, start, user=lambda page: seen.extend(page.all_stops()), break_on=kind, watch=watch)
    # A value that has stopped with one kind (NaN or infinity) stops again only with the other kind.
    assert [stop["step"][0] for stop in seen] == steps[:1]
    where = ", the first at [0]" if told == "watched" else ""
    assert seen[0]["reason"] == f"y is not finite: 2 {'NaN' if steps[0] == 2 else 'infinite'}{where}"


def test_a_stop_at_a_gradient_names_the_gradient(stopped):
    def f(z):
        n2 = (z**2).sum(-1)
        return jnp.where(n2 > 0, jnp.sqrt(n2), 1.0).sum()

    seen = []
    g, z = jax.jit(jax.grad(f)), jnp.float32([[0, 0], [3, 4]])
    stopped(g, z, user=lambda page: seen.extend(page.all_stops()), watch="n2", break_on="nan")
    assert [stop["reason"] for stop in seen] == ["gradient of n2 is not finite: 1 NaN, at [0]"]


@pytest.mark.behaviour("B2")
def test_a_print_of_a_watched_value_among_others_does_not_stop_for_it_again(stopped):
    def step(x, _):
        temp = jnp.log(x)
        jax.debug.print("twice {n} temp {t}", n=2 * x[0], t=temp)
        jax.debug.print("{root}", root=-1 / x)
        return x - 1, temp.sum()

    f, seen = jax.jit(lambda x: lax.scan(step, x, length=2)), []
    stopped(f, jnp.float32([1]), user=lambda page: seen.extend(page.all_stops()), break_on="inf", watch="temp")
    assert sorted(stop["reason"].split(",")[0] for stop in seen) == [
        "root is not finite: 1 infinite",
        "temp is not finite: 1 infinite",
    ]
