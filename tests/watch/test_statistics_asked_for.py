"""Test the error for a statistic in place of a name (`h.mean`): it says what to write, and that works."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def model(x):
    h = x * jnp.float32(2)
    total = (h * h).sum()
    return total


@pytest.mark.parametrize(("pattern", "watch", "read"), [
    ("h.mean", "h", "run['h']['mean']"),
    ("total.value", "total", "run['total']['value']"),
    ("grad/h.max", "grad/h", "run['grad/h']['max']"),
])  # fmt: skip
def test_a_statistic_that_is_watched_is_shown_by_its_value(pattern, watch, read, watched):
    program = jax.jit(jax.value_and_grad(model))
    (note,) = watched(program, X, watch=pattern).status().notes
    assert note == f"{pattern!r} is a statistic: watch {watch!r}, and read {read}."
    run = watched(program, X, watch=watch)
    wanted = {"h": (2 * X).mean(), "total": (4 * X * X).sum(), "grad/h": (4 * X).max()}[watch]
    np.testing.assert_allclose(eval(read, {"run": run}), [wanted], rtol=1e-5)  # noqa: S307
    with pytest.raises(KeyError) as told:
        _ = run[pattern]
    assert told.value.args[0] == f"{pattern!r} is a statistic of a watched value: write {read}"


def test_a_statistic_by_lane_is_shown_by_its_value(watched):
    program = jax.jit(jax.vmap(model))
    (note,) = watched(program, X, watch="lanes/h.mean").status().notes
    assert note.endswith("watch 'lanes/h', and read run['h'].lanes['mean'].")
    run = watched(program, X, watch="lanes/h")
    np.testing.assert_allclose(run["h"].lanes["mean"][0], (2 * X).mean(1))
    with pytest.raises(KeyError, match=r"write run\['h'\]\.lanes"):
        _ = run["h.lanes"]


def test_an_attribute_that_is_no_statistic_is_answered_as_an_unknown_name(watched):
    run = watched(jax.jit(model), X, watch="h")
    with pytest.raises(KeyError, match=r"'h\.size' is not watched in this run; there are h"):
        _ = run["h.size"]
    (note,) = watched(jax.jit(model), X, watch="h.size").status().notes
    assert note.startswith("Nothing to watch is called 'h.size'.")
