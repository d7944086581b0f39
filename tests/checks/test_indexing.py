"""Test indices out of bounds outside of jit: an index that NumPy refuses has a finding, and no other."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw

X = jnp.arange(24.0).reshape(2, 3, 4)
MASK = np.array([[True, False, True], [False, True, False]])
INDICES = [
    (1,),
    (2,),
    (-3,),
    (0, 3),
    (..., 4),
    (..., -4),
    (slice(1, 9), 2),
    (None, 1, None, 3),
    (jnp.array([0, 1]), jnp.array([2, 3])),
    (np.array([0, -2]),),
    (np.array([[0], [1]]), slice(None), np.array([1, 4])),
    (MASK, 3),
    (MASK, 4),
    (True, 1),
    (0, ..., np.int8(3)),
]


@pytest.mark.behaviour("S6")
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_an_index_that_numpy_refuses_has_a_finding_and_the_result_is_jaxs(index):
    try:
        np.asarray(X)[tuple(map(np.asarray, index)) if all(isinstance(one, jax.Array) for one in index) else index]
        refused = ""
    except IndexError as error:
        refused = str(error)
    read, written = X[index], X.at[index].add(1.0)
    with jdw.capture(check="oob") as run:
        np.testing.assert_array_equal(X[index], read)
        np.testing.assert_array_equal(X.at[index].add(1.0), written)
    assert len(run.findings) == (2 if refused else 0)
    for finding, became in zip(run.findings, ("the nearest element was read", "the update was dropped"), strict=False):
        number, axis, size = (int("".join(c for c in word if c in "-0123456789")) for word in _numbers(refused))
        assert finding.headline == f"index {number} is outside axis {axis} (size {size})"
        assert became in finding.why


def _numbers(refused: str) -> list[str]:
    """Return the words of "index 4 is out of bounds for axis 2 with size 4" that are numbers."""
    return [word for word in refused.split() if word.strip("-").isdigit()]


def test_intended_indices_and_those_inside_jax_have_no_finding():
    with jdw.capture(check="oob") as run:
        X.at[5].set(1.0, mode="drop")
        X.at[5].get(mode="fill", fill_value=0.0)
        jnp.roll(X, 7)
        jnp.interp(jnp.array([9.0]), jnp.arange(3.0), jnp.arange(3.0))
        jax.vmap(lambda i: X[i, 0, 0])(jnp.array([0, 1]))
    assert run.findings == []


def test_a_line_that_reads_outside_many_times_is_reported_once():
    with jdw.capture(check="oob") as run:
        for at in range(5):
            X[at]
    (finding,) = run.findings
    assert "index 2 is outside axis 0 (size 2)" in finding.headline
    assert "3 times here" in finding.why


def drops(x):
    x.at[0].set(5.0)  # here
    return x


def drops_of_many(x):
    for k in range(2):
        x.at[k].add(1.0)  # here
    return x


def keeps(x):
    y = x.at[0].set(5.0)
    x.at[0].get()
    return (y, x.at[1].add(1.0), str(x.at[1].min(0.0)))[0]


@pytest.mark.behaviour("S5")
@pytest.mark.parametrize("use", [lambda f: f, jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())])
@pytest.mark.parametrize(("program", "method"), [(drops, "set"), (drops_of_many, "add"), (keeps, "")])
def test_an_update_with_a_result_that_nobody_takes_is_reported(program, method, use):
    with jdw.capture(check="purity") as run:
        use(program)(jnp.ones((3, 3)))
    assert len(run.findings) == bool(method)
    for finding in run.findings:
        assert finding.where.endswith(f":{line_of(program)}")
        assert "is dropped: no array changes" in finding.headline
        (fix,) = finding.fix
        assert fix.startswith("x = x.at[")
        assert f".{method}(" in fix


def line_of(function) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if "# here" in line)


@pytest.mark.behaviour("S6")
@pytest.mark.parametrize(
    ("read", "fix", "advice"),
    [
        (lambda x: x[5], ("x[4]",), "The last valid index is 4: count to it, not to 5."),
        (lambda x: x[x.shape[0]], ("x[x.shape[0] - 1]",), "The last valid index is 4: count to it, not to 5."),
        (lambda x: x[len(x)], ("x[len(x) - 1]",), "The last valid index is 4: count to it, not to 5."),
        (lambda x: x[jnp.max(x).astype(int) + 1], (), "The last valid index is 4: count to it, not to 5."),
        (lambda x: x[8], (), "The last valid index is 4. If an index outside is meant"),
        (lambda x: x[-6], (), "The valid indices are -5 to 4."),
        (lambda x: x.at[5].set(0.0), (), "x.at[5].set(0.0, mode='drop')"),
        (lambda x: jax.lax.dynamic_slice(x, (x[4].astype(int),), (3,)), (), "The last start that fits is 2"),
    ],
)
def test_the_last_valid_index_comes_before_a_mode(read, fix, advice):
    with jdw.capture(check="oob") as run:
        jax.jit(read)(jnp.arange(5.0))
    (finding,) = run.findings
    assert finding.fix == fix
    assert advice in finding.advice


def test_a_check_that_has_found_something_is_not_reported_to_have_checked_nothing():
    with jdw.capture(check=["oob", "nonfinite"]) as run:
        X[5]
    (note,) = run.status().notes
    assert note.startswith("Not checked (nonfinite)")
