"""Test what the browser receives of one array: a slice, its statistics, its histogram."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session.panel.arrays import array_message, values_message
from jax_debug_widgets.transport.arrays import MAX_SIDE, picture
from jax_debug_widgets.transport.columns import unpack


@pytest.fixture(scope="module")
def run():
    with jdw.capture() as run:
        take = jax.jit(lambda *xs: jax.debug.callback(lambda *_: None, *xs))
        stack = jnp.arange(24.0).reshape(2, 3, 4).at[1, 0, 0].set(jnp.nan).at[1, 0, 1].set(-jnp.inf).at[0, 0, 0].set(-5)
        pixels = jnp.arange(24, dtype=jnp.uint8).reshape(2, 3, 4)
        others = jnp.array([3 + 4j]), jnp.full(3, 1e5, jnp.bfloat16)
        take(jnp.float32(2), stack, jnp.zeros((2, 1100)), *others, pixels)
    return run


def asked(run, **request):  # noqa: ANN003 - a request's fields
    content, buffer = array_message(run, 7, {"event": 0, **request})
    columns = unpack(content["data"], buffer)
    shape = (content["rows"], content["columns"], *([content["channels"]] if "channels" in content else []))
    return content, columns["data"].reshape(shape), columns["histogram"]


def test_a_slice_at_an_index(run):
    content, data, histogram = asked(run, value=1, index=[1])
    values = run.events[0].values[1]
    np.testing.assert_array_equal(data, values[1])
    assert (content["id"], content["index"], content["shape"], content["dtype"]) == (7, [1], [2, 3, 4], "float32")
    finite = values[np.isfinite(values)]
    assert content["stats"] == {
        "size": 24,
        "nan": 1,
        "inf": 1,
        "zero": 0,
        "min": -5.0,
        "max": 23.0,
        "mean": pytest.approx(finite.mean()),
        "std": pytest.approx(finite.std()),
    }
    assert histogram.sum() == finite.size
    assert histogram[0] == 1


def test_an_index_that_is_short_is_filled_with_zeros(run):
    np.testing.assert_array_equal(asked(run, value=1)[1], run.events[0].values[1][0])


def test_an_image_has_its_channels(run):
    content, data, _ = asked(run, value=5, image=True)
    assert (content["channels"], content["rows"], content["columns"], content["index"]) == (4, 2, 3, [])
    np.testing.assert_array_equal(data, run.events[0].values[5])
    assert "channels" not in asked(run, value=1, image=True)[0]


def test_a_scalar_is_one_pixel_and_large_values_are_thinned(run):
    assert asked(run, value=0)[1].tolist() == [[2.0]]
    content, data, _ = asked(run, value=2)
    assert content["stride"] == [1, 3]
    assert data.shape == (2, 367)
    assert max(data.shape) <= MAX_SIDE


def test_unsigned_integers_and_small_floats_are_sent_as_numbers(run):
    assert asked(run, value=3)[1].tolist() == [[5.0]]
    assert asked(run, value=4)[0]["dtype"] == "bfloat16"


@pytest.mark.parametrize("large", [1.7e308, 1e300, 3e38, 1e16])
def test_large_numbers_are_shown_as_they_are(large):
    value = np.array([[large, -large], [large, np.inf]])
    content, buffer = picture(value, {})
    columns = unpack(content["data"], buffer)
    np.testing.assert_allclose(columns["data"], value.ravel(), rtol=1e-6)
    assert columns["histogram"].sum() == 3 and content["stats"]["inf"] == 1
    assert content["stats"]["mean"] == pytest.approx(large / 3)
    constant, buffer = picture(np.full(7, large), {})
    assert unpack(constant["data"], buffer)["histogram"].tolist()[0] == 7
    assert constant["stats"]["std"] == pytest.approx(0, abs=1e-12 * large)


@pytest.mark.parametrize("request_", [{"value": 9}, {"value": 1, "index": [2]}, {"value": 0, "event": 1}])
def test_a_value_or_index_that_does_not_exist_is_refused(run, request_):
    with pytest.raises(IndexError):
        asked(run, **request_)


@pytest.mark.parametrize(
    ("axes", "index"), [([0, 2], [1]), ([2, 0], [1]), ([1, 2, 0], []), ([0, 1, 2], []), ([1, 2], [1])]
)
def test_any_two_axes_are_a_picture_and_others_are_tiles(run, axes, index):
    content, buffer = array_message(run, 7, {"event": 0, "value": 1, "axes": axes, "index": index})
    value = run.events[0].values[1]
    rows, columns, *tiled = axes
    moved = np.transpose(value, [*(axis for axis in range(3) if axis not in axes), *tiled, rows, columns])
    pictures = (moved[tuple(index)] if index else moved).reshape(-1, *moved.shape[-2:])
    shape = (content["tiles"][0], content["rows"], content["columns"])
    np.testing.assert_array_equal(unpack(content["data"], buffer)["data"].reshape(shape), pictures)
    assert (content["axes"], content["index"], content["tiles"]) == (axes, index, [len(pictures)] * 2)


def test_many_tiles_are_thinned_so_that_all_fit_a_screen():
    content, _ = picture(np.zeros((300, 64, 64, 2)), {"axes": [1, 2, 0], "index": [1]})
    assert (content["tiles"], content["rows"], content["stride"]) == ([256, 300], 32, [2, 2])
    assert picture(np.zeros((0, 3, 3)), {"axes": [1, 2, 0]})[0]["tiles"] == [0, 0]


@pytest.mark.parametrize("axes", [[0], [0, 0], [0, 3], [-1, 0]])
def test_axes_that_it_does_not_have_are_refused(run, axes):
    with pytest.raises(IndexError, match="no picture over axes"):
        array_message(run, 7, {"event": 0, "value": 1, "axes": axes})


def test_a_page_of_numbers_is_of_the_axes_that_are_shown(run):
    asked = {"event": 0, "value": 1, "axes": [2, 0], "index": [1], "row": 0, "column": 1}
    content, _ = values_message(run, 7, asked)
    assert content["text"] == [str(number) for number in run.events[0].values[1][1, 1]]
