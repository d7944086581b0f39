"""Test the files of a run for TensorBoard."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw


@jax.jit
def trained(x):
    def body(c, _):
        h = c * 0.5
        jax.debug.print("loss {loss} of {c}", loss=h.sum(), c=c[0])

        def inner(d, j):
            jax.debug.print("inner {d}", d=d)
            return d + j, None

        return h + lax.scan(inner, 0.0, jnp.arange(2.0))[0], None

    return lax.scan(body, x, jnp.arange(3))[0]


@pytest.fixture(scope="module")
def run():
    """Return a run with numbers, small arrays, lanes, NaN, and names that are not valid tags."""
    with jdw.capture(watch="h") as run:
        for scale in (1.0, jnp.nan):
            trained(jnp.ones(3) * scale)
        jax.vmap(lambda y: jax.debug.print("lane {y}", y=y))(jnp.arange(2.0))
        for i in range(2):
            v = jnp.arange(2) + i
            jax.debug.print("both {v}", v=v)
            jax.debug.print("{i}", i=i)
            jax.debug.print("once more {i}", i=i)
    return run


def read(folder):
    """Return for each tag the steps, values and times that TensorBoard's own reader finds."""
    backend = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    log = backend.EventAccumulator(str(folder), {"scalars": 0})
    log.Reload()
    points = {tag: log.Scalars(tag) for tag in log.Tags()["scalars"]}
    return {
        tag: tuple(np.array([getattr(one, name) for one in own]) for name in ("step", "value", "wall_time"))
        for tag, own in points.items()
    }


@pytest.mark.behaviour("R1")
def test_tensorboard_reads_each_number_at_its_step_and_time(run, tmp_path):
    run.to_tensorboard(tmp_path / "log")
    found = read(tmp_path / "log")
    for name, tag in (("loss", "loss"), ("h.mean", "h.mean"), ("c[0]", "c[0]")):
        steps, values = run.series(name)
        np.testing.assert_array_equal(found[tag][0], steps)
        np.testing.assert_array_equal(found[tag][1], values)
    np.testing.assert_array_equal(found["d"][0], np.arange(12), "fractions of a step are numbered")
    assert [found[f"y/lane {lane}"][1].tolist() for lane in (0, 1)] == [[0], [1]]
    assert len([tag for tag in found if tag.startswith("i@")]) == 2, "of two lines"
    printed = [event for event in run.events if event.text.startswith("loss")]
    np.testing.assert_allclose(found["loss"][2], [run.status().started + e.time_ns * 1e-9 for e in printed], atol=1e-6)
    assert not any(tag.startswith("v") for tag in found), "an array is written when it is named"
    run.to_tensorboard(tmp_path / "one", "v")
    assert {tag: own[1].tolist() for tag, own in read(tmp_path / "one").items()} == {"v/0": [0, 1], "v/1": [1, 2]}


def test_a_log_that_is_there_stays_and_what_is_missing_is_reported(run, tmp_path, monkeypatch):
    run.to_tensorboard(tmp_path, "loss")
    with pytest.raises(FileExistsError, match="has a log of TensorBoard's already"):
        run.to_tensorboard(tmp_path, "loss")
    with pytest.raises(KeyError, match="acc"):
        run.to_tensorboard(tmp_path / "new", "acc")
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r'pip install "jax-debug-widgets\[tensorboard\]"'):
        run.to_tensorboard(tmp_path / "new")
    assert not (tmp_path / "new").exists()
