"""Test that a plain cell replays a recorded call in the debugger: its panel opens, and the result is that of the recording."""

from __future__ import annotations

import math

import pytest

from tests.e2e.debugger import DebuggerOnScreen

SETUP = """import jax, jax.numpy as jnp, jax_debug_widgets as jdw
from functools import partial

@partial(jax.jit, donate_argnums=0)
def update(w, x):
    scaled = w * x
    h = jnp.tanh(scaled)
    y = h + x
    loss, grad = jax.value_and_grad(lambda w: ((w * y) ** 2).mean())(w)
    return w - 0.1 * grad, loss
"""

RECORD = """with jdw.capture(record="replayed.jdw", keep_inputs=2, watch="loss"):
    w = jnp.arange(1.0, 200.0)
    for i in range(3):
        w, loss = update(w, jnp.full(199, 0.01 * i))
"""

REPLAY = 'again = jdw.replay("replayed.jdw", 2, update, watch=True, step=True)'

COMPARE = "print(bool((again.result[0] == w).all()), bool(again.result[1] == loss))"


@pytest.mark.behaviour("R5")
def test_a_cell_that_replays_a_call_step_by_step_opens_the_debugger(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("replay.ipynb", SETUP, RECORD, REPLAY, COMPARE))
    for index in (0, 1):
        notebook.run_cell(index)
    debugger, running = DebuggerOnScreen(lab_page), notebook.start_cell(2)
    stop = debugger.wait_for_stop()
    assert debugger.frames() == ["update"]
    before = float(debugger.run("float(w[-1])"))
    for name, value in (("w", before), ("scaled", 0.02 * before), ("h", math.tanh(0.02 * before))):
        debugger.resume("step")
        stop = debugger.wait_for_stop(after=stop)
        assert float(debugger.run(f"float({name}[-1])")) == pytest.approx(value, rel=1e-5)
    debugger.resume("continue")
    running.wait()
    notebook.run_cell(3)
    assert notebook.printed(3).strip() == "True True"
    assert lab_page.errors == []
