"""Test the checks of operations, loops and branches outside `jax.jit`, as a notebook has them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from tests.checks.case_programs import Case
from tests.checks.test_cases import is_found, run_case

TABLE = jnp.arange(5.0)

UNJITTED = (
    Case("take", "S6", "jnp.take(jnp.arange(10), 20)  #!\n", says=("index 20", "size 10")),
    Case(
        "take along an axis",
        "S6",
        "x, i = jnp.ones((2, 3)), jnp.array([0, 3])\njnp.take_along_axis(x, i[:, None], axis=1)  #!\n",
        says=("index 3", "axis 1"),
    ),
    Case("slice", "S6", "lax.dynamic_slice(jnp.zeros(10), (8,), (3,))  #!\n", says=("8:11", "moved to 7")),
    Case(
        "update",
        "S6",
        "lax.dynamic_update_slice(jnp.zeros(10), jnp.ones(3), (8,))  #!\n",
        says=("8:11", "moved to 7"),
    ),
    Case(
        "segments",
        "S6",
        "jax.ops.segment_sum(jnp.ones(4), jnp.array([0, 1, 2, 3]), num_segments=3)  #!\n",
        says=("index 3", "dropped"),
    ),
    Case(
        "lanes",
        "S6",
        "x = jnp.arange(5.)\njax.vmap(lambda i: x[i])(jnp.arange(8))  #!\n",
        says=("index 5", "3 indices"),
    ),
    Case(
        "loop",
        "S6",
        "x = jnp.arange(5.)\nlax.fori_loop(0, 10, lambda i, s: s + x[i], 0.)  #!\n",
        says=("index 5", "step 5"),
    ),
    Case(
        "branch", "S6", "lax.cond(True, lambda x: x.take(7), lambda x: x[0], jnp.arange(3.))  #!\n", says=("index 7",)
    ),
    Case(
        "scan",
        "S11",
        "def f(x):\n    return jnp.log(x)  #!\nlax.scan(lambda c, x: (c, f(x)), 0., jnp.array([1., 0.]))\n",
        says=("-inf", "step 1"),
    ),
    Case(
        "cast",
        "S13",
        "jnp.arange(254.0, 258.0).astype('uint8')  #!\n",
        says=("2 values", "256"),
        fix=("jnp.clip(jnp.arange(254.0, 258.0), 0, 255).astype('uint8')",),
    ),
    Case("nanargmin", "S15", "jnp.nanargmin(jnp.array([jnp.nan]))  #!\n", says=("nanargmin of NaNs alone gives -1",)),
    Case(
        "key in a loop",
        "S8",
        "key = random.key(0)\ndef body(s, x):\n    return s + random.normal(key), s  #!\nlax.scan(body, 0., jnp.arange(5.))\n",
        says=("each of 5 iterations draws with the same key",),
    ),
    Case(
        "carried legacy key",
        "S8",
        "def body(i, c):\n    key, s = c\n    return key, s + random.normal(key)  #!\n"
        "lax.fori_loop(0, 5, body, (random.PRNGKey(0), 0.))\n",
        says=("each of 5 iterations draws with the same key",),
    ),
    Case(
        "key for each step",
        "S8",
        "key = random.key(0)\ndef body(s, i):\n    return s + random.normal(random.fold_in(key, i)), s\n"
        "lax.scan(body, 0., jnp.arange(5))\nlax.map(random.normal, random.split(random.key(1), 3))\n",
        near_miss=True,
    ),
    Case("mode", "S6", "jnp.take(jnp.arange(10), 20, mode='clip')\n", near_miss=True),
    Case(
        "inside", "S6", "jnp.take(jnp.arange(10), -1)\nlax.dynamic_slice(jnp.zeros(10), (7,), (3,))\n", near_miss=True
    ),
    Case(
        "draws",
        "S13",
        "k, l, m = random.split(random.key(7), 3)\nrandom.permutation(k, 10)\n"
        "random.choice(l, jnp.arange(4), (3,), p=jnp.ones(4) / 4)\nrandom.randint(m, (3,), 0, 200, jnp.uint8)\n",
        near_miss=True,
    ),
    Case(
        "own functions of JAX",
        "S6",
        "x = jnp.array([3., 1., 2.])\njnp.sort(x), jnp.median(x), jnp.interp(2.5, x, x), jnp.unique(x), jnp.roll(x, 7)\n"
        "jnp.searchsorted(x, 9.), jnp.digitize(x, x), jnp.histogram(x), jnp.quantile(x, 1.), x[-1], x[jnp.array([0, 2])]\n",
        near_miss=True,
    ),
    Case("masked", "S11", "x = jnp.array([1., 0.])\njnp.where(x > 0, jnp.log(x), 0.)\n", near_miss=True),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", UNJITTED, ids=lambda one: one.id)
def test_what_runs_without_jit_is_checked(case):
    findings = run_case(case)
    if case.near_miss:
        assert findings == []
    else:
        assert is_found(case, findings), [one.message for one in findings]


def test_each_line_that_calls_one_operation_has_its_own_finding():
    with jdw.capture(check="oob") as run:
        for index in (7, 8):
            jnp.take(TABLE, index)
        jnp.take(TABLE, 9)
        jnp.take(TABLE, 4)
    first, second = run.findings
    assert ("index 7" in first.message, first.seen) == (True, 2)
    assert ("index 9" in second.message, second.seen) == (True, 1)


def test_a_note_names_the_checks_that_no_operation_outside_jit_was_for():
    with jdw.capture(check=["oob", "nonfinite", "casts"]) as run:
        jnp.take(TABLE, 1)
    (note,) = run.status().notes
    assert note.startswith("Not checked (nonfinite, casts)")


def test_results_are_equal_bit_by_bit():
    def program():
        drawn = jax.random.permutation(jax.random.key(0), 10)
        return drawn, jnp.take(TABLE, drawn), lax.scan(lambda c, i: (c + TABLE[i], c), 0.0, drawn)[1]

    expected = program()
    with jdw.capture(check="all"):
        given = program()
    for one, other in zip(expected, given, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
