"""Test that intended infinities, such as those of a mask, have no finding and no stop, but their consequences do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

Q = jnp.linspace(-1.0, 1.0, 12).reshape(4, 3)


def found_in(run):
    found = [one for root in run.findings for one in (root, *root.followed_by)]
    return {finding.site.label for finding in found if finding.kind == "nonfinite"}


def masked_in_place(s, mask):
    s = jnp.where(mask, s, -jnp.inf)
    return s


def masked_by_bias(s, mask):
    bias = jnp.where(mask, 0.0, -jnp.inf)
    s = s + bias
    return s


def masked_in_a_loop(s, mask):
    _, s = lax.scan(lambda c, row: (c, jnp.where(row[1], row[0], -jnp.inf)), 0.0, (s, mask))
    return s


def masked_in_a_branch(s, mask):
    s = lax.cond(s.sum() < 1e9, lambda s: jnp.where(mask, s, -jnp.inf), lambda s: s, s)
    return s


MASKS = [masked_in_place, masked_by_bias, masked_in_a_loop, masked_in_a_branch, jax.jit(masked_in_place)]


@pytest.mark.behaviour("W2")
@pytest.mark.parametrize("masked", MASKS)
def test_an_infinity_of_a_mask_has_no_finding(masked, watched):
    @jax.jit
    def attend(q):
        scores = q @ q.T
        scores = masked(scores, jnp.tril(jnp.ones_like(scores, bool)))
        weights = jax.nn.softmax(scores)
        return weights @ q

    run = watched(attend, Q)
    assert found_in(run) == set()
    after = [value for name, value in run.values.items() if name.startswith("scores@") and value["neginf"].any()]
    assert after, "it is counted nevertheless"


@pytest.mark.behaviour("W2")
def test_an_infinity_that_spreads_from_a_mask_is_found(watched):
    @jax.jit
    def spoilt(q):
        scores = jnp.where(jnp.tril(jnp.ones((4, 4), bool)), q @ q.T, -jnp.inf)
        total = scores.sum(-1)
        mean = total.mean()
        return scores, mean

    assert found_in(watched(spoilt, Q)) == {"total", "mean"}


def test_a_row_without_anything_is_found_where_it_becomes_nan(watched):
    @jax.jit
    def attend(q, mask):
        scores = jnp.where(mask, q @ q.T, -jnp.inf)
        weights = jax.nn.softmax(scores)
        return weights @ q

    run = watched(attend, Q, jnp.ones((4, 4), bool).at[2].set(False))
    assert found_in(run) == {"weights", "weights @ q"}


def test_the_other_infinity_and_nan_are_found_in_what_is_masked(watched):
    @jax.jit
    def attend(q):
        scores = jnp.where(jnp.tril(jnp.ones((4, 4), bool)), q, -jnp.inf)
        return jnp.exp(scores)

    q = np.ones((4, 4), np.float32)
    for odd in (np.inf, np.nan):
        q[3, 0] = odd
        assert "scores" in found_in(watched(attend, q))


def test_a_running_maximum_begins_below_all(watched):
    @jax.jit
    def largest(x):
        least = jnp.full((), -jnp.inf)

        def body(top, one):
            higher = jnp.maximum(top, one)
            return higher, higher

        last, all_of = lax.scan(body, least, x)
        return last, all_of

    assert found_in(watched(largest, Q[:, 0])) == set()
    # A maximum may not be infinite if some elements are finite.
    assert "higher" in found_in(watched(largest, Q[:, 0].at[0].set(-jnp.inf)))


def test_a_loop_begins_with_what_its_condition_compares(watched):
    @jax.jit
    def search(x):
        def goes_on(state):
            best, _ = state
            return best > 0.5

        def body(state):
            best, x = state
            return jnp.minimum(best, x.max()), x / 2

        return lax.while_loop(goes_on, body, (jnp.inf, x))

    run = watched(search, Q, watch="best")
    assert {run[name]["value"][0] for name in run.values} == {np.inf}
    assert not found_in(run)
