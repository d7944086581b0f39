"""Test that each rewrite, when it runs, gives what NumPy or Python gives."""

from __future__ import annotations

import ast
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_debug_widgets.checks.rewrite.branches import branch
from jax_debug_widgets.checks.rewrite.expressions import expression
from jax_debug_widgets.checks.rewrite.in_place import in_place
from jax_debug_widgets.checks.rewrite.loops import for_loop, while_loop


def run(lines, names):
    names = {"jnp": jnp, "jax": jax, "np": np, **names}
    exec("\n".join(lines), names)
    return names


def statement_of(source):
    return ast.parse(textwrap.dedent(source)).body[0]


@pytest.mark.parametrize(
    "source",
    [
        "x[1, :] = 1.0",
        "x[0] += 5.0",
        "x[0] -= y[1] + 2.0",
        "x[:, 1] *= 2.0",
        "x[0] /= 4.0",
        "x[1] **= 2.0",
        "x[0] //= 2.0",
        "x[i][1:] *= 2.0",
        "x[i][2] = 7.0",
        "x[0], z = y, 2",
        "z = x[0] = y * 2",
        "d['w'][0] += 5.0",
        "d['w'][0][1] = 5.0",
        "x[..., ::2] = 0.0",
    ],
)
def test_a_rewritten_in_place_assignment_computes_what_numpy_does(source):
    def names(module):
        x = module.arange(9.0).reshape(3, 3)
        return {"x": x, "y": module.arange(3.0), "i": 1, "d": {"w": x + 1}}

    statement = statement_of(source)
    expected = names(np)
    exec(source, expected)
    got = run(in_place(statement, names(jnp)), names(jnp))
    for name in ("x", "y"):
        np.testing.assert_allclose(got[name], expected[name])
    np.testing.assert_allclose(got["d"]["w"], expected["d"]["w"])
    assert ("z" in expected) == ("z" in got)


def test_del_of_a_row():
    got = run(in_place(statement_of("del x[1]"), {}), {"x": jnp.arange(3.0)})
    np.testing.assert_allclose(got["x"], [0, 2])


@pytest.mark.parametrize("source", ["x[i] = 1", "self.w[0] = 1"])
def test_the_line_is_python_where_no_value_is_known(source):
    ast.parse("\n".join(in_place(statement_of(source), {})))


@pytest.mark.parametrize("source", ["a, *x[0] = y", "x = 1", "print(x)", "x[x > 3][0] = 7.0", "x[j][0] = 1.0"])
def test_a_statement_without_a_certain_rewrite_is_not_rewritten(source):
    assert in_place(statement_of(source), {}) is None


BRANCHES = [
    "if x > 0:\n    y = x\nelse:\n    y = -x",
    "if x > 0:\n    y = 2 * x",
    "if x > 0:\n    y += x\n    z = 1.0\nelse:\n    y -= x\n    z = 2.0",
    "if x > 2:\n    y = 1.0\nelif x > 0:\n    y = 2.0\nelse:\n    y = 3.0",
    "if x > 0 and not z > 1 or x < -1:\n    y = 5.0",
    "if 0 < x < 2:\n    y = 5.0",
    "if x > 0:\n    t = x * 2\n    y = t + 1\nelse:\n    y = x",
    "if x > 0:\n    x = x - 1\n    y = x * 2",
    "if x > 0:\n    x = -x\n    y = 2.0\nelse:\n    x = 4.0\n    y = 3.0",
]


@pytest.mark.parametrize("x", [-2.0, 1.0, 3.0])
@pytest.mark.parametrize("source", BRANCHES)
def test_a_rewritten_branch_computes_what_python_does(source, x):
    names = {"x": x, "y": 0.5, "z": 0.25}
    lines = branch(statement_of(source), (), names)
    expected = dict(names)
    exec(source, expected)
    got = run(lines, {name: jnp.float32(value) for name, value in names.items()})
    for name in ("x", "y", "z"):
        np.testing.assert_allclose(got[name], expected[name], err_msg="\n".join(lines))


@pytest.mark.parametrize(
    "source",
    [
        "if x > 0:\n    raise ValueError",
        "if x > 0:\n    print(x)",
        "if x > 0:\n    new = 1\n",
        "if x > 0:\n    log.seen = x",
    ],
)
def test_a_branch_that_does_more_is_not_rewritten(source):
    after = ast.parse("print(new)").body
    assert branch(statement_of(source), after, {"x": 1.0, "log": None}) is None


def test_a_returning_branch_takes_what_follows():
    function = statement_of("def f(x):\n    if x > 0:\n        return x\n    return -x")
    lines = branch(function.body[0], function.body[1:], {"x": 1.0})
    assert lines == ["return jnp.where(x > 0, x, -x)"]


@pytest.mark.parametrize(
    "source",
    [
        "while x < 10:\n    x = x * 2",
        "while x + y < 10 and y < 5:\n    t = x + 1\n    x = t * 2\n    y = y + 1",
    ],
)
def test_a_rewritten_while_loop_computes_what_python_does(source):
    names = {"x": 1.0, "y": 0.0}
    expected = dict(names)
    exec(source, expected)
    got = run(while_loop(statement_of(source), (), names), {name: jnp.float32(value) for name, value in names.items()})
    np.testing.assert_allclose([got["x"], got["y"]], [expected["x"], expected["y"]])


@pytest.mark.parametrize("source", ["for k in range(n):\n    x = x + k", "for k in range(1, n):\n    x, y = y, x + k"])
def test_a_rewritten_for_loop_computes_what_python_does(source):
    names = {"x": 1.0, "y": 0.0, "n": 4}
    expected = dict(names)
    exec(source, expected)
    got = run(for_loop(statement_of(source), (), names), {**names, "x": jnp.float32(1), "y": jnp.float32(0)})
    np.testing.assert_allclose([got["x"], got["y"]], [expected["x"], expected["y"]])


@pytest.mark.parametrize(
    "source", ["while x < 3:\n    x += 1\n    if x > 1:\n        break", "while x < 3:\n    new = x"]
)
def test_a_loop_that_is_left_otherwise_or_makes_new_names_is_not_rewritten(source):
    assert while_loop(statement_of(source), ast.parse("print(new)").body, {"x": 1.0}) is None


@pytest.mark.parametrize("x", [-1.0, 2.0])
@pytest.mark.parametrize(
    "source",
    ["y = x if x > 0 else -x", "y = max(x, 1.0)", "y = x > 0 and x < 1", "y = not x", "y = 0 < x < 3", "y = int(x)"],
)
def test_a_rewritten_expression_computes_what_python_does(source, x):
    expected = {"x": x}
    exec(source, expected)
    got = run(expression(statement_of(source), {}), {"x": jnp.float32(x)})
    np.testing.assert_allclose(got["y"], expected["y"])
