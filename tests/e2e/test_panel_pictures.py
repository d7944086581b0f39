"""Take a picture of each view of a real run, light and dark, for docs/panel.md (`make pictures`)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

from tests.e2e.browser import ARTIFACTS
from tests.e2e.debugger import DebuggerOnScreen
from tests.e2e.panel import PanelOnScreen

if TYPE_CHECKING:
    from tests.e2e.browser import LabPage

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "02_streams_and_plots.ipynb"
CELLS = nbformat.read(NOTEBOOK, as_version=4).cells
WATCHED = next(index for index, cell in enumerate(CELLS) if cell.source.startswith("%%jaxdebug"))
LARGEST = 150_000
"""The largest size of a picture, in bytes: the pictures are in the repository."""


@pytest.fixture
def panel(lab, lab_page):
    shutil.copy(NOTEBOOK, lab.notebooks / NOTEBOOK.name)
    notebook = lab_page.open_notebook(NOTEBOOK.name)
    for index, cell in enumerate(CELLS[: WATCHED + 1]):
        if cell.cell_type == "code":
            notebook.run_cell(index, timeout_s=120)
    notebook.output(WATCHED)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", barrier="drained", events=240)
    yield panel
    assert lab_page.errors == []
    assert lab_page.requests_elsewhere() == []


def open_array(panel: PanelOnScreen) -> None:
    """Select a line with an array, which opens below it."""
    panel.root.locator(".row", has_text="[[").last.click()
    panel.root.get_by_test_id("slice").wait_for()


def inspect_array(panel: PanelOnScreen) -> None:
    """Inspect an array of a callback, with two curves over the steps."""
    for name in ("mean", "quarters"):
        panel.root.locator(f"[data-testid=name][data-of='{name}'] .name-tick").click()
    panel.root.locator("[data-testid=name][data-of=v]").click()
    panel.root.get_by_label("Lane").select_option("2")
    panel.root.locator("[data-testid=slice]:not(.stale)").get_by_text("float32[96,96]").wait_for()
    panel.root.locator("[data-testid=spread][data-events='80']").wait_for()


FRAMES = """async () => {
  for (let i = 0; i < 20; i++) await new Promise(requestAnimationFrame);
}"""

VIEWS = {
    "overview": ("Overview", None),
    "prints": ("Prints", open_array),
    "array": ("Code", inspect_array),
    "timeline": ("Timeline", None),
    "calls": ("Calls", None),
}


@pytest.mark.behaviour("W4")
def test_pictures_of_each_view_are_taken_light_and_dark(panel, lab_page):
    for name, (tab, prepare) in VIEWS.items():
        panel.open_tab(tab)
        if prepare is not None:
            prepare(panel)
        pictured(panel, lab_page, f"panel-{name}")
    lab_page.set_theme("Light")


def pictured(panel: PanelOnScreen, lab_page: LabPage, title: str) -> None:
    """Take the panel's picture, light and dark."""
    for theme in ("Light", "Dark"):
        lab_page.set_theme(theme)
        is_dark = "true" if theme == "Dark" else "false"
        lab_page.wait_for_js(
            "dark => [...document.querySelectorAll('[data-jaxdebug-run] > *')]"
            ".some(host => String(!!host.shadowRoot?.querySelector('.panel.dark')) === dark)",
            is_dark,
        )
        lab_page.wait_for_js("() => !document.querySelector('#jupyterlab-splash')")
        lab_page.page.mouse.move(0, 0)
        panel.root.scroll_into_view_if_needed()
        # A chart that comes into view is drawn some frames later.
        lab_page.page.evaluate(FRAMES)
        own = f"{title}-{theme.lower()}"
        panel.picture(own)
        assert (ARTIFACTS / f"{own}.png").stat().st_size <= LARGEST


STOP = [
    "%load_ext jax_debug_widgets\nimport jax, jax.numpy as jnp",
    """%%jaxdebug --watch-all --values --break-on nonfinite
def loss_fn(w, x, y):
    scores = jnp.tanh(x @ w)
    probs = jax.nn.softmax(scores * 50)
    logp = jnp.log(probs)
    return -(logp * y).sum(-1).mean()

@jax.jit
def step(w, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(w, x, y)
    return w - 0.1 * grads, loss

x, y = jax.random.normal(jax.random.key(1), (16, 8)), jax.nn.one_hot(jnp.arange(16) % 4, 4)
w = 0.02 * jax.random.normal(jax.random.key(0), (8, 4))
for _ in range(20):
    w, loss = step(w, x, y)""",
]


@pytest.mark.skipif(not os.environ.get("JAXDEBUG_PICTURES"), reason="only a picture: `make pictures` takes it")
def test_a_picture_of_a_stop_is_taken_light_and_dark(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("stop.ipynb", *STOP))
    notebook.run_cell(0)
    run = notebook.start_cell(1)
    debugger = DebuggerOnScreen(lab_page)
    debugger.wait_for_stop()
    debugger.run("int(jnp.isinf(logp).sum())")
    debugger.root.locator("[data-local=logp] > button").click()
    debugger.root.get_by_test_id("slice").wait_for()
    pictured(debugger.panel, lab_page, "debugger")
    debugger.resume("all")
    run.wait(timeout_s=60)
