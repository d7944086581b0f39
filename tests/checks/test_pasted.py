"""Test proposed fixes: pasted over the faulty statement, they compute what Python or NumPy computes."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_debug_widgets.checks import explain
from jax_debug_widgets.checks.statement import place_at


@dataclass(frozen=True)
class Program:
    """A program that raises, and the value of `out` after the fix is pasted."""

    source: str
    out: Any


PROGRAMS = {
    "a slice of a known length": Program(
        "@jax.jit\ndef f(x, i):\n    n = 2\n    y = x[0, i:i + n] * 2\n    return y\nout = f(jnp.arange(8.0).reshape(2, 4), 1)",
        [2, 4],
    ),
    "a part of a batch": Program(
        "@jax.jit\ndef f(x, i):\n    return x[i * 3:(i + 1) * 3].sum()\nout = f(jnp.arange(9.0), 1)", 12
    ),
    "a window around a position": Program(
        "@jax.jit\ndef f(x, i):\n    return x[..., i - 1:i + 1 + 1]\nout = f(jnp.arange(9.0), 4)", [3, 4, 5]
    ),
    "a slice of a cache is assigned": Program(
        "@jax.jit\ndef f(cache, k, pos):\n    cache[:, pos:pos + k.shape[1]] = k\n    return cache\n"
        "out = f(jnp.zeros((1, 4)), jnp.ones((1, 2)), 1)",
        [[0, 1, 1, 0]],
    ),
    "a patch is added": Program(
        "@jax.jit\ndef f(x, i, j):\n    x[i:i + 1, j:j + 2] += 3.0\n    return x\nout = f(jnp.zeros((2, 3)), 1, 1)",
        [[0, 0, 0], [0, 3, 3]],
    ),
    "a slice of .at": Program(
        "@jax.jit\ndef f(x, i):\n    return x.at[i:i + 2].set(1.0)\nout = f(jnp.zeros(4), 2)", [0, 0, 1, 1]
    ),
    "a loop beside a function of the name that the loop's has": Program(
        "def body(x, state):\n    return x + state\n@jax.jit\ndef f(x, n):\n    state = 2.0\n    for i in range(n):\n"
        "        x = body(x, state)\n        state = state + 1\n    return x\nout = f(0.0, 3)",
        9,
    ),
    "a number is noted in a list": Program(
        "losses = []\n@jax.jit\ndef f(x):\n    loss = (x * x).sum()\n    losses.append(float(loss))\n    return x\n"
        "f(jnp.ones(3))\njax.effects_barrier()\nout = losses",
        [3],
    ),
    "a number is noted by name": Program(
        "history = {}\n@jax.jit\ndef f(x, value):\n    history['loss'] = (x * value).sum().item()\n    return x\n"
        "f(jnp.ones(3), 2.0)\njax.effects_barrier()\nout = history['loss']",
        6,
    ),
    "a number is noted in an object": Program(
        "class Model:\n    def __init__(self):\n        self.steps = 0\n        self.call = jax.jit(self.run)\n"
        "    def run(self, x):\n        self.steps = int(x.sum())\n        return x\n"
        "m = Model()\nm.call(jnp.ones(3))\njax.effects_barrier()\nout = m.steps",
        3,
    ),
    "a mask under jit": Program(
        "@jax.jit\ndef f(x):\n    x[x < 0] = 0\n    return x\nout = f(jnp.array([-1.0, 2.0]))", [0, 2]
    ),
    "a mask of rows": Program(
        "@jax.jit\ndef f(x, rows):\n    x[rows] += 1.0\n    return x\nout = f(jnp.zeros((2, 3)), jnp.array([True, False]))",
        [[1, 1, 1], [0, 0, 0]],
    ),
    "values chosen by the same mask": Program(
        "@jax.jit\ndef f(x, y):\n    m = jnp.isnan(x)\n    x[m] = y[m] * 2.0\n    return x\n"
        "out = f(jnp.array([1.0, jnp.nan]), jnp.array([5.0, 6.0]))",
        [1, 12],
    ),
    "a named tuple": Program(
        "from typing import NamedTuple\nclass S(NamedTuple):\n    pos: jax.Array\ndef f(s):\n    s.pos[0] = 1.0\n    return s\n"
        "out = jax.jit(f)(S(jnp.zeros(2))).pos",
        [1, 0],
    ),
    "a frozen dataclass": Program(
        "from dataclasses import dataclass as data\n@jax.tree_util.register_dataclass\n@data(frozen=True)\nclass S:\n"
        "    pos: jax.Array\ndef f(s):\n    s.pos[0] = 1.0\n    return s\nout = jax.jit(f)(S(jnp.zeros(2))).pos",
        [1, 0],
    ),
    "a module of equinox": Program(
        "import equinox as eqx\nclass L(eqx.Module):\n    w: jax.Array\n    def first(self):\n        self.w[0] = 5.0\n"
        "        return self\nout = L(jnp.zeros(2)).first().w",
        [5, 0],
    ),
    "a named tuple in a named tuple": Program(
        "from typing import NamedTuple\nclass A(NamedTuple):\n    x: jax.Array\nclass B(NamedTuple):\n    a: A\ndef f(b):\n"
        "    b.a.x[0] = 5.0\n    return b\nout = f(B(A(jnp.zeros(2)))).a.x",
        [5, 0],
    ),
    "an attribute in slots": Program(
        "class S:\n    __slots__ = ('x',)\ns = S()\ns.x = jnp.zeros(2)\ns.x[0] -= 1.0\nout = s.x", [-1, 0]
    ),
    "a tuple": Program(
        "def f(carry, x):\n    carry[1][x] = 1.0\n    return carry, None\n"
        "out = jax.lax.scan(f, (0.0, jnp.zeros(3)), jnp.arange(2))[0][1]",
        [1, 1, 0],
    ),
    "an if of an array": Program(
        "@jax.jit\ndef f(x):\n    if x < 0 or x > 2:\n        x = x * 0\n    return x\nout = f(jnp.array([-1.0, 1.0, 3.0]))",
        [0, 1, 0],
    ),
    "a choice of arrays": Program("x = jnp.array([-1.0, 2.0])\nout = x if x > 0 else -x", [1, 2]),
    "an if on one line": Program(
        "def body(c, x):\n    if x > c: c = x\n    return c, c\n"
        "out = jax.lax.scan(body, 0.0, jnp.array([1.0, 3.0, 2.0]))[0]",
        3,
    ),
    "a branch that changes a dictionary": Program(
        "@jax.jit\ndef f(p):\n    if p['scale'] > 0:\n        p = {**p, 'w': p['w'] * p['scale']}\n    return p['w']\n"
        "out = f({'w': jnp.ones(2), 'scale': 2.0})",
        [2, 2],
    ),
    "branches that return pairs": Program(
        "@jax.jit\ndef f(x, y):\n    if x > y:\n        return x, y\n    return y, x\nout = jnp.stack(f(1.0, 2.0))",
        [2, 1],
    ),
    "a choice of pairs": Program(
        "@jax.jit\ndef f(x):\n    low, high = (x, 1.0) if x < 1.0 else (1.0, x)\n    return jnp.stack([low, high])\n"
        "out = f(3.0)",
        [1, 3],
    ),
    "a choice by membership": Program("@jax.jit\ndef f(x):\n    return 1.0 if x in (1, 2) else 0.0\nout = f(2)", 1),
    "not in a tuple, and more": Program(
        "@jax.jit\ndef f(x):\n    y = 1.0 if x not in (1, 2) and x > 0 else 0.0\n    return y\nout = f(3)", 1
    ),
    "a choice by membership of a set": Program(
        "seen = {1, 2}\n@jax.jit\ndef f(x):\n    return 1.0 if x in seen and x in {2, 3} else 0.0\nout = f(2)", 1
    ),
    "the larger one in a list": Program(
        "@jax.jit\ndef f(w):\n    return sum([max(0, 1 - one) for one in w])\nout = f(jnp.array([0.5, 2.0]))", 0.5
    ),
    "the largest of three": Program("@jax.jit\ndef f(x, y):\n    return max(x, y, 0.5)\nout = f(0.0, 0.25)", 0.5),
    "any of a generator": Program(
        "@jax.jit\ndef f(xs):\n    hit = any(x > 2 for x in xs)\n    return hit\nout = f([1.0, 3.0])", True
    ),
    "nested calls of NumPy": Program(
        "@jax.jit\ndef f(x):\n    return np.maximum(np.exp(x), 2.0) + x\nout = f(jnp.zeros(2))", [2, 2]
    ),
    "a table of NumPy": Program(
        "table = np.array([1.0, 2.0])\n@jax.jit\ndef f(i):\n    return table[i] * 2\nout = f(1)", 4
    ),
    "a function of NumPy's linear algebra": Program(
        "from numpy import linalg as LA\n@jax.jit\ndef f(x):\n    return LA.norm(x) + np.pi\nout = f(jnp.ones(4))",
        2 + np.pi,
    ),
    "a function imported from NumPy": Program(
        "from numpy import exp, zeros\n@jax.jit\ndef f(x):\n    return exp(x) + zeros(2)\nout = f(jnp.zeros(2))", [1, 1]
    ),
    "two masks": Program(
        "@jax.jit\ndef f(x, m):\n    return jnp.max(x[m]) - x[~m].min()\n"
        "out = f(jnp.array([1.0, 5.0, 3.0]), jnp.array([True, False, True]))",
        -2,
    ),
    "the largest integer": Program(
        "@jax.jit\ndef f(x, m):\n    return x[m].max() // 2\nout = f(jnp.array([-5, -3]), jnp.array([True, False]))", -3
    ),
    "a mean over rows": Program(
        "@jax.jit\ndef f(x, m):\n    return x[m].mean(axis=0)\n"
        "out = f(jnp.arange(6.0).reshape(3, 2), jnp.array([True, False, True]))",
        [2, 3],
    ),
    "a sum over rows": Program(
        "@jax.jit\ndef f(x, m):\n    return x[m].sum()\nout = f(jnp.arange(9.0).reshape(3, 3), jnp.array([True, False, True]))",
        24,
    ),
    "a list in second place": Program("out = jnp.dot(jnp.ones(2), [1.0, 2.0])", 3),
    "one list of two": Program("out = jnp.stack([jnp.ones(2)]) + jnp.dot(jnp.ones(2), [1.0, 2.0])", [[4, 4]]),
    "a list in an operation": Program("out = jnp.arange(3.0) + [1, 2, 3]", [1, 3, 5]),
    "a comparison with a list": Program("out = (jnp.arange(3.0) > [1, 1, 1]).sum()", 1),
    "a list as an index": Program("out = jnp.arange(5.0)[[0, 2]]", [0, 2]),
    "a list as an index of an update": Program("out = jnp.zeros(3).at[[0, 2]].set(1.0)", [1, 0, 1]),
    "the median of three": Program(
        "@jax.jit\ndef f(a, b, c):\n    return sorted([a, b, c])[1]\nout = f(1.0, 3.0, 2.0)", 2
    ),
    "as many steps as a sum says": Program(
        "@jax.jit\ndef f(x):\n    for k in range(int(x.sum())):\n        x = x + 1\n    return x\nout = f(jnp.ones(2, int))",
        [3, 3],
    ),
    "as many steps as an item says": Program(
        "@jax.jit\ndef f(x, n):\n    for k in range(1, min(n.item(), 9)):\n        x = x + k\n    return x\nout = f(0, 4)",
        6,
    ),
    "a while of a float": Program(
        "@jax.jit\ndef f(x):\n    while float(x) > 1:\n        x = x / 2\n    return x\nout = f(8.0)", 1
    ),
    "a while of an item": Program(
        "@jax.jit\ndef f(x):\n    while x.max().item() > 1:\n        x = x / 2\n    return x\nout = f(jnp.array([8.0, 4.0]))",
        [1, 0.5],
    ),
    "an if of a float": Program(
        "@jax.jit\ndef f(x):\n    if float(x) > 1:\n        x = x / 2\n    return x\nout = f(8.0)", 4
    ),
    "an if of an int": Program(
        "@jax.jit\ndef f(x):\n    if int(x) == 1 and x < 2:\n        x = x / 2\n    return x\nout = f(1.5)", 0.75
    ),
    "an if of the larger one": Program(
        "@jax.jit\ndef f(x, y):\n    if max(float(x), y) > 1:\n        return x\n    return -x\nout = f(0.5, 2.0)", 0.5
    ),
    "an if of math": Program(
        "import math\n@jax.jit\ndef f(x):\n    if math.isnan(x):\n        x = 0.0\n    return x\nout = f(jnp.nan)", 0
    ),
    "an if of NumPy": Program(
        "@jax.jit\ndef f(x):\n    if np.isnan(x) or np.sqrt(4) < 1:\n        x = 0.0\n    return x\nout = f(jnp.nan)", 0
    ),
    "a dictionary that is written out": Program(
        "@jax.jit\ndef f(i):\n    return {0: 10.0, 1: 20.0}[int(i)]\nout = f(1)", 20
    ),
    "a list beside an array": Program("out = jnp.concatenate([jnp.ones(3), [2.0]])", [1, 1, 1, 2]),
    "lists of two lengths": Program("out = jnp.hstack(([1.0], jnp.ones(2), [3.0, 4.0]))", [1, 1, 1, 3, 4]),
}


def raised_by(source, name) -> tuple[dict[str, Any], Any]:
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    names = {"jax": jax, "jnp": jnp, "np": np, "__name__": name}
    try:
        exec(compile(source, name, "exec"), names)
    except Exception as error:  # noqa: BLE001 - it is explained.
        return names, error
    return names, None


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_proposed_fix_computes_what_python_computes(name):
    program = PROGRAMS[name]
    file = f"/home/me/{name.replace(' ', '_')}.py"
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        _, error = raised_by(program.source, file)
        explanation = explain(error)
        assert explanation is not None
        place = place_at(file, explanation.line, explanation.column)
        assert place is not None
        statement = place.statement
        lines = program.source.splitlines()
        indent = " " * statement.col_offset
        lines[statement.lineno - 1 : statement.end_lineno] = [indent + line for line in explanation.fix]
        names, error = raised_by("\n".join(lines), f"{file}.pasted.py")
    assert error is None, explanation.fix
    np.testing.assert_allclose(names["out"], program.out, rtol=1e-6)


UNCERTAIN = {
    "values of the mask's length": "@jax.jit\ndef f(x, new):\n    x[x < 0] = new\n    return x\nf(-jnp.ones(2), jnp.ones(2))",
    "a text": "@jax.jit\ndef f(x):\n    name = 'a' if x > 0 else 'b'\n    return name\nf(1.0)",
    "a function": "@jax.jit\ndef f(x):\n    if x > 0:\n        act = jnp.sin\n"
    "    else:\n        act = jnp.cos\n    return act(x)\nf(1.0)",
    "a list that grows": (
        "@jax.jit\ndef f(x):\n    seen = []\n    while x < 3:\n"
        "        x = x + 1\n        seen.append(x)\n    return seen\nf(1.0)"
    ),
    "a view": "m = jnp.zeros((2, 2))\nm.T[0] = 1.0",
    "a number in a text": "@jax.jit\ndef f(x):\n    print('loss %.3f' % float(x))\nf(1.0)",
    "a filter": "@jax.jit\ndef f(xs):\n    return sum([1 for x in xs if x > 0])\nf(jnp.ones(2))",
    "a module that is a pytree of tracers": (
        "import equinox as eqx\nclass M(eqx.Module):\n    w: jax.Array\n    seen: jax.Array\n    def __call__(self, x):\n"
        "        y = (self.w * x).sum()\n        self.seen.append(float(y))\n        return y\n"
        "jax.jit(lambda m, x: m(x))(M(jnp.ones(3), []), jnp.ones(3))"
    ),
    "a name of lists": "parts = [jnp.ones(3), [2.0]]\njnp.concatenate(parts)",
    "a match": "@jax.jit\ndef f(mode):\n    match mode:\n        case 0:\n            return 1\n    return 2\nf(1)",
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_an_error_without_a_certain_rewrite_has_no_fix(name):
    with jax.numpy_dtype_promotion("standard"):
        _, error = raised_by(UNCERTAIN[name], f"/home/me/{name.replace(' ', '_')}.py")
    explanation = explain(error)
    assert explanation is not None
    assert explanation.fix == ()
