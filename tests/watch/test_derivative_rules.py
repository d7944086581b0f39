"""Test for all operations of JAX that a name shows its value, and never a factor of the derivative rule.

Each operation is a statement of its own function. The functions are called in the ways below and differentiated in the
kinds: in each kind if their rule computes something that resembles the value, else in one. The shown value must be that
of the unjitted function, or none.
"""

from __future__ import annotations

import sys
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw

ALIKE = {
    "integer_pow": "x ** 3",
    "integer_pow_below_0": "x ** -2",
    "pow": "x ** 2.5",
    "pow_of_sum": "(1.0 + x) ** -2.0",
    "pow_of_both": "lax.pow(x, x)",
    "pow_of_int": "lax.pow(x, 3)",
    "power_of_power": "(x ** 3 + 1) ** 2.5",
    "polygamma": "lax.polygamma(jnp.ones_like(x), x)",
    "logaddexp": "jnp.logaddexp(x, 0.3)",
    "select": "jnp.where(x > 0.5, jnp.log(x), x)",
    "mul": "x * x",
    "div": "x / (x + 1)",
    "sort_several": "lax.sort((x, x * 2))[1]",
    "triangular_solve": "lax.linalg.triangular_solve(x + jnp.eye(3), x, left_side=True)",
    "cumprod": "lax.cumprod(x)",
    "scan": "lax.scan(lambda c, _: (c ** 1.5, None), x, None, length=2)[0]",
    "cond": "lax.cond(x[0, 0] > 0, lambda v: v ** 3, lambda v: v, x)",
}
"""What the rule computes beside the value is of the same primitive, or looks like the value otherwise."""

OTHERS = {
    "abs": "lax.abs(x - 0.5)",
    "acos": "lax.acos(x)",
    "acosh": "lax.acosh(x + 1)",
    "add": "x + x",
    "asin": "lax.asin(x)",
    "asinh": "lax.asinh(x)",
    "atan": "lax.atan(x)",
    "atan2": "lax.atan2(x, x + 2)",
    "atanh": "lax.atanh(x)",
    "bessel_i1e": "lax.bessel_i1e(x)",
    "bessel_i0e": "lax.bessel_i0e(x)",
    "broadcast_in_dim": "jnp.broadcast_to(x, (2, 3, 3))",
    "cbrt": "lax.cbrt(x)",
    "cholesky": "lax.linalg.cholesky(x @ x.T + 3 * jnp.eye(3))",
    "clamp": "lax.clamp(0.3, x, 0.6)",
    "complex": "jnp.abs(lax.complex(x, x))",
    "concatenate": "lax.concatenate([x, x], 0)",
    "conv_general_dilated": "lax.conv(x[None, None], x[None, None], (1, 1), 'SAME')",
    "cos": "lax.cos(x)",
    "cosh": "lax.cosh(x)",
    "cumlogsumexp": "lax.cumlogsumexp(x)",
    "cummax": "lax.cummax(x)",
    "cummin": "lax.cummin(x)",
    "cumsum": "lax.cumsum(x)",
    "custom_linear_solve": "jnp.linalg.solve(x + 3 * jnp.eye(3), x)",
    "digamma": "lax.digamma(x)",
    "dot_general": "x @ x",
    "dynamic_slice": "lax.dynamic_slice(x, (0, 0), (2, 2))",
    "dynamic_update_slice": "lax.dynamic_update_slice(x, x[:2, :2] * 2, (0, 0))",
    "erf": "lax.erf(x)",
    "erf_inv": "lax.erf_inv(x)",
    "erfc": "lax.erfc(x)",
    "exp": "lax.exp(x)",
    "exp2": "lax.exp2(x)",
    "expm1": "lax.expm1(x)",
    "fft": "lax.fft(x, 'RFFT', (3,)).real",
    "gather": "x[jnp.array([2, 0])]",
    "lgamma": "lax.lgamma(x)",
    "log": "lax.log(x)",
    "log1p": "lax.log1p(x)",
    "logistic": "lax.logistic(x)",
    "max": "lax.max(x, x * x * 2)",
    "min": "lax.min(x, x * x * 2)",
    "neg": "-x",
    "pad": "lax.pad(x, 0.5, [(1, 0, 0), (0, 1, 0)])",
    "reduce_max": "x.max(1)",
    "reduce_min": "x.min(1)",
    "reduce_precision": "lax.reduce_precision(x, 5, 5)",
    "reduce_prod": "lax.reduce_prod(x, (1,))",
    "reduce_sum": "x.sum(1)",
    "reduce_window_max": "lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), 'VALID')",
    "reduce_window_min": "lax.reduce_window(x, jnp.inf, lax.min, (2, 2), (1, 1), 'VALID')",
    "reduce_window_sum": "lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), 'VALID')",
    "rem": "lax.rem(x, x + 0.2)",
    "reshape": "x.reshape(9)",
    "rev": "lax.rev(x, (0,))",
    "rsqrt": "lax.rsqrt(x)",
    "scatter": "x.at[0].set(x[1])",
    "scatter-add": "x.at[0].add(x[1])",
    "scatter-max": "x.at[0].max(x[1])",
    "scatter-min": "x.at[0].min(x[1])",
    "scatter-mul": "x.at[0].multiply(x[1], unique_indices=True)",
    "select_n": "lax.select(x > 0.5, x, x * 2)",
    "sin": "lax.sin(x)",
    "sinh": "lax.sinh(x)",
    "slice": "x[1:, :2]",
    "sort": "lax.sort(x)",
    "split": "jnp.split(x, 3)[1]",
    "sqrt": "lax.sqrt(x)",
    "square": "x ** 2",
    "squeeze": "x[None].squeeze(0)",
    "sub": "x - x * 2",
    "tan": "lax.tan(x)",
    "tanh": "lax.tanh(x)",
    "top_k": "lax.top_k(x, 2)[0]",
    "transpose": "x.T",
    "tridiagonal_solve": "lax.linalg.tridiagonal_solve(jnp.array([0., 1, 1]), x[0] + 3, jnp.array([1., 1, 0]), x)",
    # Functions of `jax.numpy` and `jax.nn` of several operations, with their own rules.
    "float_power": "jnp.float_power(x, 3)",
    "logsumexp": "jax.nn.logsumexp(x, 1)",
    "softmax": "jax.nn.softmax(x)",
    "silu": "jax.nn.silu(x)",
    "relu": "jax.nn.relu(x - 0.5)",
    "sinc": "jnp.sinc(x)",
    "std": "x.std()",
}
SLOW = {  # These compile slowly.
    "eigh": "jnp.linalg.eigh(x + x.T)[0]",
    "qr": "jnp.linalg.qr(x)[1]",
}

X = jnp.array([[0.3, 0.5, 0.8], [0.2, 0.7, 0.4], [0.6, 0.25, 0.55]])
Y = X * 0.9


def first(f):
    return lambda x: f(x).sum()


def ruled(f):
    function = jax.custom_jvp(f)
    function.defjvp(lambda primals, tangents: jax.jvp(f, primals, tangents))
    return function


def in_branch(f):
    return lambda x: lax.cond(x[0, 0] > 0, first(f), jnp.sum, x)


WAYS = {
    "jit": lambda f: first(jax.jit(f)),
    "checkpoint": lambda f: first(jax.checkpoint(f)),
    "cond": in_branch,
    "vmap(cond)": lambda f: lambda x: jax.vmap(in_branch(f))(jnp.stack([x, x * 0.9])).sum(),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (c * 0.9, f(c).sum()), x, None, length=2)[1].sum(),
    "custom_jvp": lambda f: first(ruled(f)),
}


def pushed(y, push, x):
    return y, push(x)


KINDS = {
    "grad": lambda f: jax.jit(jax.grad(f))(X),
    "value_and_grad": lambda f: jax.jit(jax.value_and_grad(f))(X),
    "grad of jit": lambda f: jax.grad(jax.jit(f))(X),
    "jvp": lambda f: jax.jit(lambda x: jax.jvp(f, (x,), (x,)))(X),
    "linearize": lambda f: jax.jit(lambda x: pushed(*jax.linearize(f, x), x))(X),
    "vmap of grad": lambda f: jax.jit(jax.vmap(jax.grad(f)))(X[None]),
}


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """Return a function for each operation, which assigns the result to a name of its own."""
    operations = {**ALIKE, **OTHERS, **SLOW}
    names = {name: f"told_{name.replace('-', '_')}" for name in operations}
    lines = ["import jax, jax.lax.linalg", "import jax.numpy as jnp", "from jax import lax"]
    for name, expression in operations.items():
        lines += [f"def of_{names[name]}(x):", f"    {names[name]} = {expression}", f"    return {names[name]}"]
    file = tmp_path_factory.mktemp("rules") / "operations.py"
    file.write_text("\n".join(lines))
    module = ModuleType(file.stem)
    sys.modules[file.stem] = module
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)  # noqa: S102 - what is written above
    yield {name: (told, getattr(module, f"of_{told}")) for name, told in names.items()}
    del sys.modules[file.stem]


@pytest.mark.parametrize("number", range(len(KINDS)), ids=list(KINDS))
def test_a_name_has_its_value_and_not_a_factor_of_the_derivative(number, functions):
    kind = list(KINDS)[number]
    ways = [*list(WAYS)[number:], *list(WAYS)[:number]]
    names = [*ALIKE, *list(OTHERS)[number :: len(KINDS)], *(SLOW if kind == "value_and_grad" else ())]
    chosen = {name: "jit" if name in SLOW else ways[at % len(ways)] for at, name in enumerate(names)}
    mapped = [WAYS[way](functions[name][1]) for name, way in chosen.items()]
    with jdw.capture(watch=[functions[name][0] for name in chosen], values=True) as run:
        jax.block_until_ready(KINDS[kind](lambda x: sum(f(x) for f in mapped)))
    jax.effects_barrier()
    wrong = []
    for name, way in chosen.items():
        told, function = functions[name]
        shown = [event.values[-1] for event in run.events if event.site.label == told]
        is_needed = kind in ("value_and_grad", "jvp", "linearize") and way != "vmap(cond)"
        assert shown or not is_needed, f"{name} in {way}, {kind}"
        one, other = np.asarray(function(X)), np.asarray(function(Y))
        known = [one, other, np.stack([one, other])]
        wrong += [f"{name} in {way}, {kind}: {array}" for array in shown if not any(_is(array, of) for of in known)]
    assert not wrong, "\n".join(wrong)


def _is(array, value):
    return np.squeeze(array).shape == np.squeeze(value).shape and np.allclose(
        np.squeeze(array), np.squeeze(value), rtol=2e-3, atol=2e-4
    )


def test_a_value_in_a_branch_that_vmap_selects_from_is_one_value():
    def decaying(d):
        decay = (1.0 + d) ** -2.0
        return decay

    def loss(d):
        return lax.cond(d > 0, decaying, lambda d: d, d)

    lanes = jnp.array([0.5, 1.0, 2.0])
    with jdw.capture(watch="decay", values=True) as run:
        jax.jit(jax.vmap(jax.value_and_grad(loss)))(lanes)
    jax.effects_barrier()
    np.testing.assert_allclose(run["decay"]["value"][0], decaying(lanes), rtol=1e-6)


def test_fields_of_a_result_of_jax_have_their_names():
    def factors(x):
        qr = jnp.linalg.qr(x)
        return qr.Q.sum() + qr.R.sum()

    with jdw.capture(watch="qr", values=True) as run:
        jax.jit(jax.value_and_grad(jax.jit(factors)))(X)
    jax.effects_barrier()
    whole = jnp.linalg.qr(X)
    for name in ("Q", "R"):
        np.testing.assert_allclose(run[f"qr.{name}"]["value"][0], getattr(whole, name), rtol=1e-4, atol=1e-5)
