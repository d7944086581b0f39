"""Series as lines, bands and marks; the figures are drawn to the last pixel."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import jax_debug_widgets as jdw
from jax_debug_widgets.plots import draw_series

STEPS = np.arange(5)


@pytest.fixture(autouse=True)
def no_window():
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


def drawn(ax):
    ax.figure.canvas.draw()
    return ax


def test_a_series_is_a_line_through_its_values(ax):
    assert draw_series([("loss", STEPS, STEPS**2.0)], ax=ax) is ax
    (line,) = drawn(ax).lines
    assert line.get_xdata().tolist() == STEPS.tolist()
    assert line.get_ydata().tolist() == [0, 1, 4, 9, 16]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "loss")
    assert ax.get_legend() is None
    assert not ax.collections


def test_several_series_have_a_legend(ax):
    draw_series([("loss", STEPS, STEPS * 1.0), ("norm", STEPS[:3], STEPS[:3] * 2.0)], ax=ax)
    assert [text.get_text() for text in drawn(ax).get_legend().get_texts()] == ["loss", "norm"]
    assert [len(line.get_xdata()) for line in ax.lines] == [5, 3]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_marked_where_it_happened(ax, wrong):
    values = np.array([1.0, 2.0, wrong, 4.0, wrong])
    draw_series([("loss", STEPS, values)], ax=ax)
    line, marks = drawn(ax).lines
    assert np.array_equal(line.get_ydata(), [1, 2, np.nan, 4, np.nan], equal_nan=True)
    assert marks.get_xdata().tolist() == [2, 4]
    assert marks.get_linestyle() == "None"
    low, high = ax.get_ylim()
    assert np.isfinite([low, high]).all()
    assert high < 5, "marks do not stretch the axis"


def test_a_series_of_nothing_finite_is_all_marks(ax):
    draw_series([("loss", STEPS, np.full(5, np.nan))], ax=ax)
    line, marks = drawn(ax).lines
    assert np.isnan(line.get_ydata()).all()
    assert marks.get_xdata().tolist() == STEPS.tolist()


def test_lanes_are_a_median_and_a_band(ax):
    steps = np.repeat(STEPS, 11)
    values = np.tile(np.arange(11.0), 5) + steps * 100
    draw_series([("x", steps, values)], ax=ax)
    (line,) = drawn(ax).lines
    assert line.get_xdata().tolist() == STEPS.tolist()
    assert line.get_ydata().tolist() == [5, 105, 205, 305, 405]
    (band,) = ax.collections
    assert isinstance(band, PolyCollection)
    edges = band.get_paths()[0].vertices
    assert edges[:, 1].min() == pytest.approx(0.5)
    assert edges[:, 1].max() == pytest.approx(409.5)


def test_lanes_that_are_not_finite_leave_the_others_their_median(ax):
    values = np.array([1.0, np.nan, 3.0, np.inf, 5.0, 7.0])
    draw_series([("x", np.repeat([0, 1], 3), values)], ax=ax)
    line, marks = drawn(ax).lines
    assert line.get_ydata().tolist() == [2, 6]
    assert marks.get_xdata().tolist() == [0, 1]


def test_steps_need_not_have_the_same_number_of_lanes(ax):
    draw_series([("x", np.array([0, 0, 0, 1, 4]), np.array([1.0, 2.0, 9.0, 5.0, 6.0]))], ax=ax)
    (line,) = drawn(ax).lines
    assert line.get_xdata().tolist() == [0, 1, 4]
    assert line.get_ydata().tolist() == [2, 5, 6]


def test_arrays_spread_over_their_elements(ax):
    values = np.arange(30.0).reshape(5, 2, 3)
    draw_series([("w", STEPS, values)], ax=ax)
    (line,) = drawn(ax).lines
    assert line.get_ydata().tolist() == [2.5, 8.5, 14.5, 20.5, 26.5]
    assert len(ax.collections) == 1


def test_a_logarithmic_axis_takes_zero_and_negative_values(ax):
    draw_series([("x", STEPS, np.array([0.0, -1.0, 1.0, 10.0, np.inf]))], ax=ax, log=True)
    assert drawn(ax).get_yscale() == "log"


@pytest.mark.parametrize("values", [np.zeros(0), np.zeros((0, 3)), np.zeros((5, 0))], ids=lambda v: str(v.shape))
def test_no_values_are_an_empty_line(ax, values):
    draw_series([("x", np.arange(len(values)), values)], ax=ax)
    (line,) = drawn(ax).lines
    assert not np.isfinite(line.get_ydata()).any()


def test_without_axes_a_figure_is_made():
    assert isinstance(drawn(draw_series([("x", STEPS, STEPS * 1.0)])), Axes)


@pytest.fixture(scope="module")
def run():
    @jax.jit
    def train(x):
        def step(i, x):
            loss = x**2
            jax.debug.print("{loss} {w}", loss=loss, w=jnp.stack([x, -x]))
            jax.debug.print("{ratio}", ratio=x / (i - 2))
            jax.debug.print("{flag} {small}", flag=x > 2, small=x.astype("bfloat16"))
            return x + 1

        return jax.lax.fori_loop(0, 4, step, x)

    with jdw.capture() as run, jax.numpy_dtype_promotion("standard"):
        train(0.0)
    return run


@pytest.mark.behaviour("W4")
def test_run_plot_draws_the_named_value(run, ax):
    assert run.plot("loss", ax=ax) is ax
    (line,) = drawn(ax).lines
    assert line.get_ydata().tolist() == [0, 1, 4, 9]
    assert "loss" in ax.get_ylabel()


@pytest.mark.behaviour("W4")
def test_run_plot_draws_all_scalars_where_none_is_named(run):
    made = drawn(run.plot())
    assert isinstance(made, Axes)
    labels = {text.get_text().split("@")[0] for text in made.get_legend().get_texts()}
    assert {"loss", "x / (i - 2)", "x > 2", 'x.astype("bfloat16")'} <= labels
    assert not any(label.startswith("jnp.stack") for label in labels)


@pytest.mark.behaviour("W4")
def test_run_plot_marks_where_a_value_is_not_finite(run, ax):
    run.plot("x / (i - 2)", ax=ax)
    _, marks = drawn(ax).lines
    assert marks.get_xdata().tolist() == [2]


def test_run_plot_says_what_there_is_for_a_name_that_is_not(run):
    with pytest.raises(KeyError, match="loss"):
        run.plot("los")


def test_run_plot_of_nothing_says_so():
    with jdw.capture() as empty:
        pass
    with pytest.raises(ValueError, match="nothing to plot"):
        empty.plot()


def test_complex_values_are_drawn_by_their_magnitude(ax):
    with jdw.capture() as run:
        jax.jit(lambda z: jax.debug.print("{z}", z=z))(3 + 4j)
    assert run.series("z")[1].tolist() == [3 + 4j]
    (line,) = drawn(run.plot("z", ax=ax)).lines
    assert line.get_ydata().tolist() == [5]
    assert ax.get_ylabel() == "|z|"


def test_a_name_is_shown_letter_by_letter(ax):
    draw_series([("a['$x'] + b['$']", STEPS, STEPS * 1.0)], ax=ax)
    assert drawn(ax).get_ylabel() == r"a['\$x'] + b['\$']"
