"""Test faults in whole programs that the checks once missed or described wrongly: line, names and numbers."""

from __future__ import annotations

import functools
import inspect
import linecache

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest
from jax import lax, random
from jax.scipy.special import logsumexp

import jax_debug_widgets as jdw

X = jnp.arange(10.0)
MASKED = jnp.array([[0.1, -jnp.inf], [0.3, -jnp.inf]])


def line_of(function, mark="# here") -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if mark in line)


def found(check, function, *given: object):
    with jdw.capture(check=check) as run:
        function(*given)
    return run.findings


# ---------------------------------------------------------------- values
def test_a_mode_of_a_part_of_an_expression_is_not_that_of_the_expression():
    def f(x, i):
        return jax.ops.segment_sum(x, i, 3, mode="drop") / jnp.zeros(3)  # here

    (finding,) = found("nonfinite", jax.jit(f), jnp.zeros(2), jnp.array([0, 3]))
    assert finding.span[0] == line_of(f) and "div(0, 0) = NaN" in finding.why
    (finding,) = found("oob", jax.jit(lambda i: X[jnp.take(jnp.array([20, 30]), i, mode="clip")]), jnp.int32(5))
    assert "index 30 is outside axis 0 (size 10)" in finding.headline


def test_an_operand_with_one_number_for_a_row_is_reported():
    (finding,) = found("nonfinite", jax.jit(lambda x, n: x / n[:, None]), jnp.zeros((4, 2)), jnp.array([1.0, 0, 1, 1]))
    assert finding.why.startswith("div(0, 0) = NaN at [1, 0]")


def of_columns(a):
    return logsumexp(a[:, None] + MASKED, axis=0)[0]


def in_a_loop(a):
    def step(c, x):
        return logsumexp(c[:, None] + MASKED, axis=0) + x, None

    return logsumexp(lax.scan(step, a, jnp.ones(3))[0])


def of_lanes(a):
    return jax.vmap(in_a_loop)(jnp.stack([a, a])).sum()


@pytest.mark.parametrize("function", [of_columns, in_a_loop, of_lanes])
def test_the_derivative_of_a_logsumexp_of_nothing_is_found(function):
    """The NaN goes to two choices, one for each sign of the sum."""
    (finding,) = found("nonfinite", jax.jit(jax.grad(function)), jnp.ones(2))
    assert "the derivative of `logsumexp(" in finding.headline and "div(0, 0) = NaN" in finding.why
    assert "-1e30" in finding.advice


def two_choices(value, one, other):
    return jnp.where(one, value, 0.0) + jnp.where(other, value, 1.0)


CHOICES = {
    "a whole division": (lambda i: (X[i] * 3).astype(int) // 4, True),
    "a remainder": (lambda i: (X[i] * 3).astype(int) % 4, True),
    "both cases": (lambda i: jnp.where(i > 2, X[i] * 0.1, X[i]), True),
    "one case": (lambda i: jnp.where(i > 2, X[1], X[i]), False),
    "a choice in a choice": (lambda i: jnp.where(i > 2, jnp.where(i > 3, X[i], 0.0), 0.0), True),
    "a choice in a choice, left out": (lambda i: jnp.where(i > 2, jnp.where(i > 30, X[i], 0.0), 0.0), False),
    "two choices": (lambda i: two_choices(X[i], i > 20, i > 3), True),
    "two choices, left out": (lambda i: two_choices(X[i], i > 20, i > 30), False),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_faulty_read_that_one_of_several_choices_takes_has_a_finding(name):
    function, is_told = CHOICES[name]
    assert len(found("oob", jax.jit(function), 12)) == is_told


def test_one_faulty_index_at_several_lines_has_one_finding():
    def f(t, a, b):
        x = a[t]  # here
        y = b[t] + 1
        return x + y

    (finding,) = found("oob", jax.jit(f), 10, X, X + 1)
    line = line_of(f)
    assert finding.span[0] == line
    assert f"The same index is outside at test_mutated_programs.py:{line + 1} as well." in finding.why


def test_an_index_that_the_backward_pass_uses_again_is_not_at_another_line():
    def f(x, i):
        return x[i] ** 2

    (finding,) = found("oob", jax.jit(jax.grad(f)), X, 10)
    assert "as well" not in finding.why


# ---------------------------------------------------------------- what to write
@pytest.mark.parametrize("name", ["divided", "divided by a name", "a norm", "a root"])
def test_a_proposed_fix_gives_finite_values_and_gradients(name):
    expression = {
        "divided": "(x / (y * 2.0))",
        "divided by a name": "(x / y)",
        "a norm": "jnp.linalg.norm(x - y, axis=-1, keepdims=True)",
        "a root": "(x ** 0.5)",
    }[name]
    source = f"def f(x, y):\n    is_safe = 1.0\n    return {expression}.sum() * is_safe\n"
    function = _compiled(source, name)
    given = jnp.zeros((2, 3)), jnp.zeros((2, 3))
    (finding,) = [one for one in found("nonfinite", jax.jit(jax.value_and_grad(function)), *given) if one.fix]
    *before, last = finding.fix
    _, column, _, end = finding.span
    line = source.splitlines()[2]
    pasted = [*source.splitlines()[:2], *(f"    {one}" for one in before), line[:column] + last + line[end:]]
    value, grads = jax.value_and_grad(_compiled("\n".join(pasted), f"{name} pasted"))(*given)
    assert value == 0 and jnp.isfinite(grads).all(), pasted


def _compiled(source, name):
    file = f"/home/me/{name.replace(' ', '_')}.py"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names = {"jnp": jnp, "jax": jax}
    exec(compile(source, file, "exec"), names)
    return names["f"]


# ---------------------------------------------------------------- keys
def helper(key):
    return random.normal(key, (3,))


def in_a_python_loop(key):
    for _ in range(3):
        random.normal(key, (3,))  # here


def split_in_a_loop(key):
    for _ in range(3):
        random.split(key)  # here


def drawn_by_a_helper_in_a_loop(key):
    for _ in range(3):
        helper(key)  # here


def drawn_by_one_helper_twice(key):
    first = helper(key)
    return first + helper(key)  # here


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
@pytest.mark.parametrize(
    ("function", "says"),
    [
        (in_a_python_loop, "each iteration draws with the same key"),
        (split_in_a_loop, "each iteration splits with the same key"),
        (drawn_by_a_helper_in_a_loop, "each iteration draws with the same key"),
        (drawn_by_one_helper_twice, "a key is used again: `normal` draws, and it already draws at"),
    ],
)
def test_an_un_jitted_sampler_that_a_loop_or_another_line_runs_again_is_reported(function, says, make):
    (finding,) = found("keys", function, make(0))
    assert says in finding.headline and finding.span[0] == line_of(function)


def made_anew(_key):
    for _ in range(2):
        helper(random.key(0))


def begun_with_the_same(key):
    for _ in range(2):
        first, second = random.split(random.fold_in(key, 1))
        helper(first), helper(second)


def one_for_each(key):
    for one in random.split(key, 3):
        helper(one)


def cloned(key):
    for _ in range(3):
        helper(random.clone(key))


@pytest.mark.parametrize("function", [made_anew, begun_with_the_same, one_for_each, cloned])
def test_a_key_that_is_made_anew_or_intended_is_silent(function):
    assert found("keys", function, random.key(0)) == []


# ---------------------------------------------------------------- state
class Model:
    def __init__(self) -> None:
        self.params, self.lr, self.kernel = {"A": X}, 0.1, lambda theta: theta
        self.kept = {}

    def loss(self, params):
        return self.kernel(params["A"] ** 2).sum() * self.lr

    def stores_a_tracer(self):
        @jax.jit
        def update(params):
            self.params = jax.tree.map(lambda p: p * 2, params)  # tracer
            return self.params

        for _ in range(3):
            self.params = update(self.params)

    def keeps_a_tracer(self):
        @jax.jit
        def update(params):
            made = params["A"] * 2
            other = made + 1
            self.kept["A"] = made  # kept
            return other

        update(self.params)

    def changes_a_setting(self):
        @jax.jit
        def update(params):
            grads = jax.grad(self.loss)(params)
            return jax.tree.map(lambda p, g: p - self.lr * g, params, grads)  # changed

        for _ in range(3):
            self.params = update(self.params)
            self.lr *= 0.5


def test_a_tracer_that_is_stored_and_replaced_is_a_side_effect():
    (finding,) = found("all", Model().stores_a_tracer)
    assert finding.kind == "purity" and finding.span[0] == line_of(Model.stores_a_tracer, "# tracer")
    assert "`self.params['A']` changed while `update` was traced: float32[10] → a tracer" in finding.headline


def test_a_tracer_that_is_kept_is_a_leak_at_the_line_that_stores_it():
    model = Model()
    (finding,) = found("all", model.keeps_a_tracer)
    assert finding.kind == "leaks" and finding.span[0] == line_of(Model.keeps_a_tracer, "# kept")


def test_a_tracer_that_a_library_makes_is_a_leak_at_the_users_line():
    kept = []

    def f(x):
        norm = optax.tree.norm({"x": x})
        other = norm + 1
        kept.append(norm)  # kept
        return other

    (finding,) = found("leaks", jax.jit(f), X)
    assert finding.file == __file__ and finding.span[0] == line_of(f, "# kept")


def test_a_stale_read_of_self_names_only_the_attribute_that_is_read():
    """A function in the closure is not read, and a function that is kept as an attribute is no method."""
    findings = found("stale", Model().changes_a_setting)
    assert findings and {one.headline for one in findings} == {
        "cached value 0.1 was used although `self.lr` is now 0.05"
    }


def test_a_cast_of_a_nan_is_reported_with_the_nan():
    def f(x):
        return (jnp.log(x) * 2).astype(jnp.uint8)

    (finding,) = found("nonfinite,casts", jax.jit(f), jnp.array([-1.0, 2.0]))
    assert finding.headline == "`jnp.log(x)` is NaN"
    (finding,) = found("casts", jax.jit(f), jnp.array([-1.0, 2.0]))
    assert "the first is NaN" in finding.headline


class Net(eqx.Module):
    layer: eqx.nn.Linear

    def __call__(self, x) -> jax.Array:
        SEEN.append(x.shape)  # called
        return self.layer(x)

    def loss(self, x):
        COUNTS["loss"] = COUNTS["loss"] + 1  # loss
        return self(x).sum()


SEEN: list = []
COUNTS = {"loss": 0}


def test_methods_of_arguments_are_followed():
    net = Net(eqx.nn.Linear(2, 2, key=random.key(0)))
    findings = found("purity", eqx.filter_jit(eqx.filter_grad(lambda model, x: model.loss(x))), net, jnp.ones(2))
    lines = {line_of(Net.__call__, "# called"), line_of(Net.loss, "# loss")}
    assert {one.span[0] for one in findings} == lines and len(findings) == len(lines)


SCALE = 1.0


@jax.vmap
def scaled(x):
    return x * 2


def test_a_function_that_calls_a_mapped_one_is_compared():
    f = jax.jit(lambda x: scaled(x) * SCALE)

    def program():
        global SCALE  # noqa: PLW0603
        f(X)
        SCALE = 3.0
        f(X)
        SCALE = 1.0

    (finding,) = found("stale", program)
    assert finding.headline == "cached value 1.0 was used although `SCALE` is now 3.0"


# ---------------------------------------------------------------- traces
class Fitted:
    @functools.partial(jax.jit, static_argnums=0)
    def loss(self, w):
        return (w**2).sum()


def test_a_derivative_and_its_function_are_traced_each_for_itself():
    def fit():
        step = jax.jit(jax.value_and_grad(Fitted().loss))
        step(jnp.asarray(1.0)), step(jnp.float32(1.0))

    assert found("retraces", fit) == []
