"""Test `jdw.graph`: a program as nested boxes, the values between them, and paths from one value to others."""

from __future__ import annotations

import base64
import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.graphs import Graph
from jax_debug_widgets.graphs.flow import Flow
from jax_debug_widgets.graphs.levels import MOST_BOXES
from jax_debug_widgets.graphs.scene_data import scene_data
from jax_debug_widgets.graphs.seen import Seen
from jax_debug_widgets.graphs.tones import COLOURS, tones_of

P = {"a": jnp.ones((4, 8)), "b": jnp.ones((8, 4)), "d": jnp.ones((5, 4, 4))}
X = jnp.ones((2, 4))


def block(p, x):
    u = x @ p["a"]
    return jnp.tanh(u) @ p["b"]


def loss_fn(p, x):
    z = x
    for _ in range(3):
        z = block(p, z)
    z, sums = lax.scan(lambda c, w: (jnp.tanh(c @ w), jnp.sum(c)), z, p["d"])
    nll = jax.nn.log_softmax(z)
    return -jnp.mean(nll) + jnp.sum(sums)


@jax.jit
def step(p, x):
    loss, grads = jax.value_and_grad(loss_fn)(p, x)
    new = jax.tree.map(lambda a, g: a - 0.1 * g, p, grads)
    return new, loss


def titles(boxes):
    return [box.title for box in boxes]


def box_of(graph, title):
    """Return the first box with this title."""
    return next(box for box in graph.boxes.all if box.title == title)


def numbers_of(graph, primitive, role="forward"):
    return [at for at, one in enumerate(graph.program.equations) if (one.primitive, one.role) == (primitive, role)]


def drawn(html):
    """Return the picture in it, as SVG."""
    return base64.b64decode(html.partition("base64,")[2].partition('"')[0]).decode()


@pytest.fixture(scope="module")
def graph():
    return jdw.graph(step, P, X)


@pytest.mark.behaviour("G1")
def test_functions_lines_and_loops_are_boxes_and_repeats_are_one_box(graph):
    assert titles(graph.boxes.root.children) == ["loss_fn", "new"]
    assert titles(box_of(graph, "loss_fn").children)[:1] == ["block"]
    assert box_of(graph, "block").what == "× 3"
    assert "u" in titles(box_of(graph, "block").children)
    loop = next(box for box in graph.boxes.all if box.what.startswith("scan × 5"))
    assert box_of(graph, "nll").what == "log_softmax"
    roles = {graph.program.equations[one].role for one in loop.equations}
    assert roles == {"forward", "backward"}, "the loop and its derivative are two halves of one box"


@pytest.mark.behaviour("G1")
def test_every_equation_is_in_one_box_of_each_level(graph):
    leaves = [at for at, one in enumerate(graph.program.equations) if not one.bodies]
    for opened in (set(), {0}, graph.opened, {box.number for box in graph.boxes.all}):
        scene = graph.scene(opened)
        shown = [one for placed in scene.placed if not placed.is_open for one in placed.equations]
        assert sorted(shown) == leaves
    assert sorted(graph.boxes.of_equation) == leaves


@pytest.mark.behaviour("G1")
def test_a_level_has_at_most_60_boxes_however_many_leaves_a_tree_has():
    many = {f"w{number}": jnp.ones(3) for number in range(150)}
    found = jdw.graph(lambda p: jax.tree.map(lambda a: jnp.sin(a) * 2.0, p), many)
    assert len(found.program.equations) == 300
    assert max(len(box.children) for box in found.boxes.all) <= MOST_BOXES


def scoped(x):
    for number in range(12):
        with jax.named_scope(f"layer_{number}"):
            x = jnp.cos(jnp.sin(x) + 1.0) * x
    return x


@pytest.mark.behaviour("G1")
def test_name_scopes_that_do_the_same_are_folded():
    found = jdw.graph(jax.grad(lambda x: jnp.sum(scoped(x))), jnp.ones(3))
    folded = next(box for box in found.boxes.all if box.title == "layer_0 … layer_11")
    assert (folded.what, len(folded.children)) == ("× 12", 12)
    roles = {found.program.equations[one].role for one in folded.children[3].equations}
    assert roles == {"forward", "backward"}


@pytest.mark.behaviour("G1")
def test_the_derivative_of_a_line_is_beside_it_and_boxes_do_not_overlap(graph):
    scene = graph.scene({box.number for box in graph.boxes.all})
    closed = [one for one in scene.placed if not one.is_open]
    for one in closed:
        assert one.x >= 0 and one.x + one.width <= scene.width and one.y + one.height <= scene.height
        for other in closed:
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x or one.y + one.height <= other.y
            assert one is other or apart or other.y + other.height <= one.y, (one, other)
    sides = {one.side: one for one in graph.scene().placed if one.box.title == "nll"}
    assert sides["forward"].y == sides["backward"].y and sides["forward"].x < sides["backward"].x


def test_values_are_followed_through_calls_loops_and_branches():
    def f(x, n):
        y = jax.jit(jnp.sin)(x)
        y = lax.while_loop(lambda s: jnp.sum(s) < 9.0, lambda s: s + jnp.abs(s), y)
        return lax.cond(n > 0, jnp.cos, jnp.exp, y), jnp.tanh(x)

    found = jdw.graph(f, jnp.ones(3), jnp.int32(1))
    (sine,), (add,), (cos,), (positive,) = (numbers_of(found, one) for one in ("sin", "add", "cos", "gt"))
    flow = Flow(found.program)
    assert {sine, add, cos} <= flow.after([sine])
    assert positive in flow.before([at for made in flow.results[:1] for at in made])
    assert numbers_of(found, "abs")[0] in flow.again[add], "the next turn takes what this one gives"
    assert not flow.after([sine]) & set(numbers_of(found, "tanh"))


@pytest.mark.behaviour("G1")
def test_the_ways_from_a_value_to_the_outputs(graph):
    (exp,) = numbers_of(graph, "exp")
    way = graph.to_outputs(exp)
    assert way.description.startswith("reaches [0]['a'], ") and way.description.endswith("4 of 4 results"), (
        way.description
    )
    assert set(way.equations) <= set(graph.flow.after([exp]))
    (last,) = numbers_of(jdw.graph(lambda x: (jnp.sin(x), jnp.cos(x))[0], X), "cos") or [None]
    assert (
        last is None or "no result" in jdw.graph(lambda x: (jnp.sin(x), jnp.cos(x))[0], X).to_outputs(last).description
    )


@pytest.mark.behaviour("G1")
def test_why_a_value_has_its_dtype():
    def f(x, y):
        h = jnp.sin(x)
        wide = h.astype(jnp.float16)
        return wide * y, jnp.cos(h)

    found = jdw.graph(f, jnp.ones(3), jnp.float16(2.0))
    told = found.flow.why_dtype(numbers_of(found, "mul")[0]).description
    assert re.match(
        r"float16 since convert_element_type makes it of float32 \(.*test_graph.py:\d+\); y has it", told
    ), told


@pytest.mark.behaviour("G1")
def test_search_finds_names_primitives_types_and_lines(graph):
    assert [one.primitive for one in graph.find("= LOG ")] == ["log"]
    assert graph.numbers_with("nll = jax") == [
        at
        for at, one in enumerate(graph.program.equations)
        if one.source == graph.find("exp_1")[0].source and not one.bodies
    ]
    assert graph.find("int64") == [] == graph.find("  ")
    opened = graph.opened_for(graph.numbers_with("= log "), {0})
    placed = graph.scene(opened).placed
    assert any(one.box.title == "log_1" and not one.is_open for one in placed)


@pytest.mark.parametrize("by", COLOURS)
def test_every_colour_of_a_graph_is_in_its_legend(graph, by):
    placed = graph.scene().placed
    tones = tones_of(
        graph.program.equations, [one.equations for one in placed], by, Seen({3: 0, 4: 2}, {}, {3: 1.0, 4: 1e4})
    )
    assert len(tones.of) == len(placed)
    assert {tone for tone, _ in tones.of} <= {tone for tone, _ in tones.legend} | {"shade-0"}
    assert len({words for _, words in tones.legend}) == len(tones.legend) >= 1


@pytest.mark.behaviour("G1")
def test_the_text_is_an_outline(graph):
    text = str(graph)
    assert re.search(r"^  block +× 3 ", text, re.MULTILINE) and re.search(r"^    u ▸ ", text, re.MULTILINE), text
    assert "nothing has run" in text.splitlines()[0]
    assert re.search(r"nll ▸ +log_softmax +float32\[2,4\] +10 +8 .*test_graph.py:\d+", text), text


@pytest.mark.behaviour("G1")
def test_a_saved_notebook_has_a_picture_and_the_lines_and_no_script(graph):
    html = graph._repr_html_()
    assert "<script" not in html and "<details><summary>by line" in html
    svg = drawn(html)
    assert re.search(r">:\d+ · f32\[2,4\]<", svg)
    assert ">∂ nll ▸<" in svg and ">block × 3<" in svg.replace("  ", " ") and "prefers-color-scheme:dark" in svg
    assert len(html) < 60_000


def test_names_of_the_user_are_escaped_in_the_picture(graph):
    equations = tuple(replace(one, names=("<b>&",) * len(one.names)) for one in graph.program.body.equations)
    program = replace(graph.program, body=replace(graph.program.body, equations=equations))
    svg = drawn(Graph(program)._repr_html_())
    assert "<b>" not in svg


@pytest.mark.behaviour("G1")
def test_the_magic_takes_a_call_and_runs_nothing(ours):
    ours.run("def f(x):\n    y = jnp.sin(x)\n    jax.debug.callback(print, y)\n    return y * 2")
    ours.run("found = get_ipython().run_line_magic('jaxdebug', 'graph f(1.)')")
    assert titles(ours.ip.user_ns["found"].boxes.root.children)[:1] == ["y"]


@pytest.mark.parametrize(
    ("function", "given"), [(lambda x: x, [1.0]), (lambda i: i + 1, [3]), (lambda *_: None, [1.0]), (lambda: 2.0, [])]
)
def test_a_program_without_equations_is_told_to_have_none(function, given):
    graph = jdw.graph(function, *given)
    assert "0 equations in 0 boxes" in str(graph)
    assert "has no equations" in str(graph)
    assert "▸" not in str(graph)
    assert [one.box.kind for one in graph.scene().placed] == ["program"]
    assert "<svg" in drawn(graph._repr_html_())


@pytest.mark.parametrize("function", [jnp.sin, jax.jit(jnp.sin)])
def test_a_program_of_one_equation_has_a_box_for_it(function):
    graph = jdw.graph(function, X)
    assert "1 equation in 1 box" in str(graph)
    assert "sin" in str(graph).splitlines()[2]
    assert "▸" not in str(graph)
    assert [one.equations for one in graph.scene().placed if not one.is_open] == [(numbers_of(graph, "sin")[0],)]


def scanned(c, a):
    c = jnp.tanh(c + a)
    return c, c


def halved(state):
    return state * 0.5


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize(
    ("f", "loop"),
    [
        (lambda x: lax.scan(scanned, jnp.zeros(4), x), "scan × 2"),
        (lambda x: lax.while_loop(lambda s: jnp.sum(s) > 1.0, halved, x), "while"),
        (jax.jit(lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x)), "cond"),
    ],
    ids=["scan", "while", "cond"],
)
def test_a_loop_that_is_the_whole_program_has_a_box(f, loop):
    found = jdw.graph(f, X)
    assert any(loop in f"{one.title} {one.what}" for one in found.boxes.all if one.children), found


def lost(x):
    mean = jnp.mean(x)
    square = jnp.mean(x * x)
    var = square - mean * mean
    return jnp.sqrt(var)


def says(found, colour):
    """Return tone and text of each closed box of a program in a colouring, by its title."""
    scene = scene_data(found, {"colour": colour, "opened": [box.number for box in found.boxes.all]})
    return {one["title"]: (one["tone"], one["tooltip"]) for one in scene["boxes"] if not one["open"]}


@pytest.mark.behaviour("G1")
def test_error_growth_that_was_measured_colours_the_boxes_of_the_same_program():
    x = jnp.asarray(1000 + np.random.default_rng(0).normal(size=32), jnp.float32)
    assert "not measured" in says(jdw.graph(jnp.cos, x), "error growth")["cos_1"][1]
    jdw.compare(lost, x, against="float64")
    told = says(jdw.graph(lost, x), "error growth")
    assert told["var"][0] in ("shade-3", "shade-4") and told["square"][0] == "shade-0", told
    assert "not measured" in says(jdw.graph(jnp.cos, x), "error growth")["cos_1"][1], "it is of another program"


@pytest.mark.behaviour("G1")
def test_the_device_of_a_box_is_the_arguments_but_where_the_program_says_more():
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("d")

    def f(x):
        h = jnp.sin(x)
        y = jax.shard_map(jnp.tanh, mesh=mesh, in_specs=spec, out_specs=spec)(h)
        z = jax.pure_callback(np.cos, jax.ShapeDtypeStruct(x.shape, x.dtype), y)
        return jax.device_put(z, jax.devices("cpu")[0])

    told = {title: words for title, (_, words) in says(jdw.graph(f, jnp.ones(4)), "device").items()}
    own = f"{jax.devices()[0].platform}:0"
    assert (told["h"], told["z"]) == (own, "host"), told
    assert "each of d=1" in told.values() and "cpu:0" in told.values(), told


@pytest.mark.behaviour("G1")
def test_a_line_that_only_calls_functions_has_their_names():
    def scaled(x):
        y = x * 2.0
        return y / jnp.max(y)

    def powers(x):
        a = jnp.sin(x)
        return a @ a, x

    def f(x):
        b, x = powers(scaled(x))
        return b + x

    assert "scaled, powers" in titles(jdw.graph(f, jnp.eye(3)).boxes.all)


def halved_thrice(x):
    def body(state):
        n, y = state
        z = y * 0.5
        return n + 1, jnp.tanh(z)

    _, found = lax.while_loop(lambda state: state[0] < 3, body, (0, x))
    return found + 1


def test_the_outline_opens_the_loop_of_a_line_if_there_is_room():
    text = str(jdw.graph(halved_thrice, X))
    assert " body " in text and " z " in text, text
