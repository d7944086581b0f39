"""Each view of a real run, light and dark: the pictures of docs/panel.md (`make pictures`)."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from tests.e2e.browser import ARTIFACTS
from tests.e2e.panel import PanelOnScreen

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "02_streams_and_plots.ipynb"
CELLS = nbformat.read(NOTEBOOK, as_version=4).cells
WATCHED = next(index for index, cell in enumerate(CELLS) if cell.source.startswith("%%jaxdebug"))
LARGEST = 150_000
"""Bytes of one picture: they are in the repository."""


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
    """Select a line whose value is an array: it opens below."""
    panel.root.locator(".row", has_text="[[").last.click()
    panel.root.get_by_test_id("slice").wait_for()


def inspect_array(panel: PanelOnScreen) -> None:
    """An array that a callback had, with two curves over the steps."""
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
def test_each_view_light_and_dark(panel, lab_page):
    for name, (tab, prepare) in VIEWS.items():
        panel.open_tab(tab)
        if prepare is not None:
            prepare(panel)
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
            # Charts that come into view are drawn some frames later.
            lab_page.page.evaluate(FRAMES)
            title = f"panel-{name}-{theme.lower()}"
            panel.picture(title)
            assert (ARTIFACTS / f"{title}.png").stat().st_size <= LARGEST
        lab_page.set_theme("Light")
