"""Test that a program stops at its breakpoints, and can be inspected, changed and continued."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session.run.run_summary import outline


def halved(x):
    h = x / 2
    h = jdw.breakpoint(h, name="half")
    return h + 1


def test_a_breakpoint_shows_its_frame_and_goes_on(stopped):
    seen = []

    def user(page):
        stop = page.stop()
        seen.append(stop)
        page.go_on(stop)

    result, run = stopped(jax.jit(halved), jnp.float32(3), user=user)
    assert result == 2.5
    (stop,) = seen
    assert stop["kind"] == "breakpoint" and stop["name"] == "half"
    frame = stop["frames"][0]
    assert frame["function"] == "halved"
    assert frame["source"][frame["line"] - frame["first_line"]].strip() == 'h = jdw.breakpoint(h, name="half")'
    assert {one["name"]: one["stats"]["mean"] for one in frame["locals"]} == {"x": 3.0, "h": 1.5}
    assert stop["replaceable"] == {"name": "h", "shape": [], "dtype": "float32"}
    assert [event.kind for event in run.events] == ["breakpoint"]


def test_the_time_at_a_stop_is_no_time_of_a_step(stopped):
    @jax.jit
    def step(x, i):
        jax.debug.print("{x}", x=x)
        return jdw.breakpoint(x, when=i == 2)

    def train(x):
        for i in range(4):
            x = step(x, i)
        return x

    def user(page):
        page.go_on(page.stop())

    _, run = stopped(train, jnp.float32(3), user=user)
    told = outline(run)
    assert (told.steps, told.ms_a_step) == (4, None), "of the calls after the stop there is one alone"
    assert 0 < run.status().resumed < run.status().elapsed


def test_jaxs_own_breakpoint_opens_here(stopped):
    def outer(x):
        y = x * 2
        jax.debug.breakpoint()
        return y

    def user(page):
        stop = page.stop()
        assert stop["reason"].startswith("jax.debug.breakpoint() at test_stop.py:")
        assert stop["replaceable"] is None
        assert {one["name"]: one["text"] for one in stop["frames"][0]["locals"]}["y"] == "Array(6., dtype=float32)"
        functions = [frame["function"] for frame in stop["frames"]]
        assert functions[0] == "outer" and len(functions) > 3, functions
        assert page.say(stop, "y + jnp.float32(1)") == "Array(7., dtype=float32)"
        page.go_on(stop)

    result, run = stopped(jax.jit(outer), jnp.float32(3), user=user)
    assert result == 6
    assert [event.kind for event in run.events] == ["breakpoint"]


@pytest.mark.behaviour("B1")
@pytest.mark.parametrize("way", ["set", "console", "request"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_value_set_at_the_stop_goes_on(stopped, wrap, way):
    def user(page):
        stop = page.stop()
        wrong = page.ask("set", stop=stop["id"], text="jnp.zeros(3)")
        assert wrong["error"] and "h is float32[], and cannot be replaced by float32[3]" in wrong["text"]
        match way:
            case "set":
                assert "goes on as Array(10." in page.say(stop, "set h * 0 + 10")
            case "console":
                assert "goes on as Array(10." in page.say(stop, "h = 10")
            case "request":
                assert not page.ask("set", stop=stop["id"], text="10.0")["error"]
        page.go_on(stop)

    result, _ = stopped(wrap(halved), jnp.float32(3), user=user)
    assert result == 11


def test_a_value_set_in_a_loop_and_in_a_lane_goes_on_there_alone(stopped):
    def user(page):
        page.go_on(page.stop())
        stop = page.stop()
        assert stop["step"] == [1] and stop["lanes"]["sizes"] == [3]
        page.ask("lane", stop=stop["id"], lane=[2])
        page.say(stop, "h = 100")
        page.go_on(stop)

    def loop(x):
        return lax.scan(lambda carry, _: (halved(carry), None), x, length=2)[0]

    x = jnp.float32([2, 4, 6])
    result, _ = stopped(jax.jit(jax.vmap(loop)), x, user=user)
    np.testing.assert_array_equal(result, [2.0, 2.5, 101])


@pytest.mark.behaviour("B1")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_breakpoint_whose_result_is_not_used_takes_no_new_value(stopped, wrap):
    def f(h):
        jdw.breakpoint(
            h,
        )
        return h + 1

    def user(page):
        stop = page.stop()
        assert stop["replaceable"] is None
        told = page.ask("set", stop=stop["id"], text="10.0")
        assert told["error"] and "write x = jdw.breakpoint(x) there" in told["text"]
        assert "write h = jdw.breakpoint(h) there" in page.say(stop, "h = 10")
        page.go_on(stop)

    result, _ = stopped(wrap(f), jnp.float32(3), user=user)
    assert result == 4


def test_the_gradient_passes_straight_through_a_value_that_was_set(stopped):
    def user(page):
        stop = page.stop()
        page.say(stop, "h = 100")
        page.go_on(stop)

    (value, slope), _ = stopped(jax.jit(jax.value_and_grad(halved)), jnp.float32(3), user=user)
    assert (value, slope) == (101, 0.5)


def test_a_tree_goes_on_and_another_structure_is_refused(stopped):
    def f(params):
        return jdw.breakpoint(params)["w"] + params["b"]

    def user(page):
        stop = page.stop()
        assert "cannot be replaced" in page.say(stop, "params = {'w': 1.0}")
        page.say(stop, "params = {**params, 'w': params['w'] + 5}")
        page.go_on(stop)

    result, _ = stopped(jax.jit(f), {"w": jnp.float32(1), "b": jnp.float32(2)}, user=user)
    assert result == 8


def test_a_breakpoint_outside_a_capture_compiles_to_nothing():
    x = jnp.float32(3)
    assert jdw.breakpoint(x) is x
    with_it = jax.jit(halved).lower(x).as_text().replace("halved", "f")
    without = jax.jit(lambda x: x / 2 + 1).lower(x).as_text().replace("_lambda_", "f").replace("jit_lambda", "jit_f")
    assert "custom_call" not in with_it
    assert with_it.count("stablehlo") == without.count("stablehlo")


def test_a_condition_that_is_no_boolean_is_refused():
    with jdw.capture(), pytest.raises(TypeError, match=r"one boolean, got bool\[3\]"):
        jax.jit(lambda x: jdw.breakpoint(when=x > 0))(jnp.zeros(3))
    with jdw.capture(), pytest.raises(TypeError, match=r"got float32\[\]"):
        jax.jit(lambda x: jdw.breakpoint(when=x))(jnp.float32(0))


@pytest.mark.parametrize(("arguments", "error"), [
    ({"when": "x > 0"}, r"got the text 'x > 0'; write it as Python: when=x > 0"),
    ({"when": 3}, r"got int32\[\]; compare it\n"),
    ({"when": jnp.ones(2)}, r"got float32\[2\]; compare it, and reduce that with .any\(\) or .all\(\)\n"),
    ({"when": jnp.ones(2, bool)}, r"got bool\[2\]; reduce it with"),
    ({"name": 3}, r"breakpoint\(name=...\) wants a string, got 3"),
    ({"num_frames": "a"}, r"breakpoint\(num_frames=...\) wants a whole number, got 'a'"),
])  # fmt: skip
def test_a_wrong_argument_is_refused_where_it_is_written(arguments, error):
    with jdw.capture() as run, pytest.raises(TypeError, match=error):
        jax.jit(lambda x: jdw.breakpoint(x, **arguments))(jnp.zeros(3))
    assert not [note for note in run.notes if "fault of ours" in note]


@pytest.mark.behaviour("B2")
def test_a_condition_is_looked_at_on_the_device(stopped):
    def step(x, _):
        y = jnp.log(x)
        jdw.breakpoint(when=~jnp.isfinite(y).all(), name="log")
        return x - 1, y

    stops = []
    f = jax.jit(lambda x: lax.scan(step, x, length=5)[1])
    _, run = stopped(f, jnp.float32(2), user=lambda page: stops.extend(page.all_stops()))
    assert [stop["reason"] for stop in stops] == [
        "y is not finite: 1 infinite",
        "y is not finite: 1 NaN",
        "y is not finite: 1 NaN",
    ]
    assert len(run.events) == 3, "where the condition is false nothing comes to the host"
    (point,) = run.status().breakpoints
    assert (point.condition, point.hits) == ("~jnp.isfinite(y).all()", 3)


@pytest.mark.behaviour("B2")
def test_a_condition_under_vmap_is_one_stop_with_the_lanes_it_holds_in(stopped):
    def f(x):
        jdw.breakpoint(when=x > 1)
        return x

    stops = []
    stopped(jax.jit(jax.vmap(f)), jnp.float32([0, 2, 1, 3]), user=lambda page: stops.extend(page.all_stops()))
    (stop,) = stops
    assert stop["lanes"] == {"sizes": [4], "chosen": [1], "stopped": [[1], [3]]}


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize(
    ("condition", "steps"), [("nonfinite", [2]), ("y<0.5", [1, 2]), ("y", [0, 1, 2, 3, 4]), ("y > 99", [])]
)
def test_break_on_looks_at_events_that_are_captured_anyway(stopped, condition, steps):
    def step(x, _):
        jax.debug.print("{y}", y=jnp.log(x))
        return x - 1, None

    seen = []
    f = jax.jit(lambda x: lax.scan(step, x, length=5)[0])
    _, run = stopped(f, jnp.float32(2), user=lambda page: seen.extend(page.all_stops()), break_on=condition)
    assert [stop["step"] for stop in seen] == [[step] for step in steps]
    assert len(run.events) == 5
    if steps:
        assert seen[0]["frames"][0]["locals"][0]["name"] == "y"


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize(("condition", "holds"), [
    ("0.4 < h < 0.6", lambda h: bool(((h > 0.4) & (h < 0.6)).any())),
    ("h > 2 and h < 3 or not h > -1", lambda h: bool((((h > 2) & (h < 3)) | (h <= -1)).any())),
    ("max(h) > 3 and min(h, 0).sum() < 0", lambda h: h.max() > 3 and np.minimum(h, 0).sum() < 0),
    ("any(h > 3)", lambda h: bool((h > 3).any())),
    ("all(abs(h) < 3)", lambda h: bool((np.abs(h) < 3).all())),
    ("h.ndim == 3 and h.shape[2] or max(isnan(h))", lambda _h: False),
])  # fmt: skip
def test_break_on_asks_each_element_of_an_array(stopped, condition, holds):
    def step(h, _):
        jax.debug.print("{h}", h=h)
        return h - 1, None

    seen = []
    f = jax.jit(lambda h: lax.scan(step, h, length=6)[0])
    start = np.float32([[0.5, 4.25], [1.25, 5.5]])
    _, run = stopped(f, start, user=lambda page: seen.extend(page.all_stops()), break_on=condition)
    assert [stop["step"] for stop in seen] == [[step] for step in range(6) if holds(start - step)]
    assert not [note for note in run.status().notes if "--break-on" in note]


def test_a_condition_that_could_not_be_computed_is_reported(stopped):
    @jax.jit
    def f(x):
        jax.debug.print("{x}", x=x)
        return x

    _, run = stopped(f, jnp.ones(3), user=lambda page: page.all_stops(), break_on="x > 0 and np.ones(2) > 0")
    (note,) = (note for note in run.status().notes if "--break-on" in note)
    assert "could not be computed: ValueError" in note and "broadcast" in note


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize("batched", [False, True], ids=["one", "vmap"])
def test_a_value_that_stays_nan_stops_once_and_again_when_it_was_finite_in_between(stopped, batched):
    def step(c, x):
        jax.debug.print("{y}", y=jnp.log(x))
        return c, None

    xs = jnp.float32([1, -1, -1, 0, 2, 0])  # nan at 1 and 2, -inf at 3 and 5
    f = lambda xs: lax.scan(step, 0, xs)[0]  # noqa: E731
    if batched:  # The other lane is finite until the last step.
        f, xs = jax.vmap(f), jnp.stack([xs, jnp.float32([1, 1, 1, 1, 1, 0])])
    seen = []
    stopped(jax.jit(f), xs, user=lambda page: seen.extend(page.all_stops()), break_on="nonfinite")
    assert [stop["step"] for stop in seen] == [[1], [5]]
    assert [stop["lanes"]["stopped"] for stop in seen] == ([[[0]], [[0], [1]]] if batched else [None, None])


@pytest.mark.behaviour("B2")
def test_a_mask_stops_nothing_and_what_it_spoils_does(stopped):
    def step(total, x):
        scores = jnp.where(x > 0, x, -jnp.inf)
        new = total + jnp.where(total < 2, jnp.exp(scores), scores).sum()
        return new, None

    seen = []
    f, xs = jax.jit(lambda xs: lax.scan(step, jnp.float32(0), xs)[0]), jnp.float32([[1, -1], [1, -1], [1, -1]])
    stopped(f, xs, user=lambda page: seen.extend(page.all_stops()), watch="scores,new", break_on="nonfinite")
    assert [(stop["step"], stop["reason"]) for stop in seen] == [([1], "new is not finite: 1 infinite")]


@pytest.mark.behaviour("B2")
def test_a_stop_at_a_nan_that_a_choice_may_mask_names_the_choice(stopped):
    @jax.jit
    def f(x):
        h = jnp.log(x)
        return jnp.where(x > 0, h, 0.0)

    seen = []
    stopped(f, jnp.float32([-1, 1]), user=lambda page: seen.extend(page.all_stops()), watch=True, break_on="nonfinite")
    (stop,) = seen
    assert stop["reason"].startswith("h is not finite: 1 NaN, at [0]; jnp.where(x > 0, h, 0.0) at test_stop.py:")
    assert stop["reason"].endswith(" may mask it")


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize("watch", [True, "logp,loss"])
def test_a_program_that_prints_its_loss_stops_where_the_nan_is_born(stopped, watch):
    def step(x, _):
        p = x - 1
        logp = jnp.log(p)
        loss = -logp.mean()
        jax.debug.print("loss {loss}", loss=loss)
        return p, loss

    seen = []
    f, x = jax.jit(lambda x: lax.scan(step, x, length=3)[0]), jnp.float32([2.5, 3.5])
    stopped(f, x, user=lambda page: seen.extend(page.all_stops()), watch=watch, break_on="nonfinite")
    told = [(stop["step"], stop["reason"]) for stop in seen]
    assert told == [([2], "logp is not finite: 1 NaN, at [0]"), ([2], "loss is not finite: 1 NaN")]


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize(("condition", "steps", "why"), [
    ("nonfinite", [2], "y is not finite: 1 NaN, 2 infinite"),
    ("total<-0.5", [1], "total<-0.5 at test_stop.py:"),
])  # fmt: skip
def test_break_on_looks_at_what_is_watched(stopped, condition, steps, why):
    def step(x, _):
        y = jnp.log(x)
        total = y.sum()
        return x - jnp.array([1, 1, 1.5], jnp.float32), total

    seen = []
    f = jax.jit(lambda x: lax.scan(step, x, length=3))
    x = jnp.array([2, 2, 2], jnp.float32)
    stopped(f, x, user=lambda page: seen.extend(page.all_stops()), break_on=condition, watch="y,total")
    assert [stop["reason"] for stop in seen if why in stop["reason"]], seen
    assert {stop["step"][0] for stop in seen} == set(steps)


@pytest.mark.behaviour("B2")
def test_hits_are_counted_for_each_run(stopped):
    def f(x):
        jdw.breakpoint(name="here")
        y = jnp.log(x)
        return y * 2

    for _ in range(2):
        seen = []
        options = {"break_on": "nonfinite", "watch": "y"}
        _, run = stopped(
            jax.jit(f), jnp.float32(-1), user=lambda page, seen=seen: seen.extend(page.all_stops()), **options
        )
        assert [stop["hits"] for stop in seen] == [1, 1]
        assert {point.hits for point in run.status().breakpoints} == {1}


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize(("condition", "watch", "told"), [
    ("nonfinite", None, "`--watch-all` adds every named value"),
    ("x+y>99", "y", ""),
    ("z+y>3", "y", "--break-on z+y>3 was never checked: it sees the values of prints, "),
    ("z+y>3", "y", "and none of these is called z. `"),
    ("y+yz>3 and y>1", "y", "called yz. Did you mean y? `"),
    ("elsewhere.py:3", "y", "no print, callback or watched value is there"),
    ("nonfinite", "y", ""),
    ("y>99", "y", ""),
])  # fmt: skip
def test_a_condition_that_no_value_was_checked_for_has_a_note(condition, watch, told):
    @jax.jit
    def f(x):
        y = x * 2
        return y + 1

    with jdw.capture(break_on=condition, watch=watch) as run:
        f(jnp.float32(3))
    notes = [note for note in run.status().notes if "--break-on" in note]
    assert [told in note for note in notes] == ([True] if told else [])
    assert [("Did you mean" in note) for note in notes] == (["Did you mean" in told] if told else [])


@pytest.mark.parametrize("wrong", ["loss >", "1 > 2", "= 3", "any(v > 1 for v in h)", "norm(h) > 1"])
def test_an_invalid_condition_is_refused(wrong):
    with pytest.raises(ValueError, match="--break-on"):
        jdw.capture(break_on=wrong)


@pytest.mark.behaviour("B3")
def test_points_are_switched_skipped_and_passed_at_run_time(stopped):
    def f(x):
        for _ in range(6):
            x = one(x)
            x = two(x)
        return x

    @jax.jit
    def one(x):
        jdw.breakpoint(name="one")
        return x + 1

    @jax.jit
    def two(x):
        jdw.breakpoint(name="two")
        return x * 2

    names = []

    def user(page):
        stop = page.stop()
        names.append(stop["name"])
        numbers = {one.name: one.site for one in page.run.status().breakpoints}
        page.ask("breakpoint", site=numbers["one"], skip=2)
        page.go_on(stop)  # 1 two
        stop = page.stop()
        names.append(stop["name"])
        page.go_on(stop, "next")  # past the twos, to the fourth one
        stop = page.stop()
        names.append(stop["name"])
        numbers = {one.name: one.site for one in page.run.status().breakpoints}
        page.ask("breakpoint", site=numbers["two"], enabled=False)
        assert page.ask("breakpoint", site=12345, enabled=False)["type"] == "error"
        page.go_on(stop)
        stop = page.stop()
        names.append((stop["name"], stop["hits"]))
        page.go_on(stop, "all")

    result, run = stopped(f, jnp.float32(0), user=user)
    assert result == 126
    assert names == ["one", "two", "one", ("one", 5)]
    assert {one.name: (one.hits, one.enabled) for one in run.status().breakpoints} == {
        "one": (6, True),
        "two": (6, False),
    }


@pytest.mark.behaviour("B5")
@pytest.mark.parametrize(("num_frames", "values"), [(0, 1), (1, 3), (2, 4)])
def test_only_the_frames_that_are_asked_for_are_materialised(stopped, num_frames, values):
    def inner(x):
        y = x * 2
        return jdw.breakpoint(y, num_frames=num_frames)

    def outer(z):
        return inner(z + 1)

    def user(page):
        stop = page.stop()
        assert len(stop["frames"]) == max(num_frames, 1)
        page.go_on(stop)

    _, run = stopped(jax.jit(outer), jnp.float32(1), user=user)
    (event,) = run.events
    assert len(event.values) == values


def test_a_breakpoint_in_a_loop_of_pythons_knows_its_step(stopped):
    def program(x):
        return lax.fori_loop(0, 2, lambda _, x: jdw.breakpoint(x + 1), x)

    seen = []
    with jax.disable_jit():
        result, _ = stopped(program, jnp.float32(0), user=lambda page: seen.extend(page.all_stops()))
    assert [stop["step"] for stop in seen] == [[0], [1]]
    assert result == 2


def test_a_stop_reports_its_event_by_which_the_page_knows_the_step(stopped):
    def step(x):
        y = x * 2
        jdw.breakpoint()
        return y + 1

    f = jax.jit(step)
    seen = []

    def each(page, stop):
        event = page.run.store.event(stop["event"])
        seen.append((event.call, event.site.id == stop["site"]))

    stopped(lambda: [f(jnp.float32(i)) for i in range(3)], user=lambda page: page.all_stops(each), watch=True)
    assert seen == [(0, True), (1, True), (2, True)]
