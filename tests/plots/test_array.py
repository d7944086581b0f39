"""Test `run.show`: one array as a matplotlib picture."""

from __future__ import annotations

import math
import sys

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import jax_debug_widgets as jdw
from jax_debug_widgets.plots import draw_array
from jax_debug_widgets.session.run import figures
from jax_debug_widgets.transport.arrays import picture

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def run():
    with jdw.capture() as run:
        step = jax.jit(lambda h: (jax.debug.callback(lambda _: None, h), h * 2)[1])
        h = jnp.arange(-6.0, 6.0).reshape(3, 4)
        for _ in range(3):
            h = step(h)
    return run


@pytest.mark.behaviour("W4")
def test_a_matrix_is_a_heat_map_of_the_step_asked_for(run):
    first, last = run.show("h", step=0), run.show("h")
    assert np.array_equal(first.images[0].get_array(), np.arange(-6.0, 6.0).reshape(3, 4))
    assert np.array_equal(last.images[0].get_array(), 4 * np.arange(-6.0, 6.0).reshape(3, 4))
    assert last.get_title() == "h, step 2  float32[3, 4]"


def test_values_of_both_signs_are_coloured_around_zero(run):
    assert run.show("h").images[0].get_clim() == (-24, 24)
    assert draw_array("p", np.array([[1.0, 3.0]])).images[0].get_clim() == (1, 3)


def test_elements_that_are_not_finite_are_masked():
    shown = draw_array("x", np.array([[1.0, np.nan], [np.inf, 2.0]])).images[0]
    assert np.array_equal(np.ma.getmaskarray(shown.get_array()), [[False, True], [True, False]])
    assert shown.get_clim() == (1, 2)


def test_an_array_without_finite_numbers_has_no_colour_bar():
    ax = draw_array("p", np.full((2, 3), np.nan))
    assert len(ax.figure.axes) == 1


def test_a_vector_is_a_line_and_leading_axes_are_folded():
    assert np.array_equal(draw_array("v", np.arange(3)).lines[0].get_ydata(), [0, 1, 2])
    assert draw_array("t", np.zeros((2, 5, 6))).images[0].get_array().shape == (10, 6)


COLOURS = np.linspace(0, 1, 9 * 10 * 3).reshape(9, 10, 3)
PICTURES = {
    "floats from 0 to 1": COLOURS.astype(np.float32),
    "half floats": COLOURS.astype(jnp.bfloat16),
    "with transparency": np.ones((9, 9, 4)),
    "small bytes": (255 * COLOURS[:2]).astype(np.uint8),
}
NO_PICTURES = {
    "positions": 8 * COLOURS - 4,
    "beyond 1": 1.5 * COLOURS,
    "a small table": COLOURS[:8],
    "a narrow table": COLOURS[:, :8],
    "integers": np.zeros((9, 9, 3), np.int32),
    "not a number": np.where(COLOURS < 0.5, COLOURS, np.nan),
    "two channels": COLOURS[..., :2],
    "a matrix": COLOURS[:, 0],
}


@pytest.mark.parametrize("value", PICTURES.values(), ids=PICTURES)
def test_colours_are_a_picture(value):
    image = draw_array("i", value).images[0].get_array()
    assert np.array_equal(image, value.astype(image.dtype))
    assert picture(value, {"image": True})[0]["channels"] == value.shape[-1]
    batch = np.stack([value, value])
    assert picture(batch, {"image": True, "index": [1]})[0]["channels"] == value.shape[-1]


@pytest.mark.parametrize("value", NO_PICTURES.values(), ids=NO_PICTURES)
def test_an_array_with_three_channels_is_no_picture_if_its_numbers_are_no_colours(value):
    rows = draw_array("i", value).images[0].get_array()
    assert rows.shape == (math.prod(value.shape[:-1]), value.shape[-1])
    assert "channels" not in picture(value, {"image": True})[0]


@pytest.mark.parametrize("value", [np.float32(1), np.zeros((0, 3))], ids=["scalar", "empty"])
def test_scalars_and_empty_arrays_are_refused(value):
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_array("s", np.asarray(value))


@pytest.mark.parametrize(
    ("asked", "told"),
    [({"step": 3}, "no step 3;"), ({"step": -4}, "no step -4;"), ({"lane": 1}, "no step -1 with lane 1;")],
)
def test_a_step_that_is_not_kept_is_reported(run, asked, told):
    with pytest.raises(IndexError, match=f"{told} steps that are kept: 0, 1, 2$"):
        run.show("h", **asked)


@pytest.mark.parametrize(
    ("steps", "told"), [([], "none"), ([0, 4], "0, 4"), (range(9), "0 to 8"), (range(0, 90, 5), "0, 5, 10, …, 85")]
)
def test_steps_are_listed_as_they_are(steps, told):
    assert figures._listed(np.array(steps, int)) == told


def test_a_lane_is_shown_by_its_number():
    with jdw.capture() as run:
        jax.jit(jax.vmap(lambda v: jax.debug.callback(lambda _: None, v)))(jnp.arange(12.0).reshape(3, 4))
    shown = run.show("v", lane=2)
    assert shown.lines[0].get_ydata().tolist() == [8, 9, 10, 11]
    assert shown.get_title() == "v, step 0, lane 2  float32[4]"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4, 5)], ids=str)
@pytest.mark.filterwarnings("ignore:jax.(ArrayRef|array_ref) is deprecated")  # Treescope asks jax 0.8 for them.
def test_treescope_shows_arrays_of_any_rank(shape, dtype):
    with jdw.capture() as run:
        jax.debug.callback(lambda _: None, a := jnp.ones(shape, dtype))
    del a
    html = run.tree("a := jnp.ones(shape, dtype)")._repr_html_()
    assert "treescope" in html


def test_tree_without_treescope_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "treescope", None)
    with pytest.raises(ImportError, match=r'pip install "jax-debug-widgets\[treescope\]"'):
        run.tree("h")
