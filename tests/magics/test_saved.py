"""Test an executed notebook whose kernel dies in a cell, and cells with unusual output."""

from __future__ import annotations

import re

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

SETUP = "%load_ext jax_debug_widgets\nimport os, sys, time, jax, jax.numpy as jnp, numpy as np\nimport jax_debug_widgets as jdw"

HALF = """%%jaxdebug
jax.debug.print("before {half} after", half="\\ud800")"""

LONG = """%%jaxdebug
@jax.jit
def big(x):
    for _ in range(20):
        jax.debug.print("{x}", x=x)
    return x
with np.printoptions(threshold=sys.maxsize):
    big(jnp.ones((300, 300)))"""

CRASH = """%%jaxdebug
@jax.jit
def step(i):
    jax.debug.print("loss {loss}", loss=i / i)
    return i + 1
i = 1.0
while jdw.last().panel.written < 3:  # The output was written when it was shown, and twice since: who saves it finds that.
    i = step(i)
    time.sleep(0.01)
os._exit(1)"""


@pytest.fixture(scope="module")
def outputs():
    """Return the outputs of each cell; the last one has ended the kernel."""
    cells = {"setup": SETUP, "half": HALF, "long": LONG, "crash": CRASH}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells.values()])
    with pytest.raises(DeadKernelError):
        NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    return {name: [dict(output) for output in cell.outputs] for name, cell in zip(cells, notebook.cells, strict=True)}


def panel(outputs):
    """Return the only bundle of a cell; the cell has no other output, such as an error of ours."""
    (output,) = outputs
    return output["data"]


def test_a_kernel_that_dies_leaves_what_had_come(outputs):
    data = panel(outputs["crash"])
    assert re.search(r"was running when saved, after .*, [\d,]*[1-9][\d,]* prints,", data["text/plain"])
    assert "Was running when saved" in data["text/html"] and "as of 20" in data["text/html"]
    for text in data.values():
        assert "loss 1.0" in text


def test_half_a_character_does_not_leave_the_panel_running(outputs):
    data = panel(outputs["half"])
    assert data["text/plain"].startswith("jaxdebug:") and "done after" in data["text/plain"]
    assert r"before \ud800 after" in data["text/html"]


def test_long_texts_are_cut(outputs):
    data = panel(outputs["long"])
    assert data["text/html"].count("90,000 numbers in all") == 20
    assert sum(map(len, data.values())) < 60_000
