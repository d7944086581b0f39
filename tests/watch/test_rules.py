"""Test that values in the rules of `custom_jvp` and `custom_vjp` have their names, wherever JAX runs the rules."""

from __future__ import annotations

from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import versions

pytestmark = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="JAX 0.8 has the caller's frames on all that a rule computes"
)

W = jnp.linspace(-1.0, 1.0, 9).reshape(3, 3)
X = jnp.linspace(-2.0, 1.0, 6).reshape(2, 3)
seen = defaultdict(list)


def note(**values: object) -> None:
    """Keep the value that an unjitted run assigns."""
    for name, value in values.items():
        if not isinstance(value, jax.core.Tracer):
            seen[name].append(np.asarray(value))


zero = {"slope": 0.0}
"""What is added, so that a derivative can be taken of it."""


@jax.custom_vjp
def clipped(x):
    return jnp.sin(x) * 2


def clipped_forward(x):
    f = jnp.sin(x)
    kept = f * 3
    note(f=f, kept=kept)
    return f * 2, (x, kept)


def clipped_backward(residuals, cotangent):
    x, kept = residuals
    slope = jnp.cos(x) + zero["slope"]
    scaled = cotangent * slope * 2
    norm = jnp.sqrt((scaled**2).sum())
    limit = jnp.minimum(1.0, 0.5 / norm)
    back = scaled * limit + kept * 0.01
    note(slope=slope, scaled=scaled, norm=norm, limit=limit, back=back)
    return (back,)


clipped.defvjp(clipped_forward, clipped_backward)


@jax.custom_jvp
def softened(x):
    return jnp.log1p(jnp.exp(x))


@softened.defjvp
def softened_rule(primals, tangents):
    (x,), (tangent,) = primals, tangents
    small = jnp.exp(-x)
    sigmoid = 1 / (1 + small)
    note(small=small, sigmoid=sigmoid)
    return softened(x), sigmoid * tangent


def network(w, x, activation):
    h = x @ w
    y = activation(h)
    z = jnp.tanh(y) * 2
    return (z**2).sum()


def recurrent(w, x, activation):
    def body(c, _):
        h = c @ w
        y = activation(h)
        return y, None

    return (lax.scan(body, x, None, length=3)[0] ** 2).sum()


def branching(w, x, activation):
    def taken(h):
        y = activation(h)
        return y * 2

    return (lax.cond(x.sum() < 5, taken, lambda h: h, x @ w) ** 2).sum()


PROGRAMS = {
    "direct": network,
    "scan": recurrent,
    "cond": branching,
    "jit": jax.jit(network, static_argnums=2),
    "checkpoint": jax.checkpoint(network, static_argnums=2),
    "checkpointed scan": jax.checkpoint(recurrent, static_argnums=2),
    "vmap": lambda w, x, f: jax.vmap(network, (None, 0, None))(w, x[None], f).sum(),
}
UNTRACED = {"vmap": "direct", "checkpoint": "direct", "checkpointed scan": "scan"}
"""Whose un-jitted run tells what is true: of lanes, and what `jax.checkpoint` traces, nothing can be noted."""

RULES = {
    clipped: ("f", "kept", "slope", "scaled", "norm", "limit", "back"),
    softened: ("small", "sigmoid"),
}


@pytest.mark.behaviour("W1", "W2")
@pytest.mark.parametrize("around", PROGRAMS)
@pytest.mark.parametrize("activation", RULES)
@pytest.mark.parametrize("outside", ["jit(grad)", "grad(jit)"])
@pytest.mark.each
def test_values_in_a_custom_rule_have_their_names(activation, around, outside, watched, agrees):
    def loss(w):
        return PROGRAMS[around](w, X, activation)

    program = jax.jit(jax.value_and_grad(loss)) if outside == "jit(grad)" else jax.value_and_grad(jax.jit(loss))
    run = watched(program, W)
    seen.clear()
    with jax.disable_jit():
        plain = jax.value_and_grad(lambda w: PROGRAMS[UNTRACED.get(around, around)](w, X, activation))(W)
    np.testing.assert_allclose(run.result[1], plain[1], rtol=1e-4)
    for name in RULES[activation]:
        value, executions = run[name], seen[name]
        assert executions
        if value.site.function == "clipped_backward":  # In the unjitted run the last iteration comes first.
            executions = executions[::-1]
        assert len(value.steps) == len(executions)
        for step, array in enumerate(executions):
            agrees(value, array, step)


def test_values_in_a_differentiated_custom_rule_have_gradients(watched, agrees):
    def curvature(w):
        return (jax.grad(lambda w: network(w, X, clipped))(w) ** 2).sum()

    run = watched(jax.jit(jax.grad(curvature)), W)
    seen.clear()
    jax.grad(lambda w: network(w, X, clipped))(W)
    for name in RULES[clipped]:
        agrees(run[name], seen[name][0])

    def with_zero(added):
        zero["slope"] = added
        try:
            return curvature(W)
        finally:
            zero["slope"] = 0.0

    agrees(run["grad/slope"], jax.grad(with_zero)(jnp.zeros(X.shape)))


def test_a_rule_that_is_run_several_times_has_a_number_for_each(watched, agrees):
    def loss(w):
        x = X
        for _ in range(2):
            x = clipped(x @ w)
        return (x**2).sum()

    run = watched(jax.jit(jax.grad(loss)), W)
    seen.clear()
    jax.grad(loss)(W)
    for name in RULES[clipped]:
        numbered = sorted(label for label in run.values if label.startswith(f"{name}@"))
        assert len(numbered) == len(seen[name]) == 2
        for label, array in zip(numbered, seen[name], strict=True):
            agrees(run[label], array)


def test_results_of_a_pullback_in_a_backward_rule_have_their_names(watched, agrees):
    """In the adjoint method the rule differentiates again, and JAX marks all its operations as backward."""

    def field(theta, z):
        return jnp.tanh(z @ theta)

    @jax.custom_vjp
    def step(theta, z):
        return z + field(theta, z)

    def backward(kept, ct):
        theta, z = kept
        _, pull = jax.vjp(field, theta, z)
        of_theta, of_z = pull(ct)
        return of_theta * 2, of_z + ct

    step.defvjp(lambda theta, z: (step(theta, z), (theta, z)), backward)
    theta, z = jnp.eye(2) * 0.5 + 0.1, jnp.arange(6.0).reshape(3, 2) / 5
    program = jax.jit(jax.grad(lambda theta, z: jnp.sum(step(theta, z) ** 2), (0, 1)))
    run = watched(program, theta, z, watch="of_theta,of_z")
    of_theta, of_z = jax.vjp(field, theta, z)[1](2 * step(theta, z))
    agrees(run["of_theta"], of_theta)
    agrees(run["of_z"], of_z)


def field(theta, z):
    hid = jnp.tanh(z @ theta)
    return hid


def adjoint_step(theta, state):
    z, a, gth = state
    dz, pull = jax.vjp(field, theta, z)
    dth, da = pull(a)
    z = z - 0.25 * dz
    a = a + 0.25 * da
    gth = gth + 0.25 * dth
    return z, a, gth


ADJOINT_LOOPS = {
    "fori": lambda theta, state: lax.fori_loop(0, 4, lambda _, s: adjoint_step(theta, s), state),
    "scan": lambda theta, state: lax.scan(lambda s, _: (adjoint_step(theta, s), None), state, None, length=4)[0],
    "while": lambda theta, state: lax.while_loop(
        lambda s: s[0] < 4, lambda s: (s[0] + 1, adjoint_step(theta, s[1])), (0, state)
    )[1],
    "jit": jax.jit(lambda theta, state: lax.fori_loop(0, 4, lambda _, s: adjoint_step(theta, s), state)),
    "once": adjoint_step,
}


def solver(loop):
    """Return four steps of `z + field(z) / 4` with the adjoint method, whose rule runs backwards in time in `loop`."""

    @jax.custom_vjp
    def solve(theta, z):
        return lax.fori_loop(0, 4, lambda _, z: z + 0.25 * field(theta, z), z)

    def forward(theta, z):
        z = solve(theta, z)
        return z, (theta, z)

    def backward(kept, ct):
        theta, z = kept
        z0, a0, total = loop(theta, (z, ct, jnp.zeros_like(theta)))
        return total, a0 + 0 * z0

    solve.defvjp(forward, backward)
    return solve


@pytest.mark.behaviour("W2")
@pytest.mark.parametrize("name", ADJOINT_LOOPS)
@pytest.mark.parametrize("outside", ["jit(grad)", "grad(jit)", "scan"])
@pytest.mark.each
def test_values_in_differentiated_loops_of_a_backward_rule_have_their_names(name, outside, watched, agrees):
    solve = solver(ADJOINT_LOOPS[name])

    def loss(theta, z):
        return jnp.sum(solve(theta, z) ** 2)

    def unmoved(at):
        return jax.tree.map(lambda one, its: one - 0 * its, at, jax.grad(loss, (0, 1))(*at))

    theta, start = jnp.eye(2) * 0.5 + 0.1, jnp.arange(6.0).reshape(3, 2) / 5
    programs = {
        "jit(grad)": jax.jit(jax.grad(loss, (0, 1))),
        "grad(jit)": jax.grad(jax.jit(loss), (0, 1)),
        "scan": jax.jit(lambda *at: lax.scan(lambda at, _: (unmoved(at), None), at, None, length=2)[0]),
    }
    run = watched(programs[outside], theta, start, watch=True)
    z = solve(theta, start)
    state, steps = (z, 2 * z, jnp.zeros_like(theta)), 1 if name == "once" else 4
    for step in range(steps):
        z, a, gth = state
        hid, pull = jax.vjp(field, theta, z)
        dth, da = pull(a)
        state = z - 0.25 * hid, a + 0.25 * da, gth + 0.25 * dth
        wanted = {"dth": dth, "da": da, "a": state[1], "gth": state[2]}
        if name != "once":
            wanted |= {"dz": hid, "z": state[0]}
        line = adjoint_step.__code__.co_firstlineno
        for each, array in wanted.items():
            own = [
                one for one in run.values.values() if one.site.watch.name == each and line < one.site.line < line + 8
            ]
            own.sort(key=lambda one: one.site.line)
            # Without a loop the argument has the name of its caller.
            assert len(own) == 1 + (name == "once" and each in ("a", "gth"))
            for round_of in range(2 if outside == "scan" else 1):
                agrees(own[-1], array, step + steps * round_of)
        second = [label for label in run.values if label.startswith("hid@") and label.endswith("#2")]
        agrees(run[second[0]], hid, step)
        agrees(run[f"grad/{second[0]}"], a, step)
    assert not [label for label in run.values if label.startswith(("hid[", "grad/hid["))]


def test_operations_that_jax_adds_to_a_rule_are_no_parts_of_its_values(watched, agrees):
    @jax.custom_jvp
    def clip(x):
        return jnp.maximum(x, 0.1)

    @clip.defjvp
    def rule(primals, tangents):
        (x,), (tangent,) = primals, tangents
        slope = jax.nn.sigmoid(5 * (x - 0.1))
        return clip(x), slope * tangent

    def loss(x):
        return jnp.sum(clip(x) ** 2)

    x = jnp.array([0.3, -0.2])
    run = watched(jax.jit(jax.grad(lambda x: jnp.sum(jax.grad(loss)(x) ** 2))), x, watch="slope")
    values = [one for label, one in run.values.items() if not label.startswith("grad/")]
    assert {one.site.watch.name for one in values} == {"slope"}
    for one in values:
        agrees(one, jax.nn.sigmoid(5 * (x - 0.1)))


@jax.custom_vjp
def both(x):
    return jnp.sin(x), jnp.cos(x)


def both_forward(x):
    s, c = jnp.sin(x), jnp.cos(x)
    return (s, c), (s, c)


def both_backward(kept, cotangents):
    (s, c), (of_s, of_c) = kept, cotangents
    return (of_s * c - of_c * s,)


both.defvjp(both_forward, both_backward)


@jax.custom_jvp
def pushed(x):
    return jnp.sin(x), jnp.cos(x)


@pushed.defjvp
def pushed_rule(primals, tangents):
    (x,), (tangent,) = primals, tangents
    s, c = jnp.sin(x), jnp.cos(x)
    return (s, c), (c * tangent, -s * tangent)


@pytest.mark.parametrize("function", [both, pushed], ids=["custom_vjp", "custom_jvp"])
@pytest.mark.parametrize("around", [jax.jit, lambda f: jax.jit(jax.value_and_grad(f))], ids=["jit", "gradient"])
def test_the_parts_of_what_a_function_with_a_rule_gives(function, around, watched, agrees):
    def loss(x, y):
        p, q = function(x)
        return (q - p * y).sum()

    x = jnp.linspace(0.0, 1.0, 3)
    run = watched(around(loss), x, x * 2)
    agrees(run["p"], jnp.sin(x))
    agrees(run["q"], jnp.cos(x))
    assert not [label for label in run.values if label.startswith(("p[", "q["))]
