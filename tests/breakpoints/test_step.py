"""Test stepping through a program equation by equation, with values by their names in the source."""

from __future__ import annotations

import inspect
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.studies.stepping import run_stepwise
from jax_debug_widgets.breakpoints import Stepper
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.studies.questions import result_by_steps


def body(carry, x):
    y = carry * x
    z = jnp.sin(y)
    return z, y


def program(xs, scale):
    start = xs.sum() * scale
    end, ys = lax.scan(body, start, xs)
    positive = lax.cond(end > 0, lambda v: v * 2, lambda v: -v, end)
    return {"end": positive, "ys": ys}


XS = np.float32([0.5, 1.5, 2.5])
STEPPED = (program, jax.jit(program))


@pytest.mark.behaviour("G2")
@pytest.mark.parametrize("function", STEPPED, ids=["plain", "jitted"])
@pytest.mark.parametrize("into", [False, True], ids=["over", "into"])
def test_a_stepped_program_returns_the_results_of_the_function(function, into):
    standings = []

    def ask(standing):
        standings.append(standing)
        return into

    result = run_stepwise(function, (XS,), {"scale": 2.0}, ask, current_session().capture.lines_of)
    expected = program(jnp.asarray(XS), 2.0)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), result, expected)
    inside = {standing.path[-1] for standing in standings if len(standing.path) > 1}
    assert ("scan, step 2" in inside) is into
    assert ("cond, branch 1" in inside) is into or "cond, branch 0" in inside


TRANSFORMED = {
    "grad": jax.grad(lambda x: jnp.sin(x) ** 2),
    "vmap": jax.vmap(lambda x: jnp.sort(jnp.stack([x, -x]))),
    "while": lambda x: lax.while_loop(lambda v: v.sum() < 50, lambda v: v * 2, x),
    "fori": lambda x: lax.fori_loop(0, 3, lambda i, v: v + i.astype(v.dtype), x),
    "reverse scan": lambda x: lax.scan(lambda c, v: (c + v, c), jnp.float32(0), x, reverse=True),
    "empty scan": lambda x: lax.scan(lambda c, v: (c + v, c), jnp.float32(0), x[:0]),
    "custom_jvp": jax.nn.relu,
    "checkpoint": jax.checkpoint(jnp.cos),
    "keys": lambda x: x + jax.random.normal(jax.random.key(0), x.shape),
    "linalg": lambda x: jnp.linalg.solve(jnp.eye(3) * 2, x),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformed_programs_can_be_stepped_into(name):
    function = TRANSFORMED[name]
    x = XS[0] if name == "grad" else XS
    result = run_stepwise(function, (x,), {}, lambda _standing: True, current_session().capture.lines_of)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), result, function(jnp.asarray(x)))


@pytest.mark.behaviour("G2")
def test_equations_made_by_jax_stand_at_the_users_line():
    standings = []

    def norm(x):
        scaled = x * 2.0
        return jnp.linalg.norm(jax.nn.relu(scaled))

    jax.make_jaxpr(jax.nn.relu)(jnp.asarray(XS))  # JAX caches this trace for a later call.
    run_stepwise(
        norm, (XS,), {}, lambda standing: standings.append(standing) or True, current_session().capture.lines_of
    )
    first = inspect.getsourcelines(norm)[1]
    by_jax = {one.primitive: one.frame.line - first for one in standings if one.by_jax}
    assert {"max", "reduce_sum", "sqrt"} <= set(by_jax)
    assert set(by_jax.values()) == {2}
    assert not any(one.by_jax for one in standings if len(one.path) == 1)
    assert [one.frame.line - first for one in standings if one.primitive == "mul" and not one.by_jax] == [1]


def scaled(a, b):
    return jnp.sin(a) * b


def variables_at(function, args, primitive):
    """Return the variables of each frame at the last equation of this primitive, by the name of the function."""
    stepper, found = Stepper(current_session().debugger), []

    def ask(standing):
        if standing.primitive == primitive:
            found.append({one.function: one.variables for one in stepper._scene(standing).frames(())})
        return True

    run_stepwise(function, args, {}, ask, current_session().capture.lines_of)
    return found


def unrolled(ws, x):
    for w in ws:
        x = scaled(x, w)
    return x


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.checkpoint, lambda f: lambda *a: jax.vjp(f, *a)[0]])
def test_the_arguments_of_called_functions_are_among_their_variables(transform):
    def called(x, y):
        return scaled(x["in"] * 3, b=y) + scaled(y, x["in"])

    given = {"in": XS}, XS + 1
    first, second = variables_at(transform(called), given, "sin")
    np.testing.assert_allclose(first["scaled"]["a"], XS * 3)
    np.testing.assert_allclose(first["scaled"]["b"], XS + 1)
    np.testing.assert_allclose(second["scaled"]["a"], XS + 1)
    np.testing.assert_allclose(second["scaled"]["b"], XS)


def test_a_stop_hides_variables_of_a_python_loop_that_may_be_of_another_iteration():
    for at in variables_at(unrolled, ([XS, XS + 1], XS), "sin"):
        (own,) = [variables for function, variables in at.items() if function == "scaled"]
        assert own == {}
        assert "w" not in at["unrolled"]


@pytest.mark.behaviour("G2")
def test_a_page_steps_over_into_and_out_of_equations(page):
    first = inspect.getsourcelines(program)[1]
    seen = []

    def look(stop):
        frame = stop["frames"][0]
        seen.append((stop["name"], frame["line"] - first, [one["name"] for one in frame["locals"]]))

    def go(stop, how, line=0):
        page.ask("resume", stop=stop["id"], how=how, line=line)
        return page.stop()

    def user():
        stop = page.stop()
        look(stop)
        while stop["name"] != "scan":
            stop = go(stop, "step")
        look(stop)
        stop = go(stop, "into")
        look(stop)
        assert stop["step"] == [0] and [frame["function"] for frame in stop["frames"]] == ["body", "program"]
        stop = go(stop, "step")
        assert "y" in [one["name"] for one in stop["frames"][0]["locals"]]
        assert page.say(stop, "float(y)") == "4.5"
        stop = go(stop, "out")
        assert len(stop["frames"]) == 1 and stop["frames"][0]["line"] == first + 3
        stop = go(stop, "line", line=first + 3)
        assert "go into its body" in page.say(stop, "help") and "another breakpoint" not in page.say(stop, "help")
        before = stop["id"]
        page.say(stop, "n")
        stop = page.stop()
        assert stop["id"] != before
        page.go_on(stop)

    with jdw.capture() as page.run:
        page.run.panel  # noqa: B018
        thread = threading.Thread(target=user)
        thread.start()
        result = result_by_steps(current_session(), program, XS, scale=2.0)
    thread.join(30)
    assert not thread.is_alive()
    np.testing.assert_allclose(result["ys"], program(jnp.asarray(XS), 2.0)["ys"], rtol=1e-6)
    assert seen[0][0] == "reduce_sum" and seen[0][1] == 1
    assert seen[1][0] == "scan" and seen[1][1] == 2 and "start" in seen[1][2]
    assert seen[2][0] == "mul" and "carry" in seen[2][2] and "x" in seen[2][2]


def loss_fn(params, x, y):
    h = jax.nn.relu(x @ params["w1"])
    logits = h @ params["w2"]
    logp = jax.nn.log_softmax(logits)
    loss = -logp[jnp.arange(len(y)), y].mean()
    return loss  # noqa: RET504 - it has a name.


def training_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return new, loss


def layer(x, w):
    pre = x @ w
    return jnp.tanh(pre)


def two_layers(x, w):
    first = layer(x, w)
    return layer(first, w)


def calls_at_each(function, args, *, into=False):
    """Return for each equation the calls it is in, as (function, variables), innermost first."""
    found = []

    class Debugger:
        def step(self, scene):
            frames = scene.frames(())
            found.append([(frame.function, dict(frame.variables)) for frame in frames])
            return ("into" if into else "step"), None

    run_stepwise(function, args, {}, Stepper(Debugger()), current_session().capture.lines_of)
    return found


@pytest.mark.behaviour("G2")
@pytest.mark.parametrize("jitted", [False, True])
def test_a_name_has_what_the_source_assigns_to_it(jitted):
    rng = np.random.default_rng(0)
    params = {"w1": np.float32(rng.normal(size=(4, 3))), "w2": np.float32(rng.normal(size=(3, 5)))}
    x, y = np.float32(rng.normal(size=(7, 4))), np.arange(7) % 5
    h = jax.nn.relu(x @ params["w1"])
    logits = h @ params["w2"]
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    own = {"h": h, "logits": logits, "logp": jax.nn.log_softmax(logits), "loss": loss}
    outer = {"x": x, "y": y, "loss": loss}
    for root, tree in {"params": params, "grads": grads, "new": new}.items():
        outer |= {f"{root}['{name}']": leaf for name, leaf in tree.items()}
    own |= {"x": x, "y": y, **{f"params['{name}']": leaf for name, leaf in params.items()}}
    stops = calls_at_each(jax.jit(training_step) if jitted else training_step, (params, x, y))
    seen = {function: set() for function in ("loss_fn", "training_step")}
    for calls in stops:
        assert calls[-1][0] == "training_step"
        for function, variables in calls:
            right = own if function == "loss_fn" else outer if function == "training_step" else {}
            assert variables.keys() <= right.keys()
            seen.get(function, set()).update(variables)
            for name, value in variables.items():
                np.testing.assert_allclose(value, right[name], rtol=1e-4, atol=1e-5, err_msg=f"{name} in {function}")
    assert seen["loss_fn"] == set(own)
    assert seen["training_step"] >= outer.keys() - {"new['w1']", "new['w2']"}


@pytest.mark.behaviour("G2")
def test_each_call_of_a_function_has_variables_of_its_own():
    x, w = jnp.ones(3), jnp.eye(3) / 2
    stops = calls_at_each(two_layers, (x, w))
    inside = [(calls[0][1], set(calls[1][1])) for calls in stops if calls[0][0] == "layer"]
    of_first = [own for own, outer in inside if "first" not in outer]
    of_second = [own for own, outer in inside if "first" in outer]
    assert [set(own) for own in of_first] == [{"x", "w"}, {"x", "w", "pre"}] == [set(own) for own in of_second]
    np.testing.assert_allclose([of_first[0]["x"], of_second[0]["x"]], [x, jnp.tanh(x @ w)])
    np.testing.assert_allclose(of_second[-1]["pre"], jnp.tanh(x @ w) @ w)


def test_a_program_without_user_lines_can_be_stepped_through():
    stops = calls_at_each(jnp.linalg.norm, (XS,), into=True)
    assert stops and all(calls for calls in stops)


@pytest.mark.behaviour("G2")
def test_the_console_knows_a_tree_by_its_leaves(page):
    def user():
        stop = page.stop()
        assert [frame["function"] for frame in stop["frames"]] == ["loss_fn", "training_step"]
        told = page.ask("command", stop=stop["id"], text="logits")
        assert told["error"] and "not been computed yet" in told["text"]
        page.say(stop, "u")
        assert page.say(stop, "params['w1'].shape") == "(4, 3)"
        page.go_on(stop, "all")

    params = {"w1": np.ones((4, 3), np.float32), "w2": np.ones((3, 5), np.float32)}
    with jdw.capture() as page.run:
        page.run.panel  # noqa: B018
        thread = threading.Thread(target=user)
        thread.start()
        result_by_steps(current_session(), training_step, params, np.ones((7, 4), np.float32), np.zeros(7, int))
    thread.join(30)
    assert not thread.is_alive()
