"""Test indices of `lax.switch` that no branch has: a finding at the call, with the index and the branch that was taken."""

from __future__ import annotations

import linecache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw


def chosen(index, x):
    return lax.switch(index, [lambda x: x, lambda x: -x, lambda x: 2 * x], x)  # here


def scanned(indices, x):
    return lax.scan(lambda c, index: (chosen(index, c), None), x, indices)[0]


OUTSIDE = {
    "jit": (jax.jit(chosen), 3, 1.0, "index 3 is outside the 3 branches", "branch 2 was taken"),
    "negative": (jax.jit(chosen), -1, 1.0, "index -1 is outside the 3 branches", "branch 0 was taken"),
    "un-jitted": (chosen, 7, 1.0, "index 7 is outside the 3 branches", "branch 2 was taken"),
    "grad": (jax.jit(jax.grad(chosen, 1)), 3, 1.0, "index 3 is outside the 3 branches", "branch 2 was taken"),
    "vmap": (jax.jit(jax.vmap(chosen)), [0, 4, 2], [1.0] * 3, "the 3 branches, lane 1", "branch 2 was taken"),
    "un-jitted vmap": (jax.vmap(chosen), [0, 4, 2], [1.0] * 3, "index 4 is outside", "branch 2 was taken"),
    "scan": (
        jax.jit(scanned),
        [0, 5, 2, 6],
        1.0,
        "index 5 is outside the 3 branches, step 1",
        "2 indices were outside",
    ),
    "small integer": (jax.jit(chosen), np.uint8(200), 1.0, "index 200 is outside", "branch 2 was taken"),
}


@pytest.mark.behaviour("S6")
@pytest.mark.parametrize("name", OUTSIDE)
def test_an_index_that_no_branch_has_is_found_at_the_call_of_switch(name):
    function, index, x, headline, why = OUTSIDE[name]
    args = jnp.asarray(index), jnp.asarray(x)
    plain = function(*args)
    with jdw.capture(check="oob") as run:
        result = function(*args)
    np.testing.assert_array_equal(result, plain)
    (finding,) = run.findings
    assert finding.kind == "oob"
    assert headline in finding.headline
    assert why in finding.why
    assert "# here" in linecache.getline(finding.file, finding.span[0])
    assert "jnp.clip(index, 0, 2)" in finding.advice


INSIDE = {
    "clipped": lambda index, x: chosen(jnp.clip(index, 0, 2), x),
    "remainder": lambda index, x: chosen(index % 3, x),
    "clamped by the user": lambda index, x: x + lax.clamp(0, index, 2),
}


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("jit", [jax.jit, lambda function: function], ids=["jitted", "un-jitted"])
def test_an_index_that_a_branch_has_is_no_finding(name, jit):
    with jdw.capture(check="oob") as run:
        jit(INSIDE[name])(5, 1.0)
    assert run.findings == []


def test_an_index_whose_branch_a_choice_leaves_out_is_no_finding():
    with jdw.capture(check="oob") as run:
        jax.jit(lambda index, x: jnp.where(index < 3, chosen(index, x), 0.0))(5, 1.0)
    assert run.findings == []
