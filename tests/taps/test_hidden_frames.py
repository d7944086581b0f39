"""Test that users see no frame, location or message of ours: they are hidden as JAX's own are."""

import logging
import traceback
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import pytest
from jax._src import source_info_util, traceback_util  # noqa: TID251 - what JAX itself has been told is the test.
from jax.experimental import io_callback

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import guard, hidden_frames
from jax_debug_widgets._jax.running import waits
from tests.devices import PLATFORM

capturing = pytest.mark.parametrize("options", [{}, {"watch": True}], ids=["captured", "watched"])
LIKE = jax.ShapeDtypeStruct((), jnp.float32)


def fails(x):
    raise ValueError(f"no {x}")


RAISING = {
    "jit": lambda: jax.jit(fails)(1.0),
    "grad": lambda: jax.grad(fails)(1.0),
    "jvp": lambda: jax.jvp(fails, (1.0,), (1.0,)),
    "vjp": lambda: jax.vjp(fails, 1.0),
    "vmap": lambda: jax.vmap(fails)(jnp.ones(2)),
    "jit of grad": lambda: jax.jit(jax.grad(fails))(1.0),
    "scan": lambda: jax.lax.scan(lambda _, x: fails(x), 0.0, jnp.ones(2)),
    "checkpoint": lambda: jax.jit(jax.checkpoint(fails))(1.0),
}


@pytest.fixture
def filtered() -> Iterator[None]:
    """Make JAX remove its frames, as it does in a script."""
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "remove_frames")
    yield
    jax.config.update("jax_traceback_filtering", before)


@capturing
@pytest.mark.usefixtures("filtered")
@pytest.mark.parametrize("name", RAISING)
def test_an_error_while_tracing_has_the_same_frames_as_without_a_capture(name, options):
    def frames():
        with pytest.raises(ValueError, match="no ") as caught:
            RAISING[name]()
        return [one.name for one in traceback.extract_tb(caught.value.__traceback__)]

    plain = frames()
    with jdw.capture(**options):
        assert frames() == plain


CALLBACKS = {
    "pure_callback": lambda x: jax.pure_callback(fails, LIKE, x),
    "io_callback": lambda x: io_callback(fails, LIKE, x),
    "ordered io_callback": lambda x: io_callback(fails, LIKE, x, ordered=True),
    "debug.callback": lambda x: (jax.debug.callback(fails, x), x)[1],
    "of a vmap": jax.vmap(lambda x: jax.pure_callback(fails, LIKE, x, vmap_method="sequential")),
}


WAITS = {waits.__file__, guard.__file__} if PLATFORM != "cpu" else ()
"""Where an error comes when one waits for it: of what JAX's barrier calls, JAX hides no frames."""


@capturing
@pytest.mark.parametrize("name", CALLBACKS)
def test_an_error_in_a_callback_shows_only_the_users_lines(name, options, caplog):
    x = jnp.ones(2) if name == "of a vmap" else jnp.float32(1)

    def run():
        jax.jit(CALLBACKS[name])(x)
        jax.effects_barrier()

    with jdw.capture(**options), pytest.raises((jax.errors.JaxRuntimeError, ValueError)) as caught:
        run()
    frames = [one for one in traceback.extract_tb(caught.value.__traceback__) if one.filename not in WAITS]
    shown = "".join(traceback.format_list(frames)) + str(caught.value) + caplog.text
    assert hidden_frames.FOLDER not in shown
    assert "no 1.0" in shown
    assert "in fails" in shown


@capturing
def test_programs_name_no_place_of_ours(options):
    def doubled(x):
        with jax.named_scope("doubling"):
            h = jnp.where(x > 0, x, 0) * 2
        return h.sum()

    with jdw.capture(**options):
        lowered = jax.jit(jax.value_and_grad(doubled)).lower(jnp.ones(3))
        texts = lowered.as_text(debug_info=True), lowered.compile().as_text()
        exported = jax.export.export(jax.jit(jax.vmap(doubled)))(jnp.ones((2, 3))).mlir_module()
    for text in (*texts, exported):
        assert __file__ in text or "jit_doubled" in text
        assert "jax_debug_widgets/_jax" not in text
        assert "Hooks" not in text


@capturing
def test_cache_misses_are_explained_by_the_users_lines(options, caplog):
    with jax.explain_cache_misses(True), caplog.at_level(logging.WARNING, "jax"), jdw.capture(**options):
        f = jax.jit(lambda x: jnp.sin(x) + 1)
        f(jnp.ones(3))
        f(jnp.ones(4))
    assert "CACHE MISS" in caplog.text
    assert hidden_frames.FOLDER not in caplog.text


def test_our_folder_is_registered_with_jax_once_and_removed():
    lists = source_info_util._exclude_paths, traceback_util._exclude_paths
    for _ in range(2):
        hidden_frames.hide()
        assert [one.count(hidden_frames.FOLDER) for one in lists] == [1, 1]
    hidden_frames.show()
    assert not any(hidden_frames.FOLDER in one for one in lists)
    assert source_info_util.is_user_filename(hidden_frames.__file__)
    hidden_frames.hide()
    assert not source_info_util.is_user_filename(hidden_frames.__file__)
