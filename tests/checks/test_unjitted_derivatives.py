"""Test that `nonfinite` finds the operation in un-jitted derivatives, such as `jax.grad(f)(x)` in a notebook."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from tests.checks.case_programs import Case
from tests.checks.test_cases import is_found, run_case
from tests.conftest import mesh, since

pytestmark = [since(0, 10), pytest.mark.behaviour("S11")]

DERIVATIVES = (
    Case(
        "sqrt",
        "S11",
        "def f(x):\n    return jnp.sqrt(x)  #!\njax.grad(f)(0.)\n",
        says=("derivative of `jnp.sqrt(x)` is inf",),
    ),
    Case(
        "masked log",
        "S11",
        "def f(x):\n    y = jnp.log(x)  #!\n    return jnp.where(x > 0, y, 0.)\njax.value_and_grad(f)(0.)\n",
        says=("derivative of `jnp.log(x)` is NaN", "div(0, 0) = NaN"),
        fix=("jnp.log(jnp.where(is_safe, x, 0.5))",),
    ),
    Case(
        "distance",
        "S11",
        "def f(x):\n    return jnp.sqrt(jnp.sum(x ** 2))  #!\njax.grad(f)(jnp.zeros(3))\n",
        says=("derivative of `jnp.sqrt(jnp.sum(x ** 2))` is infinite",),
    ),
    Case(
        "norm",
        "S11",
        "def f(x):\n    return jnp.linalg.norm(x)  #!\njax.grad(f)(jnp.zeros(3))\n",
        says=("derivative of `jnp.linalg.norm(x)`",),
    ),
    Case(
        "value",
        "S11",
        "def f(x):\n    y = x / jnp.sum(x)  #!\n    return jnp.sum(y * 2)\njax.grad(f)(jnp.zeros(3))\n",
        says=("`x / jnp.sum(x)` is NaN",),
    ),
    Case(
        "lanes",
        "S11",
        "def f(x):\n    return jnp.where(x > 0, jnp.log(x), 0.)  #!\njax.vmap(jax.grad(f))(jnp.array([1., 0., 2.]))\n",
        says=("derivative of `jnp.log(x)` is NaN, lane 1",),
    ),
    Case(
        "jacobian",
        "S11",
        "def f(x):\n    return jnp.sqrt(x)  #!\njax.jacrev(f)(jnp.array([1., 0.]))\n",
        says=("derivative of `jnp.sqrt(x)` is infinite", "[1]"),
    ),
    Case(
        "pulled back",
        "S11",
        "def f(x):\n    return jnp.sqrt(x)  #!\ny, pull = jax.vjp(f, 0.)\npull(1.)\n",
        says=("derivative of `jnp.sqrt(x)` is infinite",),
    ),
    Case(
        "second derivative",
        "S11",
        "def f(x):\n    return x ** 1.5  #!\njax.grad(jax.grad(f))(0.)\n",
        says=("x ** 1.5",),
    ),
    Case(
        "third call",
        "S11",
        "def f(x):\n    return jnp.sqrt(x)  #!\nfor x in (2., 1., 0.):\n    jax.grad(f)(x)\n",
        says=("call 2",),
    ),
    Case(
        "jitted inside",
        "S11",
        "@jax.jit\ndef g(x):\n    return jnp.sqrt(x)  #!\njax.grad(lambda x: g(x) * 2)(0.)\n",
        says=("derivative of `jnp.sqrt(x)` is infinite",),
    ),
    Case(
        "value from elsewhere",
        "S11",
        "data = jnp.array([1., jnp.nan])\ndef f(w, data):\n    return jnp.sum(w * data)\njax.grad(f)(jnp.ones(2), data)  #!\n",
        says=("differentiated function is not finite", "another value that the function reads"),
    ),
    Case(
        "masked twice",
        "S11",
        "def f(x):\n    safe = jnp.where(x > 0, x, 1.)\n    return jnp.where(x > 0, jnp.log(safe), 0.)\njax.grad(f)(0.)\n",
        near_miss=True,
    ),
    Case(
        "masked value",
        "S11",
        "def f(x):\n    return jnp.sum(jnp.where(x > 0, x * 2, jnp.log(jnp.abs(lax.stop_gradient(x)))))\n"
        "jax.grad(f)(jnp.array([1., 2.]))\nf(jnp.zeros(2))\n",
        near_miss=True,
    ),
    Case(
        "attention",
        "S11",
        "def f(x):\n    s = jnp.where(jnp.tril(jnp.ones((3, 3))) > 0, x @ x.T, -jnp.inf)\n"
        "    return jnp.sum(jax.nn.softmax(s) @ x)\njax.grad(f)(jnp.ones((3, 2)))\n",
        near_miss=True,
    ),
    Case("nan in", "S11", "jax.grad(lambda x: jnp.sum(x * 2))(jnp.array([jnp.nan]))\n", near_miss=True),
    Case("no numbers", "S11", "jax.grad(lambda x: jnp.sum(x))(jnp.zeros((0,)))\n", near_miss=True),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", DERIVATIVES, ids=lambda one: one.id)
def test_an_unjitted_derivative_is_checked(case):
    findings = run_case(case)
    if case.near_miss:
        assert findings == []
    else:
        assert is_found(case, findings), [one.message for one in findings]
        assert len(findings) == 1


def loss(weights, x):
    for weight in weights:
        x = jax.nn.gelu(x @ weight)
    return -jnp.mean(jax.nn.log_softmax(x)[:, 0])


WEIGHTS = [np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), np.ones((4, 4), np.float32)]


def test_the_results_are_equal_bit_by_bit():
    x = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    expected = jax.value_and_grad(loss)(WEIGHTS, x)
    with jdw.capture(check="nonfinite") as run:
        given = jax.value_and_grad(loss)(WEIGHTS, x)
    jax.tree.map(np.testing.assert_array_equal, given, expected)
    assert run.findings == []
    assert run.status().notes == ()


def test_a_derivative_counts_as_checked():
    with jdw.capture(check=["nonfinite", "casts"]) as run:
        jax.grad(loss)(WEIGHTS, np.ones((2, 3), np.float32))
    (note,) = run.status().notes
    assert note.startswith("Not checked (casts)")


def test_a_derivative_inside_of_a_program_is_a_part_of_it():
    @jax.jit
    def step(x):
        return jax.grad(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0))(x)

    with jdw.capture(check="nonfinite") as run:
        assert np.isnan(step(0.0))
    (finding,) = run.findings
    assert "derivative of `jnp.sqrt(x)`" in finding.headline


def test_an_exception_of_the_function_goes_to_its_caller():
    def fails(x):
        raise ValueError(str(jnp.log(x) > 0))

    with jdw.capture(check="nonfinite") as run:
        with pytest.raises(ValueError, match="False"):
            jax.grad(fails)(0.0)
        assert np.isinf(jax.grad(jnp.log)(0.0))  # The pass that failed is not recorded any more.
    assert len(run.findings) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_each_kind_of_float_is_checked(dtype):
    with jdw.capture(check="nonfinite") as run:
        jax.grad(lambda x: jnp.sum(jnp.sqrt(x)).astype(np.float32))(jnp.array([1, 0], dtype))
    (finding,) = run.findings
    assert "derivative of `jnp.sqrt(x)` is infinite" in finding.headline


LOOPS = {
    "fori": lambda x: lax.fori_loop(0, 3, lambda _, y: y * jnp.sqrt(x), 1.0),
    "scan": lambda x: lax.scan(lambda y, x: (y * jnp.sqrt(x), None), 1.0, jnp.stack([x, x]))[0],
    "cond": lambda x: lax.cond(x > 1, jnp.sin, lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), x),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_or_branch_in_a_derivative_is_checked_as_a_part_of_it(name):
    with jdw.capture(check="nonfinite") as run:
        assert not np.isfinite(jax.grad(LOOPS[name])(0.0))
    assert run.findings
    assert all("derivative of `jnp.sqrt(x)`" in one.headline for one in run.findings)


def test_arrays_of_one_derivative_may_be_on_several_devices():
    first, second = jax.devices("cpu")[:2]

    def f(x, y):
        return jnp.sqrt(x) + jax.device_put(jax.device_put(y, second) * 2, first)

    with jdw.capture(check="nonfinite") as run:
        jax.grad(f, (0, 1))(jax.device_put(0.0, first), jax.device_put(1.0, second))
    (finding,) = run.findings
    assert "derivative of `jnp.sqrt(x)` is infinite" in finding.headline
    assert run.status().notes == ()


def test_an_array_over_several_devices_is_checked():
    x = jax.device_put(jnp.arange(4.0), jax.NamedSharding(mesh(), jax.P("d")))
    with jdw.capture(check="nonfinite") as run:
        jax.grad(lambda x: jnp.sum(jnp.sqrt(x)))(x)
    (finding,) = run.findings
    assert "derivative of `jnp.sqrt(x)` is infinite" in finding.headline
