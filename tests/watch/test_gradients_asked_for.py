"""Test `loss, grads = jax.value_and_grad(f)(params)`: `grads['w']` is the gradient of `params['w']`."""

from __future__ import annotations

from functools import partial

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
import pytest
from flax import nnx
from flax.training.train_state import TrainState
from jax import lax

from jax_debug_widgets._jax.compat import versions

PARAMS = {"w": jnp.eye(3), "b": jnp.ones(3)}
X = jnp.linspace(0.1, 0.6, 6).reshape(2, 3)


def loss_fn(params, x):
    h = jnp.tanh(x @ params["w"] + params["b"][None])
    return (h**2).mean()


at_module = jax.value_and_grad(loss_fn)


@jax.value_and_grad
def decorated(params, x):
    return loss_fn(params, x)


@partial(jax.value_and_grad, has_aux=True)
def with_aux(params, x):
    return loss_fn(params, x), x


def direct(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    return loss, grads


def grad_alone(params, x):
    grads = jax.grad(loss_fn)(params, x)
    return grads


def by_number(params, x):
    loss, grads = jax.value_and_grad(lambda x, params: loss_fn(params, x), argnums=1)(x, params)
    return loss, grads


def by_name(params, x):
    asked = jax.value_and_grad(loss_fn)
    loss, grads = asked(params, x)
    return loss, grads


def of_module(params, x):
    loss, grads = at_module(params, x)
    return loss, grads


def of_decorated(params, x):
    loss, grads = decorated(params, x)
    return loss, grads


def of_partial(params, x):
    (loss, aux), grads = with_aux(params, x)
    return loss, grads, aux


def in_helper(params, x):
    def update(weights, x):
        loss, grads = jax.value_and_grad(loss_fn)(weights, x)
        return loss, grads

    return update(params, x)


STEPS = [direct, grad_alone, by_number, by_name, of_module, of_decorated, of_partial, in_helper]


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize("step", STEPS)
def test_parameters_have_the_gradient_that_a_step_computes(step, watched, agrees):
    run = watched(jax.jit(step), PARAMS, X, watch="params")
    for name, gradient in jax.grad(loss_fn)(PARAMS, X).items():
        agrees(run[f"params['{name}']"], PARAMS[name])
        agrees(run[f"params['{name}']"].gradient, gradient)


def test_gradients_of_parameters_are_found_by_the_pattern_for_all_gradients(watched):
    run = watched(jax.jit(direct), PARAMS, X, watch="grad/*")
    assert sorted(run.values) == ["grad/h", "grad/params['b']", "grad/params['w']"]


def test_a_gradient_with_respect_to_one_array_belongs_to_this_array(watched, agrees):
    @jax.jit
    def step(w, x):
        g = jax.grad(lambda w, x: ((x @ w) ** 2).sum(), argnums=1)(w, x)
        return x - g

    run = watched(step, PARAMS["w"], X)
    agrees(run["x"].gradient, 2 * X)
    assert "grad/w" not in run.values


@pytest.mark.parametrize("is_scanned", [False, True])
def test_each_step_of_a_loop_has_its_gradients_of_parameters(is_scanned, watched, agrees):
    def body(params, x):
        loss, grads = jax.value_and_grad(loss_fn)(params, x)
        params = jax.tree.map(lambda p, g: p - g, params, grads)
        return params, loss

    @jax.jit
    def train(params, xs):
        return lax.scan(body, params, xs)

    xs = jnp.stack([X, X * 2, X * 3])
    run = watched(train, PARAMS, xs, watch="params,grad/params") if is_scanned else watched(jax.jit(body), PARAMS, X)
    params = PARAMS
    for step, x in enumerate(xs[: 3 if is_scanned else 1]):
        gradients = jax.grad(loss_fn)(params, x)
        for name in PARAMS:
            agrees(run[f"grad/params['{name}']"], gradients[name], step)
        params = jax.tree.map(lambda p, g: p - g, params, gradients)


def test_parameters_of_two_derivatives_have_both_gradients(watched, agrees):
    @jax.jit
    def step(params, x):
        first = jax.grad(loss_fn)(params, x)
        second = jax.grad(lambda params: loss_fn(params, x * 2) ** 2)(params)
        return jax.tree.map(lambda p, f, s: p - f - s, params, first, second)

    run = watched(step, PARAMS, X)
    own = jax.grad(loss_fn)(PARAMS, X), jax.grad(lambda params: loss_fn(params, X * 2) ** 2)(PARAMS)
    for leaf in PARAMS:
        label = next(name for name in run.values if name.startswith(f"grad/params['{leaf}']@"))
        for number, wanted in enumerate(own, 1):
            agrees(run[f"{label.partition('#')[0]}#{number}"], wanted[leaf])
        agrees(run[f"params['{leaf}']"].gradient, own[0][leaf])


def both(params, x):
    grads, slope = jax.grad(loss_fn, argnums=(0, 1))(params, x)
    return grads, slope


def both_with_value(params, x):
    loss, (grads, slope) = jax.value_and_grad(loss_fn, (0, 1))(params, x)
    return grads, slope, loss


def both_with_aux(params, x):
    (grads, slope), aux = jax.grad(lambda params, x: (loss_fn(params, x), x * 2), argnums=(0, 1), has_aux=True)(
        params, x
    )
    return grads, slope, aux


def pulled_back(params, x):
    loss, pull_back = jax.vjp(loss_fn, params, x)
    grads, slope = pull_back(1.0)
    return grads, slope, loss


def pulled_back_alone(params, x):
    loss, pull_back = jax.vjp(lambda params: loss_fn(params, x), params)
    (grads,) = pull_back(jnp.ones_like(loss))
    _, pull_back_x = jax.vjp(lambda x: loss_fn(params, x), x)
    slope = pull_back_x(1.0)[0]
    return grads, slope, loss


def pulled_back_by_equinox(params, x):
    loss, pull_back = eqx.filter_vjp(loss_fn, params, x)
    grads, slope = pull_back(jnp.ones_like(loss))
    return grads, slope, loss


since_9 = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="what `jax.vjp` gives is not told on jax 0.8 (docs/limits.md)"
)
PULLED_BACK = [pytest.param(one, marks=since_9) for one in (pulled_back, pulled_back_alone, pulled_back_by_equinox)]
SEVERAL = [both, both_with_value, both_with_aux, *PULLED_BACK]


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize("step", SEVERAL)
@pytest.mark.parametrize("around", ["jit", "jit of vmap"])
@pytest.mark.each
def test_parameters_of_a_derivative_by_several_arguments_have_their_gradients(step, around, watched, agrees):
    ways = {"jit": jax.jit(step), "jit of vmap": jax.jit(jax.vmap(step, (None, 0)))}
    run = watched(ways[around], PARAMS, X[None] if around == "jit of vmap" else X)
    grads, slope = jax.grad(loss_fn, (0, 1))(PARAMS, X)
    agrees(run["slope"], slope)
    agrees(run["grad/x"], slope)
    for name, gradient in grads.items():
        agrees(run[f"grads['{name}']"], gradient)
        agrees(run[f"grad/params['{name}']"], gradient)


def energy(pair, x):
    w, b = pair
    return ((jnp.tanh(w * x + b) ** 2) * w).sum()


def of_pair(w, b, x):
    gw, gb = jax.grad(energy)((w, b), x)
    return w - gw, b - gb


def of_named_pair(w, b, x):
    pair = (w, b)
    gw, gb = jax.grad(energy)(pair, x)
    return w - gw, b - gb


def of_pair_beside_its_value(w, b, x):
    value, (gw, gb) = jax.value_and_grad(energy)((w, b), x)
    return w - gw, b - gb, value


def of_pair_and_more(w, b, x):
    (gw, gb), slope = jax.grad(energy, argnums=(0, 1))((w, b), x)
    return w - gw, b - gb, slope


def of_pair_of_which_one_is_used(w, b, x):
    gw, _ = jax.grad(energy)((w, b), x)
    return w - gw, b


def of_pair_as_a_whole(w, b, x):
    g = jax.grad(energy)((w, b), x)
    return w - g[0], b - g[1]


PAIRS = [of_pair, of_named_pair, of_pair_beside_its_value, of_pair_and_more, of_pair_of_which_one_is_used]


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize("step", [*PAIRS, of_pair_as_a_whole], ids=lambda one: one.__name__)
@pytest.mark.parametrize("shape", [(3,), ()], ids=["of one type", "of two types"])
def test_a_gradient_that_is_taken_apart_where_it_is_assigned(step, shape, watched, agrees):
    w, b, x = jnp.linspace(-1, 1, 3), jnp.ones(shape) * 0.3, jnp.arange(3.0)
    of_w, of_b = jax.grad(energy)((w, b), x)
    run = watched(jax.jit(step), w, b, x)
    names = ("g[0]", "g[1]") if step is of_pair_as_a_whole else ("gw", "gb")
    used = 1 if step is of_pair_of_which_one_is_used else 2
    for name, argument, gradient in [*zip(names, "wb", (of_w, of_b), strict=True)][:used]:
        agrees(run[name], gradient)
        if step is not of_named_pair:
            agrees(run[f"grad/{argument}"], gradient)
    assert {label for label in run.values if label.startswith("g") and "/" not in label} == {*names[:used]}


def test_a_star_and_what_is_another_list_then_are_not_what_was_differentiated(watched, agrees):
    def total(ws, x):
        for w in ws:
            x = jnp.tanh(x @ w)
        return (x**2).sum()

    @jax.jit
    def step(ws, x):
        first, *rest = jax.grad(total)(ws, x)
        ws = [ws[0] - first] + [w - g for w, g in zip(ws[1:], rest, strict=True)]
        a, b = jax.grad(total)(ws, x)
        return a @ b

    ws = [jnp.eye(3), jnp.ones((3, 3)) / 3]
    run = watched(step, ws, X)
    (first, last), names = jax.grad(total)(ws, X), [name for name in run.values if name.startswith("grad/ws")]
    for name, gradient in zip(("grad/ws[0]", "grad/ws[1]"), (first, last), strict=True):
        if name in names:
            agrees(run[name], gradient)
    a, b = jax.grad(total)([ws[0] - first, ws[1] - last], X)
    agrees(run["a"], a)
    agrees(run["b"], b)


def of_argument(pair, x):
    gw, gb = jax.grad(energy)(pair, x)
    return pair[0] - gw, pair[1] - gb


@since_9
def test_parts_of_an_argument_have_what_is_taken_apart_for_them(watched, agrees):
    pair, x = (jnp.linspace(-1, 1, 3), jnp.ones(3) * 0.3), jnp.arange(3.0)
    run = watched(jax.jit(of_argument), pair, x)
    for number, gradient in enumerate(jax.grad(energy)(pair, x)):
        agrees(run[("gw", "gb")[number]], gradient)
        agrees(run[f"grad/pair[{number}]"], gradient)


def of_several(state, _):
    params, x = state
    grads, slope = jax.grad(loss_fn, argnums=(0, 1))(params, x)
    return (jax.tree.map(lambda p, g: p - g, params, grads), x - slope), None


def of_pulled_back(state, _):
    params, x = state
    _, pull_back = jax.vjp(loss_fn, params, x)
    grads, slope = pull_back(1.0)
    return (jax.tree.map(lambda p, g: p - g, params, grads), x - slope), None


@pytest.mark.parametrize("update", [of_several, pytest.param(of_pulled_back, marks=since_9)])
def test_several_gradients_in_each_step_of_a_loop(update, watched, agrees):
    run = watched(jax.jit(lambda *state: lax.scan(update, state, None, 3)), PARAMS, X)
    params, x = PARAMS, X
    for step in range(3):
        grads, slope = jax.grad(loss_fn, (0, 1))(params, x)
        agrees(run["slope"], slope, step)
        for name, gradient in grads.items():
            agrees(run[f"grads['{name}']"], gradient, step)
        params, x = jax.tree.map(lambda p, g: p - g, params, grads), x - slope


def test_gradients_of_one_type_that_come_in_another_order(watched, agrees):
    def energy(a, b):
        h = jnp.tanh(b * 2)
        return (h * a).sum()

    @jax.jit
    def step(a, b):
        of_a, of_b = jax.grad(energy, argnums=(0, 1))(a, b)
        b_first, a_second = jax.grad(energy, argnums=(1, 0))(a, b)
        return a - of_b * b + of_a, b - b_first * a + a_second

    a, b = jnp.arange(3.0), jnp.linspace(0.1, 0.5, 3)
    run = watched(step, a, b)
    for name in ("of_a", "a_second"):
        agrees(run[name], jnp.tanh(b * 2))
    for name in ("of_b", "b_first"):
        agrees(run[name], 2 * a * (1 - jnp.tanh(b * 2) ** 2))


def test_a_name_with_several_meanings_has_the_one_that_python_has_chosen(watched, agrees):
    @jax.jit
    def step(params, x):
        asked = jax.grad(loss_fn) if x.size else jax.grad(loss_fn, argnums=1)
        grads = asked(params, x)
        return grads

    run = watched(step, PARAMS, X)
    for name, gradient in jax.grad(loss_fn)(PARAMS, X).items():
        agrees(run[f"grad/params['{name}']"], gradient)
    assert "grad/x" not in run.values


def test_the_parameters_of_a_train_state(watched, agrees):
    model = nn.Dense(2)
    state = TrainState.create(apply_fn=model.apply, params=model.init(jax.random.key(0), X), tx=optax.sgd(0.1))

    def loss_of(params, x):
        return (model.apply(params, x) ** 2).mean()

    @jax.jit
    def train_step(state, x):
        loss, grads = jax.value_and_grad(loss_of)(state.params, x)
        return state.apply_gradients(grads=grads), loss

    run = watched(train_step, state, X, watch="state.params")
    gradient = jax.grad(loss_of)(state.params, X)["params"]["kernel"]
    begin = "state.params['params']['kernel']"
    kernel = next(value for name, value in run.values.items() if name.startswith(begin))
    agrees(kernel, state.params["params"]["kernel"])
    agrees(kernel.gradient, gradient)


@pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="gradients have their leaves by number on jax 0.8 (docs/limits.md)"
)
def test_the_fields_of_equinox_and_flax_nnx(watched, agrees):
    linear = eqx.nn.Linear(3, 2, key=jax.random.key(0))

    def loss_of(model, x):
        return (jax.vmap(model)(x) ** 2).mean()

    @eqx.filter_jit
    def step(model, x):
        loss, grads = eqx.filter_value_and_grad(loss_of)(model, x)
        return loss, grads

    run = watched(step, linear, X)
    agrees(run["model.weight"].gradient, eqx.filter_grad(loss_of)(linear, X).weight)

    @nnx.jit
    def nnx_step(model, x):
        loss, grads = nnx.value_and_grad(lambda model: (model(x) ** 2).mean())(model)
        return loss, grads

    module = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    run = watched(nnx_step, module, X)
    _, gradients = nnx_step(module, X)
    agrees(run["model.kernel"].gradient, gradients["kernel"][...])
