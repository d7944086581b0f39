"""Test where NaN and infinities arise: at the first operation with finite operands whose result is not finite."""

from __future__ import annotations

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

import jax_debug_widgets as jdw

X = jnp.array([1.0, 0.0, 4.0])


def divides(x):
    y = x * 2.0
    z = y / x  # here
    return (z + 1.0).sum()


def overflows(x):
    def body(c, _):
        c = c * 100.0
        return c, jnp.exp(c)  # here

    return lax.scan(body, x, None, length=5)[1].sum()


def subtracts(x):
    big = x + jnp.inf
    return (big - big).sum()  # here


def norm(x):
    return jnp.sqrt((x**2).sum())  # here


def inverse(x):
    return (1.0 / x).sum()  # here


def logs(x):
    return jnp.log(x).sum()  # here


def solves(x):
    return jnp.dot(x * 1e30, x * 1e30)  # here


def line_of(function) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if "# here" in line)


def normalises(x):
    return x / x.sum(-1, keepdims=True)  # here


def with_a_sum(x):
    y = jnp.log(x)  # here
    return y.mean() + (y @ y)


def cumulates(x):
    y = jnp.log(x)  # here
    return jnp.cumsum(y) + jnp.sort(y)


def multiplies(x):
    return jnp.log(x) @ jnp.ones((3, 3))  # here


PROGRAMS = {
    "many, one row": (normalises, normalises, (jnp.ones((150, 150)).at[1].set(0.0),), ("is NaN", "at [1, 0]")),
    "many, their sum": (with_a_sum, with_a_sum, (jnp.ones(20_000).at[7].set(-1.0),), ("log(-1) = NaN at [7]",)),
    "what goes along an axis": (cumulates, cumulates, (-X + 2,), ("log(-2) = NaN at [2]",)),
    "a product of one shape": (
        multiplies,
        multiplies,
        (jnp.ones((3, 3)).at[0, 0].set(-1.0),),
        ("log(-1) = NaN at [0, 0]",),
    ),
    "jit": (divides, divides, (X,), ("`y / x` is NaN", "div(0, 0) = NaN at [1]", "In the same call 1 other line")),
    "scan": (overflows, overflows, (jnp.float32(0.01),), ("`jnp.exp(c)` is inf, step 1", "exp(100) = inf")),
    "vmap of scan": (
        lambda x: jax.vmap(overflows)(x).sum(),
        overflows,
        (jnp.array([0.0, 0.01]),),
        ("`jnp.exp(c)` is inf, step 1, lane 1",),
    ),
    "of infinities that are meant": (subtracts, subtracts, (X,), ("`big - big` is NaN", "sub(inf, inf) = NaN")),
    "grad": (
        jax.grad(norm),
        norm,
        (jnp.zeros(3),),
        ("the derivative of `jnp.sqrt((x**2).sum())` is infinite", "div(0.5, 0) = inf", "is_safe = x_2 > 0"),
    ),
    "grad of an infinity": (jax.grad(inverse), inverse, (X,), ("`1.0 / x` is inf",)),
    "value_and_grad": (jax.value_and_grad(logs), logs, (X,), ("`jnp.log(x)` is -inf", "log(0) = -inf at [1]")),
    "cond": (lambda x: lax.cond(x[1] > 1, norm, divides, x), divides, (X,), ("`y / x` is NaN",)),
    "dot": (solves, solves, (X,), ("`jnp.dot(x * 1e30, x * 1e30)` is inf", "dot_general of finite numbers gives inf")),
}


@pytest.mark.behaviour("S11")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_birth_is_found_at_its_line_and_the_results_are_the_same(name):
    program, where, arguments, says = PROGRAMS[name]
    plain = jax.jit(program)(*arguments)
    with jdw.capture(check="nonfinite") as run:
        checked = jax.jit(program)(*arguments)
    assert run.findings, run.notes
    finding = run.findings[0]
    assert finding.kind == "nonfinite"
    assert finding.where.endswith(f":{line_of(where)}")
    assert all(word in finding.message for word in says), finding.message
    for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(checked), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def mask(x):
    return jax.nn.softmax(jnp.where(jnp.array([True, False, True]), x, -jnp.inf)).sum()


def own_sigmoid(x):
    return (1.0 / (1.0 + jnp.exp(-1000.0 * x))).sum()


def masked(x):
    return jnp.where(x > 0, jnp.log(x), 0.0).sum()


def mapped_branch(x):
    return jax.vmap(lambda one: lax.cond(one > 0, jnp.log, lambda y: y, one))(x).sum()


def inherited(x):
    return (x * jnp.nan).sum()


@pytest.mark.parametrize("program", [mask, own_sigmoid, masked, mapped_branch, inherited], ids=lambda one: one.__name__)
def test_a_nan_that_is_masked_or_reaches_no_result_has_no_finding(program):
    with jdw.capture(check="nonfinite") as run:
        jax.jit(program)(X - 1.0)
        jax.jit(program)(X)
    assert run.findings == []


def test_the_call_of_a_training_loop_is_reported():
    step = jax.jit(lambda x: 1.0 / x)
    with jdw.capture(check="nonfinite") as run:
        for number in range(5, -2, -1):
            step(jnp.float32(number))
    (finding,) = run.findings
    assert "is inf, call 5 of its program" in finding.message


def test_half_and_double_precision_are_reported_with_their_values():
    with jdw.capture(check="nonfinite") as run:
        jax.jit(lambda x: x * jnp.float16(4.0))(jnp.float16(30000.0))
    (finding,) = run.findings
    assert "mul(30000, 4) = inf" in finding.message


@pytest.mark.parametrize("watch", [{"watch": True}, {"ops": True}], ids=["names", "operations"])
def test_operations_of_a_check_are_no_watched_values(watch):
    def summed(x):
        y = jnp.exp(x)
        z = jnp.sum(y)
        return z * 2

    x = jnp.array([1.0, 100.0])
    with jdw.capture(**watch) as plain:
        jax.jit(summed)(x)
    with jdw.capture(check="all", **watch) as checked:
        jax.jit(summed)(x)
    assert list(checked) == list(plain)
    assert {one.file for one in checked.findings} == {__file__}


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16], ids=lambda one: one.__name__)
def test_the_infinite_derivative_of_a_power_is_told_from_the_power_by_its_exponent(dtype):
    power = lambda x: (x**0.3).sum()  # noqa: E731
    with jdw.capture(check="nonfinite") as run:
        assert np.isinf(jax.jit(jax.grad(power))(jnp.zeros(2, dtype)).astype(np.float32)).all()
    with jdw.capture(check="nonfinite") as of_power:
        assert np.isnan(jax.jit(jax.value_and_grad(power))(-jnp.ones(2, dtype))[0])
    (finding,), value = run.findings, of_power.findings[0]
    assert finding.headline.startswith("the derivative of `x**0.3` is infinite")
    assert value.headline.startswith("`x**0.3` is NaN")


def test_the_finding_about_the_derivative_of_a_power_with_a_variable_exponent_does_not_blame_the_power_alone():
    slope = jax.jit(jax.grad(lambda x, y: (x**y).sum()))
    with jdw.capture(check="nonfinite") as run:
        assert np.isinf(slope(jnp.zeros(2), 0.5)).all()
    (finding,) = run.findings
    assert finding.headline.startswith("`x**y`, or its derivative, has inf")


def compares(x):
    return jnp.logaddexp(x, -jnp.inf)


def asks_and_chooses(x):
    y = jnp.log(x)
    return jnp.where(jnp.isnan(y) | ~jnp.isfinite(y), 0.0, y)


@pytest.mark.parametrize("function", [compares, asks_and_chooses, jax.vmap(asks_and_chooses)])
def test_a_nan_that_a_choice_tests_for_has_no_finding(function):
    with jdw.capture(check="nonfinite") as run:
        assert not jnp.isnan(jax.jit(function)(jnp.array([-jnp.inf, -1.0, 2.0]))).any()
    assert run.findings == []


def test_a_value_that_is_tested_and_also_given_is_no_choice():
    def f(x):
        y = jnp.log(x)
        return y, jnp.where(jnp.isnan(y), 0.0, y)

    with jdw.capture(check="nonfinite") as run:
        jax.jit(f)(jnp.array([-1.0]))
    assert [one.headline for one in run.findings] == ["`jnp.log(x)` is NaN"]


def test_a_nan_of_infinite_numbers_is_reported_as_of_these():
    with jdw.capture(check="nonfinite") as run:
        jax.jit(lambda x: x.sum())(jnp.array([jnp.inf, -jnp.inf]))
    (finding,) = run.findings
    assert finding.why.startswith("reduce_sum of infinite numbers gives NaN. Argument `x` of")


def test_further_nans_on_the_same_line_are_not_called_other_lines():
    with jdw.capture(check="nonfinite") as run:
        jax.jit(lambda x: jnp.exp(jnp.log(x) + 1.0) * 2.0)(jnp.array([-1.0]))
    assert "other line" not in run.findings[0].why


def test_a_nan_in_a_library_is_reported_at_the_users_line():
    def f(x):
        return optax.cosine_similarity(x, x * 0, epsilon=0.0)

    with jdw.capture(check="nonfinite") as run:
        jax.jit(f)(jnp.zeros(3))
    finding = run.findings[0]
    assert finding.file == __file__
    assert finding.span[0] == f.__code__.co_firstlineno + 1
    assert re.search(r"is NaN, in _\w+\.py:\d+$", finding.headline)


def test_a_watched_value_is_not_reported_again():
    def f(x):
        y = jnp.log(x)
        return y + 1

    with jdw.capture(check="nonfinite", watch=True) as run:
        jax.jit(f)(jnp.array([-1.0]))
    (finding,) = run.findings
    assert finding.headline == "`jnp.log(x)` is NaN"
    assert run.status().findings == 1


def test_a_report_counts_the_calls_that_were_checked():
    f = jax.jit(lambda x: x + 1)
    with jdw.capture(check="nonfinite") as run:
        f(X), f(X)
    assert "done · 0 prints and values · 2 calls checked" in run.report()


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: jnp.linalg.cholesky(x), "cholesky of finite numbers gives NaN"),  # noqa: PLW0108 - its line is named.
        (lambda x: jnp.linalg.solve(x * 0, x[0]), "solve of finite numbers gives NaN"),
        (lambda x: jnp.linalg.inv(x * 0), "solve of finite numbers gives NaN"),
        (lambda x: jax.vmap(jnp.linalg.cholesky)(x[None]), "cholesky of finite numbers gives NaN"),
    ],
)
def test_a_nan_from_a_lapack_routine_is_found(function, says):
    x = jnp.array([[-1.0, 0.0], [0.0, 1.0]])
    with jdw.capture(check="nonfinite") as run:
        jax.jit(function)(x)
    assert says in run.findings[0].why


def test_a_matrix_that_is_positive_has_no_finding():
    with jdw.capture(check="nonfinite") as run:
        jax.jit(lambda x: jnp.linalg.solve(x, jnp.linalg.cholesky(x)[0]))(jnp.eye(2) * 2)
    assert run.findings == []


def test_the_maximum_of_nothing_is_no_infinity():
    def f(x):
        largest = jnp.max(x, initial=0.0)
        return largest, x.mean()

    with jdw.capture(check="nonfinite") as run:
        jax.jit(f)(jnp.zeros((0,)))
    assert [one.headline for one in run.findings] == ["`x.mean()` is NaN"]


def test_the_derivative_of_a_function_that_jax_jits_is_reported_as_one():
    def f(x):
        return jnp.linalg.norm(x)

    with jdw.capture(check="nonfinite") as run:
        jax.jit(jax.grad(f))(jnp.zeros(3))
    assert run.findings[0].headline == "the derivative of `jnp.linalg.norm(x)` is infinite"


def test_a_proposed_fix_uses_the_name_of_the_argument():
    def f(y):
        return jnp.sqrt(y).sum()

    with jdw.capture(check="nonfinite") as run:
        jax.jit(jax.grad(f))(jnp.zeros(3))
    assert run.findings[0].fix == ("is_safe = y > 0", "jnp.where(is_safe, jnp.sqrt(jnp.where(is_safe, y, 0.5)), 0.0)")


@jax.jit
def loses(w, batch):
    def body(w, _):
        loss = ((w - batch["y"]) ** 2).mean()
        return w - loss, loss

    return lax.scan(body, w, None, length=3)


@pytest.mark.parametrize("watch", [None, True])
def test_an_argument_that_arrives_with_nan_is_named_at_the_functions_first_line(watch):
    with jdw.capture(check="nonfinite", watch=watch) as run:
        loses(jnp.ones(3), {"y": X})
        w, _ = loses(jnp.ones(3), {"y": X.at[1].set(jnp.nan)})
        loses(w, {"y": X})  # NaN that follow from it have no finding of their own.
    (finding,) = run.findings
    assert finding.headline == "argument `batch['y']` of `loses` arrives with NaN, call 1 of its program"
    assert finding.where.endswith(f":{loses.__wrapped__.__code__.co_firstlineno + 1}")


@jax.jit
def fits(w, y):
    return jax.grad(lambda w: ((jnp.tanh(w) @ jnp.ones((3, 2)) - y) ** 2).mean())(w)


@pytest.mark.parametrize("watch", [None, True])
def test_a_nan_of_infinite_numbers_names_the_argument_that_arrives_with_them(watch):
    with jdw.capture(check="nonfinite", watch=watch) as run:
        fits(X, jnp.ones(2))
        fits(X, jnp.array([jnp.inf, -jnp.inf]))
    (finding,) = run.findings
    assert "gives NaN" in finding.why and "Argument `y` of `fits` arrives with infinite numbers." in finding.message
    assert (finding.fix, finding.advice) == ((), "")  # The value to mask is not in the program.


@jax.jit
def keeps_the_best(best, x):
    return jnp.minimum(best, jnp.log(x))


def test_an_infinite_argument_is_not_blamed_for_a_nan_of_finite_numbers_or_without_one():
    with jdw.capture(check="nonfinite") as run:
        keeps_the_best(jnp.inf, 1.0)
        assert run.findings == []
        keeps_the_best(jnp.inf, -1.0)
    assert "log(-1) = NaN" in run.findings[0].why and "arrives" not in run.findings[0].message


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.nansum(x) + 1.0,
        lambda x: jnp.where(jnp.isnan(x), 0.0, x),
        jax.grad(lambda x: jnp.nansum(x) + 1.0),
    ],
)
def test_a_nan_in_an_argument_that_reaches_no_result_is_no_finding(function):
    with jdw.capture(check="nonfinite") as run:
        assert not jnp.isnan(jax.jit(function)(jnp.array([1.0, jnp.nan]))).any()
    assert run.findings == []


@jax.jit
def picks(logits, labels):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -chosen.mean()


def test_the_loss_of_a_classifier_compiles_under_the_check():
    logits, labels = jnp.zeros((3, 4)), jnp.array([1, 2, 3])
    plain = jax.grad(picks)(logits, labels)
    with jdw.capture(check="nonfinite") as run:
        checked = jax.grad(picks)(logits, labels)
    assert run.findings == []
    np.testing.assert_allclose(checked, plain, rtol=1e-6)


def test_a_nan_of_a_later_call_with_infinite_arguments_follows_from_what_made_them():
    @jax.jit
    def step(w):
        return w * 1e30 - w

    w = jnp.full(3, 1e5)
    with jdw.capture(check="nonfinite") as run:
        for _ in range(4):
            w = step(w)
    (finding,) = run.findings
    assert "`w * 1e30` is inf, call 1" in finding.headline
    assert "`w * 1e30 - w` is NaN, call 2" in finding.why


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: jnp.var(x, ddof=1), (1,)),
        (lambda x: jnp.std(x, ddof=1), (1,)),
        (lambda x: (x - 1) / x.std(0, ddof=1, keepdims=True), (1, 3)),
        (jax.vmap(lambda row: jnp.var(row, ddof=2)), (3, 2)),
        (lambda x: jnp.var(x, where=x > 1), (2,)),
    ],
    ids=["var", "std", "normalised", "vmap", "where"],
)
def test_a_variance_of_too_few_elements_is_found(function, shape):
    with jdw.capture(check="nonfinite") as run:
        result = jax.jit(function)(jnp.ones(shape))
    assert np.isnan(result).all()
    assert "div(0, 0) = NaN" in run.findings[0].why
    assert "minus ddof" in run.findings[0].advice


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.var(x, ddof=1) + jnp.std(x, ddof=1),
        lambda x: jnp.where(x[0] > 1, jnp.var(x[:1], ddof=1), 0.0),
        lambda x: jnp.where(x == 1, jnp.nan, 1 / (x - x)),
    ],
    ids=["enough elements", "left out", "a NaN that the user means"],
)
def test_a_variance_or_a_nan_that_is_meant_has_no_finding(function):
    with jdw.capture(check="nonfinite") as run:
        jax.jit(function)(jnp.ones(2))
    assert run.findings == []
