"""Test histograms over the steps of a real program, as a ridge plot and as a heat map."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest
from IPython.core.error import UsageError

import jax_debug_widgets as jdw
from jax_debug_widgets.magics.plot_options import parse_plot

STEPS = 40


@pytest.fixture(autouse=True)
def no_window():
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def run():
    """Return a run of a random walk of 500 particles, whose spread grows; one of them becomes NaN at the end."""

    @jax.jit
    def walk(key):
        def step(x, i):
            x = x + jax.random.normal(jax.random.fold_in(key, i), x.shape)
            x = jnp.where((i == STEPS - 1) & (jnp.arange(x.size) == 0), jnp.nan, x)
            jax.debug.print("x {x}", x=x)
            return x, None

        return jax.lax.scan(step, jnp.zeros(500), jnp.arange(STEPS))[0]

    with jdw.capture() as run:
        walk(jax.random.key(0))
    return run


def test_a_ridge_has_a_hill_for_some_steps_the_newest_in_front(run):
    ax = run.plot("x", kind="ridge")
    hills = [line.get_ydata() for line in ax.get_lines()]
    assert len(hills) == 30
    assert [hill.min() for hill in hills] == sorted(range(30), reverse=True)
    # A random walk spreads: the first hill is the highest, and the last the broadest.
    heights = [hill.max() - hill.min() for hill in hills]
    assert heights[0] == max(heights)
    assert (hills[-1] > 0).sum() > 3 * (hills[0] > 29).sum()
    assert ax.get_title() == "x, 1 not finite"
    assert [label.get_text() for label in ax.get_yticklabels()][::5] == ["0", "39"]


def test_a_heat_map_has_a_column_for_each_step(run):
    ax = run.plot("x", kind="heat")
    counts = ax.collections[0].get_array()
    assert counts.shape == (64, STEPS)
    np.testing.assert_array_equal(counts.sum(axis=0), [500] * (STEPS - 1) + [499])


def test_lanes_that_only_vmap_ran_have_no_hills():
    """Each lane takes its branch at its own index of x; under `vmap` the branch runs for all, most of them phantoms."""

    @jax.jit
    def shrink(x):
        def step(x, _):
            def smaller(x):
                jax.debug.print("small {x}", x=x)
                return x / 2

            return jax.lax.cond(x.sum() > 8, smaller, lambda x: x, x), None

        return jax.vmap(lambda x: jax.lax.scan(step, x, jnp.arange(4))[0])(x)

    with jdw.capture() as run:
        shrink(jnp.stack([jnp.full(8, 1.0), jnp.full(8, 5.0)]))
    hills = run.plot("x", kind="ridge")
    assert [label.get_text() for label in hills.get_yticklabels()] == ["0", "1", "2"]


def test_a_plot_without_a_name_or_of_an_unknown_kind_is_refused(run):
    with pytest.raises(ValueError, match="shows one value: say which"):
        run.plot(kind="ridge")
    with pytest.raises(ValueError, match="kind must be 'line', 'ridge', 'heat' or 'lanes', got 'pie'"):
        run.plot("x", kind="pie")


def test_the_magic_takes_the_kind():
    assert parse_plot("x --kind ridge") == (["x"], "ridge")
    assert parse_plot("loss grad_norm") == (["loss", "grad_norm"], "line")
    with pytest.raises(UsageError, match="--knd"):
        parse_plot("x --knd ridge")


@pytest.mark.parametrize("kind", ["ridge", "heat"])
def test_counts_of_magnitudes_are_drawn_where_a_watched_array_has_no_elements(kind):
    @jax.jit
    def double(x):
        h = x * 2
        jax.debug.print("{h}", h=h.sum())
        return h

    with jdw.capture(watch="h", histograms=True) as run:
        double(jnp.array([0.0, -1.0, 2.0, jnp.nan]))
    ax = run.plot("h", kind=kind)
    assert ax.get_title() == "h, elements by magnitude without zeros, 1 not finite"
    labels = {text.get_text() for text in (ax.get_xticklabels() if kind == "ridge" else ax.get_yticklabels())}
    assert {"0", "2^-18", "-2^-18"} <= labels
    if kind == "heat":  # -2 and 4 are in the bars from 2^0 on.
        (picture,) = ax.collections
        table = np.ma.asarray(picture.get_array()).filled(0)
        assert [int(row) - 15 for row in np.flatnonzero(table)] == [-11, 10]
    with jdw.capture(watch="h") as bare:
        double(jnp.ones(2))
    with pytest.raises(KeyError, match="--histogram"):
        bare.plot("h", kind=kind)
