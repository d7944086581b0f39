"""Test that values are found by the names of the source under each transformation, and equal those of the source."""

from __future__ import annotations

import importlib
import linecache
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.watch import named_places
from jax_debug_widgets.watch.choosing.notes import UNCOMPILED
from jax_debug_widgets.watch.choosing.why_unwatched import IS_KEY, RULE, SEVERAL, UNJITTED

W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
B = np.array([0.5, -0.25, 0.0], np.float32)
X = np.array([1, -2, 0.5, 3], np.float32)


@jax.jit
def affine(w, b, x):
    logits = w.dot(x) + b
    return logits.sum()


@pytest.mark.behaviour("W1")
def test_a_variable_is_watched_by_its_name_without_an_edit(watched, agrees):
    affine(W, B, X)  # compiled before, outside any capture
    run = watched(affine, W, B, X, watch="logits")
    assert list(run.values) == ["logits"]
    agrees(run["logits"], W @ X + B)
    site = run["logits"].site
    assert (site.kind, site.watch.shape, site.watch.role) == ("watch", (3,), "value")
    line = linecache.getline(__file__, site.line)
    assert line[site.column : site.end_column] == "w.dot(x) + b"


def test_values_are_watched_for_every_kind_of_assignment(watched, agrees):
    class Model:
        pass

    @jax.jit
    def f(x):
        model, params = Model(), {}
        model.w = x * 2
        params["w"] = x * 3
        n: jax.Array = x * 5
        augmented = x * 7
        augmented += x
        p, (q, r) = x * 11, (x * 13, x * 17)
        halves, rest = jnp.split(x, 2)
        first = second = jnp.tanh(x * 19)
        if (walrus := x * 23) is None:
            raise AssertionError
        total = model.w + params["w"] + n + augmented + p + q + r + first + second + walrus
        return total.sum() + (halves * rest).sum()

    run = watched(f, X)
    wanted = {
        "model.w": X * 2, "params['w']": X * 3, "n": X * 5, "p": X * 11, "q": X * 13, "r": X * 17,
        "halves": X[:2], "rest": X[2:], "first": np.tanh(X * 19), "second": np.tanh(X * 19), "walrus": X * 23,
    }  # fmt: skip
    for name, value in wanted.items():
        agrees(run[name], value)
    one, two = (name for name in run.values if name.startswith("augmented@"))
    agrees(run[one], X * 7)
    agrees(run[two], X * 8)


def test_library_calls_that_are_inlined_or_jitted_inside_have_their_variables_name(watched, agrees):
    @jax.jit
    def f(x):
        h = jax.nn.gelu(x * 2)
        r = jax.nn.relu(x)
        s = jnp.where(x > 0, x, h)
        v = jnp.linalg.norm(s)
        return h + r + s * v

    run = watched(f, X)
    h = jax.nn.gelu(X * 2)
    agrees(run["h"], h)
    agrees(run["r"], np.maximum(X, 0))
    agrees(run["s"], np.where(X > 0, X, h))
    agrees(run["v"], np.linalg.norm(np.where(X > 0, X, h)))


def test_each_execution_of_a_line_in_a_python_loop_is_a_value(watched, agrees):
    @jax.jit
    def f(x):
        for _ in range(3):
            x = jnp.sin(x)
        for scale in (2, 3):
            y = jax.nn.gelu(x * scale)
            x = y + 1
        return x

    run = watched(f, X)
    names = list(run.values)
    sines = [name for name in names if name.startswith("x@") and name.endswith(("#1", "#2", "#3"))][:3]
    wanted = X
    for name in sines:
        wanted = np.sin(wanted)
        agrees(run[name], wanted)
    assert len([name for name in names if name.startswith("y@")]) == 2


@pytest.mark.parametrize("start", [X, np.asarray(X), 2.0], ids=["array", "numpy", "number"])
def test_a_loop_that_begins_with_what_is_no_argument_is_as_many_executions(start, watched, agrees):
    def layer(h, x):
        gated = h * x
        top = gated.max()
        return jnp.sin(gated), top

    @jax.jit
    def f(x):
        h, tops = start, []
        for _ in range(3):
            h, top = layer(h, x)
            tops.append(top)
        return h, sum(tops)

    run = watched(f, X)
    names = [name for name in run.values if name.startswith(("h@", "top@"))]
    assert not [name for name in run.values if "[" in name]
    h = start
    for number in range(3):
        h, _ = layer(h, X)
        (name,) = [one for one in names if one.startswith("h@") and one.endswith(f"#{number + 1}")]
        agrees(run[name], h)


def normed(x):
    mean = x.mean()
    apart = x - mean
    return apart / jnp.sqrt((apart**2).sum())


def test_values_in_a_function_called_in_a_loop_are_numbered_by_execution(watched, agrees):
    def loss(x):
        for _ in range(2):
            x = x + jnp.tanh(normed(x))
        return (x**3).sum()

    run = watched(jax.jit(jax.grad(loss)), X)
    x = X
    for number in range(2):
        (name,) = [one for one in run.values if one.startswith("apart@") and one.endswith(f"#{number + 1}")]
        agrees(run[name], x - x.mean())
        x = x + jnp.tanh(normed(x))

    def with_zeros(zeros):
        x = X
        for zero in zeros:
            apart = x - x.mean() + zero
            x = x + jnp.tanh(apart / jnp.sqrt((apart**2).sum()))
        return (x**3).sum()

    wanted = jax.grad(with_zeros)(jnp.zeros((2, len(X))))
    names = [one for one in run.values if one.startswith("grad/apart@")]
    assert len(names) == 2
    for name in names:
        agrees(run[name], wanted[int(name[-1]) - 1])


def gelu_loss(w, x):
    h = jax.nn.gelu(x @ w)
    z = jnp.sin(h)
    return (z**2).sum()


@pytest.mark.behaviour("W4")
def test_the_value_and_not_what_differentiation_computes_beside_it_has_the_name(watched, agrees):
    w, x = jnp.asarray(W.T), jnp.asarray(np.stack([X, -X]))

    @jax.jit
    def step(w, x):
        loss, g = jax.value_and_grad(gelu_loss)(w, x)
        return w - 0.1 * g, loss

    run = watched(step, w, x)
    h = jax.nn.gelu(x @ w)
    agrees(run["h"], h)
    agrees(run["z"], jnp.sin(h))
    agrees(run["loss"], gelu_loss(w, x))
    agrees(run["g"], jax.grad(gelu_loss)(w, x))
    # The expected gradient is beside each name.
    agrees(run["h"].gradient, jax.grad(lambda h: (jnp.sin(h) ** 2).sum())(h))
    agrees(run["grad/z"], 2 * jnp.sin(h))
    assert run["z"].gradient.site.phase == "backward"
    labels = [site.label for site in run.sites if site.watch.role == "gradient"]
    assert labels == ["grad/(z ** 2).sum()", "grad/z", "grad/h", "grad/w"]


def test_gradients_per_layer_of_a_scan_pair_with_the_values_by_step(watched):
    def layer(h, w):
        h = jnp.tanh(h @ w)
        return h, h.sum()

    def loss(ws, x):
        out, sums = lax.scan(layer, x, ws)
        return (out**2).sum() + sums.sum()

    ws = jnp.asarray(np.random.default_rng(0).normal(size=(5, 4, 4)).astype(np.float32))
    run = watched(jax.jit(jax.grad(loss)), ws, jnp.asarray(X)[None], watch="h")
    values = {
        event.step: event for event in run.events if event.site.label == "h" and event.site.watch.primitive == "tanh"
    }
    made = {event.site.id for event in values.values()}
    gradients = [event for event in run.events if event.site.label == "grad/h" and event.site.watch.value in made]
    assert sorted(values) == [(i,) for i in range(5)]
    assert [event.step for event in gradients] == [(i,) for i in reversed(range(5))]

    def rest(h, start):
        out, sums = lax.scan(layer, h, ws[start:])
        return (out**2).sum() + sums.sum() + h.sum()

    h = jnp.asarray(X)[None]
    for step in range(5):
        h = jnp.tanh(h @ ws[step])
        told = next(event for event in gradients if event.step == (step,))
        wanted = np.linalg.norm(jax.grad(rest)(h, step + 1))
        np.testing.assert_allclose(told.kwargs["l2"], wanted, rtol=1e-4)


def test_tuples_that_an_inlined_function_returns(watched, agrees):
    def cell(h, c, x):
        gate = jax.nn.sigmoid(h + x)
        c = gate * c + jnp.tanh(x)
        h = gate * jnp.tanh(c)
        return h, c

    @jax.jit
    def f(x):
        hidden, memory = cell(x, x * 2, x * 3)
        return hidden + memory

    run = watched(f, X)
    hidden, memory = cell(X, X * 2, X * 3)
    agrees(run["hidden"], hidden)
    agrees(run["memory"], memory)


def test_loop_carried_names_and_arguments_can_be_asked_for(watched, agrees):
    @jax.jit
    def f(x):
        def body(carry, t):
            position, velocity = carry
            velocity = velocity - 0.1 * position
            return (position + 0.1 * velocity, velocity), t * 2

        (end, speed), doubled = lax.scan(body, (x, x * 0), jnp.arange(3.0))
        return end + speed, doubled

    run = watched(f, X, watch="position,t,x,end,speed,doubled")
    agrees(run["position"], X, step=0)
    agrees(run["t"], 2.0, step=2)
    agrees(run["x"], X)
    agrees(run["doubled"], np.arange(3) * 2)
    agrees(run["end"], f(X)[0] - f(X)[0] * 0 - np.asarray(_speed(X)))
    assert run["position"].steps.tolist() == [0, 1, 2]


def test_the_leaves_of_arguments_have_the_names_that_the_source_uses(watched, agrees):
    square = jnp.asarray(W[:, :3].T @ W[:, :3])
    params = {"w": square, "b": jnp.ones(3)}

    def loss_of(params, xs):
        def step(h, layer):
            h = jnp.tanh(h @ layer["w"] + layer["b"])
            return h, h.sum()

        return lax.scan(step, xs[0], params)[1].sum()

    stacked = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf * 2]), params)
    run = watched(jax.jit(jax.grad(loss_of)), stacked, jnp.ones((1, 3)))
    agrees(run["layer['w']"], square * 2, step=1)
    agrees(run["layer['b']"], jnp.full(3, 2.0), step=1)

    @jax.jit
    def train(params, xs):
        def step(carry, x):
            params, count = carry
            params = jax.tree.map(lambda leaf: leaf * x, params)
            return (params, count + 1), None

        return lax.scan(step, (params, 0), xs)[0]

    run = watched(train, params, jnp.arange(1.0, 4.0), watch="params['w'],count")
    carried, assigned = (
        value for value in run.values.values() if value.site.label == "params['w']" and len(value.steps) > 1
    )
    agrees(carried, square * 2, step=2)
    agrees(assigned, square * 6, step=2)


def _speed(x):
    p, v = x, x * 0
    for _ in range(3):
        v = v - 0.1 * p
        p = p + 0.1 * v
    return v


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("h", ["h"]),
        ("h,z", ["h", "z"]),
        ("z*", ["z"]),
        ("outer.h", ["h"]),
        ("grad/h", []),
        ("dot_general|tanh", ["x @ W.T", "h"]),
        ("sco*/inner", ["z"]),
        ("h@test_names.py", ["h"]),
        ("h@other.py", []),
    ],
)
def test_the_language_of_patterns(watched, pattern, names):
    @jax.jit
    def outer(x):
        h = jnp.tanh(x @ W.T)
        with jax.named_scope("scope"), jax.named_scope("inner"):
            z = h * 2
        return z.sum()

    run = watched(outer, X, watch=pattern)
    assert {site.watch.name for site in run.sites} == set(names)
    assert bool(run.status().notes) == (not names)


def test_matches_of_a_pattern_do_not_depend_on_earlier_programs(watched):
    scaled, moved = jax.jit(lambda x: jnp.tanh(x @ W.T) * 2), jax.jit(lambda x: (x + 1) @ W.T)
    looped = jax.jit(lambda x: lax.scan(lambda c, _: ((c @ W.T) @ W, None), jnp.sin(x @ W.T) @ W, length=2)[0])
    counts = {}
    for name, program in {"scaled": scaled, "moved": moved, "looped": looped}.items():
        run = watched(program, X, watch="dot_general")
        counts[name] = len(run.sites)
        assert run.status().notes == ()
    assert counts == {"scaled": 1, "moved": 1, "looped": 4}

    assert not watched(scaled, X, watch="tanh").status().notes
    assert "tanh" in watched(moved, X, watch="tanh").status().notes[0]


def test_a_range_of_lines_is_a_pattern(watched):
    @jax.jit
    def f(x):
        a = x * 2
        b = a + 1
        return b * a

    first = f.__wrapped__.__code__.co_firstlineno
    run = watched(f, X, watch=f"test_names.py:{first + 2}-{first + 3}")
    assert {site.watch.name for site in run.sites} == {"a", "b"}


def test_a_name_that_matches_nothing_is_reported_with_the_nearest(watched):
    run = watched(affine, W, B, X, watch=["logit", "b"])
    (note,) = run.status().notes
    assert "'logit'" in note and "'logits'" in note
    # A cached program has the same values in the next run.
    assert watched(affine, W, B, X, watch=["logit", "b"]).status().notes == (note,)


def test_every_equation_can_be_watched(watched, agrees):
    run = watched(affine, W, B, X, watch=None, ops=True)
    assert {site.watch.primitive for site in run.sites} >= {"dot_general", "add", "reduce_sum"}
    agrees(run["w.dot(x)"], W @ X)


def test_un_jitted_operations_have_no_place_and_are_not_watched(watched):
    run = watched(lambda: jnp.asarray(X) * 2 + 1, ops=True)
    assert run.sites == []


def test_nested_jits_called_twice_are_two_places(watched, agrees):
    @jax.jit
    def double(q):
        d = q * 2
        return d + 1

    @jax.jit
    def f(x):
        a = double(x)
        b = double(a)
        return b

    run = watched(f, X)
    agrees(run["a"], X * 2 + 1)
    agrees(run["b"], X * 4 + 3)
    inner = [name for name in run.values if name.startswith("d@")]
    assert len(inner) == 2
    agrees(run[inner[0]], X * 2)
    agrees(run[inner[1]], X * 4 + 2)


def test_forward_mode_names_the_value_and_not_its_tangent(watched, agrees):
    def g(x):
        s = jnp.sin(x)
        return s * 2

    run = watched(jax.jit(partial(jax.jvp, g)), (X,), (X * 0 + 3,), watch="s")
    agrees(run["s"], np.sin(X))


class Energies(NamedTuple):
    kinetic: jax.Array
    total: jax.Array


def test_parts_of_a_returned_dict_are_identified_by_their_uses(watched, agrees):
    def inner(x):
        both = {"state": x + 1, "info": Energies(x * 2, (x * 3).sum())}
        return both

    def outer(x):
        found = inner(x)
        return tuple(found[key] for key in ("state", "info"))

    @jax.jit
    def f(x):
        def step(state, _):
            state, info = outer(state)
            return state, (state.sum(), info.total, info.kinetic.ndim)

        return lax.scan(step, x, length=2)

    run = watched(f, X)
    agrees(run["state"], X + 1)
    agrees(run["info.total"], (X * 3).sum())
    assert "info.kinetic" not in run.values and "info" not in run.values


def test_static_attributes_are_no_fields_of_a_value(watched, agrees):
    @jax.jit
    def f(x, b):
        y = x * 2
        y += jnp.reshape(b, (1,) * (y.ndim - 1) + (-1,))
        return y

    run = watched(f, X[None], X)
    assert "y.ndim" not in {value.site.watch.name for value in run.values.values()}
    agrees(run[next(name for name in run.values if name.startswith("y@"))], X * 2)


def test_parts_of_what_is_called_branches_and_elements_of_literals_have_names(watched, agrees):
    @jax.jit
    def f(x, *, double=True):
        total = lax.scan(lambda carry, one: (carry + one, one), 0.0, x)[0]
        w = jax.grad(lambda tree: (tree["w"] ** 2).sum())({"w": x, "b": x})["w"]
        first = jnp.sin(x)[0]
        scaled = x * 2 if double else x
        both = [x + 1, x + 2]
        named = {"up": x + 3, "down": x - 3}
        return total, w, first, scaled, both, named, x - 7

    run = watched(f, jnp.asarray(X))
    agrees(run["total"], X.sum())
    agrees(run["w"], 2 * X)
    agrees(run["first"], np.sin(X)[0])
    agrees(run["scaled"], 2 * X)
    agrees(run["both[1]"], X + 2)
    agrees(run["named['down']"], X - 3)
    agrees(run["x - 7"], X - 7)
    _, places = named_places(__file__, run.watch_seen())
    lines = range(f.__wrapped__.__code__.co_firstlineno, f.__wrapped__.__code__.co_firstlineno + 10)
    why = [(place.name, place.why) for place in places if place.span.line in lines and place.why]
    assert [name for name, reason in why if reason != SEVERAL] == ["carry"], why


def test_the_arguments_of_a_counted_loop_are_its_index_and_what_it_carries(watched):
    def body(i, carry):
        total, same = carry
        total = total + same * i
        return total, same

    @jax.jit
    def f(x, n):
        return lax.fori_loop(0, 3, body, (x, x)), lax.fori_loop(0, n, lambda i, c: c * i, x)

    run = watched(f, jnp.asarray(X), 4, watch="i,total,same,c")
    assert {(value.site.watch.name, value.site.watch.shape) for value in run.values.values()} == {
        ("i", ()), ("total", X.shape), ("same", X.shape), ("c", X.shape)
    }  # fmt: skip
    for value in run.values.values():
        if value.site.watch.name == "i":
            np.testing.assert_array_equal(value["value"], np.arange(len(value.steps)))


def test_a_rule_for_derivatives_says_why_its_names_are_not_watched(watched):
    @jax.custom_vjp
    def double(x):
        return x * 2

    def backward(_, cotangent):
        pulled_back = cotangent * 2
        return (pulled_back,)

    double.defvjp(lambda x: (double(x), None), backward)
    run = watched(jax.jit(lambda x: double(x).sum()), jnp.asarray(X))
    _, places = named_places(__file__, run.watch_seen())
    assert [place.why for place in places if place.name == "pulled_back"] == [RULE]


def test_module_level_names_say_that_they_are_not_jitted(watched):
    run = watched(jax.jit(lambda x: x * 2), jnp.asarray(X))
    _, places = named_places(__file__, run.watch_seen())
    assert [(place.name, place.why) for place in places if place.span.line < 24] == [(name, UNJITTED) for name in "WBX"]


def test_a_value_that_a_function_and_its_caller_call_by_one_name_is_one(watched, agrees):
    def loss_fn(w):
        h = w * 2
        loss = (h**2).sum()
        return loss

    @jax.jit
    def step(w):
        loss, g = jax.value_and_grad(loss_fn)(w)
        h = g + 1
        return loss, h

    run = watched(step, jnp.asarray(X))
    assert len([name for name in run.values if name.startswith("loss@")]) == 2
    agrees(run["loss"], (4 * X**2).sum())
    assert run.series("loss")[1].item() == run["loss"]["value"].item()
    with pytest.raises(KeyError, match="several places"):  # The name has two values.
        _ = run["h"]
    with pytest.raises(KeyError, match=r"of 'g' there are g.min, .*--values"):
        run.series("g")


def test_a_module_that_was_edited_and_loaded_again_has_its_new_names(watched, agrees, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    source = "import jax\n@jax.jit\ndef f(x):\n    h = x * {}\n    return h\n"
    (tmp_path / "edited_model.py").write_text(source.format(2))
    model = importlib.import_module("edited_model")
    agrees(watched(model.f, jnp.asarray(X), watch="h")["h"], 2 * X)
    (tmp_path / "edited_model.py").write_text("# A line more.\n" + source.format(3))
    run = watched(importlib.reload(model).f, jnp.asarray(X), watch="h")
    agrees(run["h"], 3 * X)
    assert run["h"].site.where.endswith(":5")


def test_an_uncompiled_or_failed_program_is_noted_instead_of_an_unknown_name():
    with jdw.capture(watch="sine_of_nothing") as run:
        sine_of_nothing = jnp.sin(X)
        del sine_of_nothing
    assert run.status().notes == (UNCOMPILED,)
    with pytest.raises(TypeError, match="dot_general"), jdw.capture(watch="sine_of_all") as run:
        jax.jit(lambda x: x @ jnp.ones(3))(X)
    (note,) = run.status().notes
    assert note.startswith("The program raised TypeError: dot_general")


def test_the_note_about_a_name_says_that_an_earlier_capture_has_seen_it():
    def plain(x):
        remembered = x * 2
        return remembered

    with jdw.capture(watch="remembered") as run:
        jax.jit(plain)(X)
    assert "remembered" in run.values
    with jdw.capture(watch="remembered") as run:
        plain(X)
    assert run.status().notes == ("'remembered' is in none of the programs that ran here; in an earlier one it was.",)


def test_several_unknown_names_share_one_list_of_known_ones():
    with jdw.capture(watch="hiden,outptu") as run:
        jax.jit(lambda hidden: jnp.exp(hidden @ hidden))(X)
    (note,) = run.status().notes
    assert "called 'hiden'. Did you mean 'hidden'? Nothing to watch is called 'outptu'. There are: hidden" in note


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("width", "known while tracing: no array operation computes it"),
        ("unused", "the same value as x; watch that (--watch x)"),
        ("keys", "a PRNG key: there are no numbers in it"),
    ],
)
def test_a_name_without_values_has_a_reason(name, why):
    @jax.jit
    def f(x, key):
        width = x.shape[0]
        if width < 0:
            unused = x
            return unused
        _key, *keys = jax.random.split(key, 3)
        return x / width + jax.random.normal(keys[0], x.shape)

    with jdw.capture(watch=f"{name}, nosuch") as run:
        f(X, jax.random.key(0))
    missing, told = run.status().notes
    assert missing.startswith("Nothing to watch is called 'nosuch'")
    line = f.__wrapped__.__code__.co_firstlineno + 1 + ["width", "if", "unused", "return", "keys"].index(name) + 1
    assert told == f"{name!r} (line {line}) has no values: {why}."


def test_arguments_that_are_keys_have_a_reason_for_no_values():
    @jax.jit
    def f(key, state):
        def step(carry, i):
            own, x = carry
            return (own, x + jax.random.normal(jax.random.fold_in(own, i), x.shape)), None

        return lax.scan(step, (key, X), jnp.arange(2))[0][1] + jax.random.normal(state["key"], X.shape)

    with jdw.capture(watch='key,own,state["key"],x') as run:
        f(jax.random.key(0), {"key": jax.random.key(1)})
    jax.effects_barrier()
    line = f.__wrapped__.__code__.co_firstlineno + 1
    why = "has no values: a PRNG key: there are no numbers in it."
    told = {f"'key' (line {line}) {why}", f"'own' (line {line + 2}) {why}", f"\"state['key']\" (line {line}) {why}"}
    assert {*run.status().notes} == told
    assert run["x"]["mean"].size == 2
    _, places = named_places(__file__, run.watch_seen())
    assert {"key", "own", "state['key']"} <= {one.name for one in places if one.why == IS_KEY}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("hiden", "is called 'hiden'. Did you mean 'hidden'"),
        ("dot_generl", "is called 'dot_generl'. Did you mean 'dot_general'?"),
        ("layer9/mlp", "is in the scope 'layer9/mlp'. Did you mean 'layer0/mlp'? There are the scopes layer0/mlp."),
        ("zzz", "is called 'zzz'. There are: hidden"),
    ],
)
def test_an_unknown_pattern_suggests_the_nearest_name_of_its_kind(asked, told):
    @jax.jit
    def f(x):
        with jax.named_scope("layer0"), jax.named_scope("mlp"):
            hidden = jnp.exp(x @ x)
        return hidden + 1

    with jdw.capture(watch=asked) as run:
        f(jnp.ones((3, 3)))
    (note,) = run.status().notes
    assert note.startswith(f"Nothing to watch {told}")


@pytest.mark.parametrize("asked", ['p["w"]', "p['w']", "p*['w']", '*["w"]'])
def test_a_leaf_is_asked_for_with_either_quotes_and_by_its_key(watched, asked):
    run = watched(jax.jit(lambda p: p["w"] * p["b"]), {"w": X, "b": X}, watch=asked)
    assert list(run.values) == ["p['w']"]
    assert not run.status().notes


def test_fields_of_a_called_object_have_their_names(watched, agrees):
    class Scaled(NamedTuple):
        by: jax.Array

        def twice(self, x):
            by = self.by * jnp.sin(x)
            return Scaled(by)

        def __call__(self, x):
            return x * self.by

    @jax.jit
    def f(x):
        scaled = Scaled(x).twice(x)
        y = scaled(x)
        return y * 2

    x = jnp.arange(3.0)
    run = watched(f, x)
    agrees(run["scaled.by"], x * jnp.sin(x))


def test_values_are_asked_for_by_the_names_that_runs_give_them(watched):
    def program(x):
        for _ in range(2):
            h = jnp.sin(x)
            x = h * 2
        h = jnp.cos(x)
        return h.sum() + x.sum()

    run = watched(jax.jit(program), jnp.asarray(X), watch="h")
    first = program.__code__.co_firstlineno + 2
    assert list(run.values) == [
        f"h@test_names.py:{first}#1",
        f"h@test_names.py:{first}#2",
        f"h@test_names.py:{first + 2}",
    ]
    for name, value in run.values.items():
        again = watched(jax.jit(program), jnp.asarray(X), watch=name)
        line = value.site.line
        assert {one.site.line for one in again.values.values()} == {line} and not again.status().notes
    folder = watched(jax.jit(program), jnp.asarray(X), watch=f"a@b/test_names.py:{first}")
    assert not folder.values


def test_a_gradient_that_nothing_asks_for_is_reported():
    with jdw.capture(watch="grad/h") as run:
        jax.jit(lambda x: (h := jnp.sin(x)) * h)(X)
    assert run.status().notes == ("Nothing that ran here differentiates 'h': it has no gradient.",)


def test_several_operations_of_one_expression_have_distinct_names(watched, agrees):
    def loss(x):
        h = jnp.tanh(x)
        return (h * h).mean()

    run = watched(jax.jit(jax.value_and_grad(loss)), jnp.asarray(X), watch=None, ops=True)
    h = np.tanh(X)
    agrees(run["h"], h)
    agrees(run["h * h"], h * h)
    agrees(run["(h * h).mean() (reduce_sum)"], (h * h).sum())
    agrees(run["(h * h).mean()"], (h * h).mean())
    kept = [name for name in run.values if name.startswith("jnp.tanh(x)") and "transposed" not in name]
    assert kept and "jnp.tanh(x)" not in kept, "what its derivative keeps says what it is"
