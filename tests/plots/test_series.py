"""Test series as lines, bands and marks, by the elements of the figures."""

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
from jax_debug_widgets.plots import Series, draw_series
from tests.devices import cpu_mesh

STEPS = np.arange(5)


def series(name, x, values, strands=None):
    """Return a series with one lane, or with the lanes of `strands`."""
    strands = np.zeros(len(x), int) if strands is None else strands
    return Series(name, np.asarray(x, float), values, strands, [f"lane {n}" for n in range(strands.max(initial=0) + 1)])


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
    assert draw_series([series("loss", STEPS, STEPS**2.0)], ax=ax) is ax
    (line,) = drawn(ax).lines
    assert line.get_xdata().tolist() == STEPS.tolist()
    assert line.get_ydata().tolist() == [0, 1, 4, 9, 16]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "loss")
    assert ax.get_legend() is None
    assert not ax.collections


def test_several_series_have_a_legend(ax):
    draw_series([series("loss", STEPS, STEPS * 1.0), series("norm", STEPS[:3], STEPS[:3] * 2.0)], ax=ax)
    assert [text.get_text() for text in drawn(ax).get_legend().get_texts()] == ["loss", "norm"]
    assert [len(line.get_xdata()) for line in ax.lines] == [5, 3]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_marked_at_their_steps(ax, wrong):
    values = np.array([1.0, 2.0, wrong, 4.0, wrong])
    draw_series([series("loss", STEPS, values)], ax=ax)
    line, marks = drawn(ax).lines
    assert np.array_equal(line.get_ydata(), [1, 2, np.nan, 4, np.nan], equal_nan=True)
    assert marks.get_xdata().tolist() == [2, 4]
    assert marks.get_linestyle() == "None"
    low, high = ax.get_ylim()
    assert np.isfinite([low, high]).all()
    assert high < 5, "marks do not stretch the axis"


def test_a_series_of_nothing_finite_is_all_marks(ax):
    draw_series([series("loss", STEPS, np.full(5, np.nan))], ax=ax)
    line, marks = drawn(ax).lines
    assert np.isnan(line.get_ydata()).all()
    assert marks.get_xdata().tolist() == STEPS.tolist()


def test_few_lanes_have_a_line_each(ax):
    draw_series([series("x", np.repeat(STEPS, 2), np.arange(10.0), np.tile([0, 1], 5))], ax=ax)
    assert [line.get_ydata().tolist() for line in drawn(ax).lines] == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    assert [line.get_label() for line in ax.lines] == ["x, lane 0", "x, lane 1"]
    assert not ax.collections


def test_many_lanes_are_their_mean_and_a_band_from_the_lowest_to_the_highest(ax):
    lanes = np.tile(np.arange(11), 5)
    steps = np.repeat(STEPS, 11)
    draw_series([series("x", steps, lanes + steps * 100.0, lanes)], ax=ax)
    (line,) = drawn(ax).lines
    assert line.get_xdata().tolist() == STEPS.tolist()
    assert line.get_ydata().tolist() == [5, 105, 205, 305, 405]
    assert ax.get_ylabel() == "x, mean and range over 11 lanes"
    (band,) = ax.collections
    assert isinstance(band, PolyCollection)
    edges = band.get_paths()[0].vertices
    assert (edges[:, 1].min(), edges[:, 1].max()) == (0, 410)


def test_lanes_that_are_not_finite_leave_the_others_their_mean(ax):
    values = np.array([1.0, np.nan, 3.0, 4.0, np.inf, 5.0, 7.0, -np.inf])
    draw_series([series("x", np.repeat([0, 1], 4), values, np.tile(np.arange(4), 2))], ax=ax)
    line, *marks = drawn(ax).lines
    assert line.get_ydata().tolist() == [pytest.approx(8 / 3), 6]
    assert [mark.get_xdata().tolist() for mark in marks] == [[0], [1], [1]]
    assert [mark.get_marker() for mark in marks] == ["x", "^", "v"]


def test_steps_need_not_have_the_same_number_of_lanes(ax):
    steps, lanes = np.array([0, 0, 0, 0, 1, 4]), np.array([0, 1, 2, 3, 0, 3])
    draw_series([series("x", steps, np.array([1.0, 2.0, 9.0, 4.0, 5.0, 6.0]), lanes)], ax=ax)
    (line,) = drawn(ax).lines
    assert line.get_xdata().tolist() == [0, 1, 4]
    assert line.get_ydata().tolist() == [4, 5, 6]


def test_small_arrays_have_a_line_for_each_element_unless_a_band_is_asked_for(ax):
    values = np.arange(30.0).reshape(5, 2, 3)
    draw_series([series("w", STEPS, values)], ax=ax)
    assert [line.get_ydata().tolist() for line in drawn(ax).lines] == values.reshape(5, 6).T.tolist()
    assert [line.get_label() for line in ax.lines][:2] == ["w[0, 0]", "w[0, 1]"]
    other = Figure().subplots()
    draw_series([series("w", STEPS, values)], ax=other, band=True)
    (line,) = drawn(other).lines
    assert line.get_ydata().tolist() == [2.5, 8.5, 14.5, 20.5, 26.5]
    assert len(other.collections) == 1


def test_large_arrays_are_a_band_over_elements(ax):
    values = np.arange(5 * 17.0).reshape(5, 17)
    draw_series([series("w", STEPS, values)], ax=ax)
    (line,) = drawn(ax).lines
    assert line.get_ydata().tolist() == values.mean(axis=1).tolist()
    assert ax.get_ylabel() == "w, mean and range over elements"


def test_the_mean_of_large_numbers_is_theirs(ax):
    draw_series([series("x", STEPS, np.full((5, 17), 1.7e308))], ax=ax)
    assert ax.lines[0].get_ydata() == pytest.approx(1.7e308)


def test_a_logarithmic_axis_takes_zero_and_negative_values(ax):
    draw_series([series("x", STEPS, np.array([0.0, -1.0, 1.0, 10.0, np.inf]))], ax=ax, log=True)
    assert drawn(ax).get_yscale() == "log"


@pytest.mark.parametrize("values", [np.zeros(0), np.zeros((0, 3)), np.zeros((5, 0))], ids=lambda v: str(v.shape))
def test_a_series_without_values_is_an_empty_line(ax, values):
    draw_series([series("x", np.arange(len(values)), values)], ax=ax)
    assert not any(np.isfinite(line.get_ydata()).any() for line in drawn(ax).lines)


def test_draw_series_makes_a_figure_if_it_is_given_no_axes():
    assert isinstance(drawn(draw_series([series("x", STEPS, STEPS * 1.0)])), Axes)


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
    assert labels == {"loss", "ratio", "ratio: ∞", "flag", "small"}


@pytest.mark.behaviour("W4")
def test_run_plot_marks_where_a_value_is_not_finite(run, ax):
    run.plot("x / (i - 2)", ax=ax)
    _, marks = drawn(ax).lines
    assert marks.get_xdata().tolist() == [2]


def test_run_plot_is_against_the_true_step_and_counts_on_from_call_to_call(ax):
    @jax.jit
    def f(x):
        def outer(x, _):
            def inner(x, _):
                jax.debug.print("{x}", x=x)
                return x + 1, None

            return jax.lax.scan(inner, x, length=2)

        return jax.lax.scan(outer, x, length=3)[0]

    with jdw.capture() as run:
        f(f(0.0))
    (line,) = drawn(run.plot("x", ax=ax)).lines
    assert line.get_xdata().tolist() == [i / 2 for i in range(12)]
    assert line.get_ydata().tolist() == list(range(12))


@pytest.mark.parametrize("outer_reverse", [False, True])
@pytest.mark.parametrize("inner_reverse", [False, True])
@pytest.mark.each
def test_run_plot_has_the_steps_of_a_loop_that_runs_from_its_end_in_their_order(ax, outer_reverse, inner_reverse):
    @jax.jit
    def f(x):
        def outer(x, i):
            def inner(x, j):
                jax.debug.print("{at}", at=x + i + j / 2)
                return x, None

            return jax.lax.scan(inner, x, jnp.arange(2.0), reverse=inner_reverse)

        return jax.lax.scan(outer, x, jnp.arange(3.0), reverse=outer_reverse)[0]

    with jdw.capture() as run:
        f(0.0)
        f(3.0)
    (line,) = drawn(run.plot("at", ax=ax)).lines
    assert line.get_xdata().tolist() == line.get_ydata().tolist() == [i / 2 for i in range(12)]


def test_run_plot_has_a_line_for_each_device_and_a_band_of_many_lanes(ax):
    mesh = cpu_mesh((4,), ("d",))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=jax.P("d"), out_specs=jax.P("d"))
    def f(x):
        def step(x, i):
            jax.debug.callback(lambda *_: None, x[0])
            jax.vmap(lambda k: jax.debug.print("{y}", y=k * i))(jnp.arange(2))
            return x + 1, None

        return jax.lax.scan(step, x, jnp.arange(3))[0]

    with jdw.capture() as run:
        f(jnp.arange(4.0))
    lines = drawn(run.plot("x[0]", ax=ax)).lines
    assert [line.get_label() for line in lines] == [f"x[0], cpu:{device}" for device in range(4)]
    assert [line.get_ydata().tolist() for line in lines] == [[d, d + 1, d + 2] for d in range(4)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [line.get_label() for line in lines]
    lanes = Figure().subplots()
    run.plot("k * i", ax=lanes)
    assert "over 8 lanes" in lanes.get_ylabel()


def test_devices_are_in_the_order_of_their_numbers_and_many_are_a_band(ax):
    for count, told in (
        (8, [f"x, cpu:{n}" for n in (0, 1, 2, 3, 4, 5, 10, 11)]),
        (9, ["x, mean and range over 9 devices"]),
    ):
        names = [f"cpu:{n}" for n in (11, 10, 5, 4, 3, 2, 1, 0, 6)]
        ax.clear()
        draw_series([Series("x", np.zeros(count), np.arange(count * 1.0), np.arange(count), names)], ax=ax)
        assert [line.get_label() for line in ax.lines] == told


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


def test_dollar_signs_in_a_name_are_not_read_as_mathtext(ax):
    draw_series([series("a['$x'] + b['$']", STEPS, STEPS * 1.0)], ax=ax)
    assert drawn(ax).get_ylabel() == r"a['\$x'] + b['\$']"


def test_a_watched_array_is_its_mean_with_a_band_and_marks_where_it_is_not_finite(ax):
    xs = np.random.default_rng(0).normal(size=(6, 3, 4)).astype(np.float32)
    xs[2, 0, 0], xs[4] = np.nan, np.inf

    @jax.jit
    def program(xs):
        def step(total, x):
            h = x * 2.0
            return total + h.sum(), None

        return jax.lax.scan(step, 0.0, xs)[0]

    with jdw.capture(watch="h") as run:
        program(xs)
    run.plot("h", ax=ax)
    finite = np.where(np.isfinite(xs), 2 * xs, np.nan).reshape(6, 12)[[0, 1, 2, 3, 5]]
    line, nan, infinite = ax.get_lines()
    np.testing.assert_allclose(line.get_ydata()[[0, 1, 2, 3, 5]], np.nanmean(finite, 1), rtol=1e-4, atol=1e-6)
    assert (nan.get_xdata().tolist(), infinite.get_xdata().tolist()) == ([2], [4])
    (band,) = [one for one in ax.collections if isinstance(one, PolyCollection)]
    heights = band.get_paths()[0].vertices
    for x, row in zip([0, 1, 2, 3, 5], finite, strict=True):
        ends = heights[heights[:, 0] == x, 1]
        np.testing.assert_allclose([ends.min(), ends.max()], [np.nanmin(row), np.nanmax(row)], rtol=1e-5)
    assert line.get_label() == "h, mean and range over elements"


def test_a_watched_array_on_several_devices_has_a_line_and_a_band_for_each(ax):
    mesh = cpu_mesh((2,), ("d",))

    @jax.jit
    def program(xs):
        def device(xs):
            h = xs * 2.0
            return jnp.sin(h)

        return jax.shard_map(device, mesh=mesh, in_specs=jax.P("d"), out_specs=jax.P("d"))(xs)

    with jdw.capture(watch="h") as run:
        program(jnp.arange(8.0))
    run.plot("h", ax=ax)
    assert [line.get_label().split(", ")[-1] for line in ax.get_lines()] == ["cpu:0", "cpu:1"]
    assert [line.get_ydata().tolist() for line in ax.get_lines()] == [[3.0], [11.0]]
    assert len(ax.collections) == 2
    h = run["h"]
    assert (h.name, h.devices) == ("h", ["cpu:0", "cpu:1"])
    assert [line.get_label() for line in h.plot().get_lines()] == [line.get_label() for line in ax.get_lines()]


def test_a_watched_value_is_shown_by_itself(ax):
    with jdw.capture(watch="h", values=True) as run:
        jax.jit(lambda x: [h := x * 2.0, jnp.sin(h)][1])(jnp.arange(4.0))
    assert run["h"].show(ax=ax) is ax
    assert ax.lines[0].get_ydata().tolist() == [0, 2, 4, 6]
