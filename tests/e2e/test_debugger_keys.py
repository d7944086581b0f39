"""Test the shortcuts at a stop, which are those of JupyterLab's debugger, also while the console has the focus."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import boxes_at_rest
from tests.e2e.debugger import DebuggerOnScreen
from tests.e2e.side_panel import BESIDE, SIDE, SidePanel
from tests.e2e.test_panel_harness import Harness, dev_server, harness

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

RESUMED = "kernel.requests.filter(({ type }) => type === 'resume').map(({ how }) => how)"
STEP = """%load_ext jax_debug_widgets
import jax, jax.numpy as jnp
def f(x):
    y = x * 2
    z = jnp.sin(y)
    return z.sum()"""


@pytest.mark.parametrize("place", ["panel", "console"])
@pytest.mark.parametrize(
    ("kind", "key", "how"),
    [
        ("breakpoint", "F8", "continue"),
        ("step", "F8", "continue"),
        ("step", "F10", "step"),
        ("step", "F11", "into"),
        ("step", "Shift+F11", "out"),
    ],
)
def test_the_keys_of_jupyterlabs_debugger_go_on(harness: Harness, kind: str, key: str, how: str, place: str):
    panel = harness.open(stop=kind)
    panel.locator("[data-testid=debugger][data-stands=true]").wait_for()
    button = panel.locator(f"[data-resume={how}]")
    expect(button.locator("kbd")).to_have_text(key)
    [icon] = button.locator("svg.icon path").all()
    assert (icon.bounding_box() or {})["width"] > 4
    if place == "console":
        panel.get_by_test_id("prompt").fill("half a comm")
    harness.page.keyboard.press(key)
    harness.page.wait_for_function(f"how => {RESUMED}.join() === how", arg=how)
    if place == "console":
        expect(panel.get_by_test_id("prompt")).to_have_value("half a comm")


def test_a_jaxpr_is_stepped_through_by_keys_in_jupyterlab(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("keys.ipynb", STEP, "%jaxdebug step f(jnp.ones(3))"))
    notebook.run_cell(0)
    debugger = DebuggerOnScreen(lab_page)
    run = notebook.start_cell(1)
    stop = debugger.wait_for_stop()
    for _ in range(2):
        lab_page.page.keyboard.press("F10")
        stop = debugger.wait_for_stop(after=stop)
    expect(debugger.root.get_by_test_id("reason")).to_contain_text("reduce_sum")
    lab_page.page.keyboard.press("F8")
    run.wait(timeout_s=30)
    assert lab_page.errors == []


def test_a_stop_fills_the_split_and_the_side(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("fills.ipynb", STEP, "%jaxdebug step f(jnp.ones(3))"))
    notebook.run_cell(0)
    debugger, side = DebuggerOnScreen(lab_page), SidePanel(lab_page)
    run = notebook.start_cell(1)
    debugger.wait_for_stop()
    side.show()
    side.runs.get_by_role("button", expanded=False).click()
    lab_page.page.keyboard.press("Alt+Shift+j")
    for where in (SIDE, BESIDE):
        panel = side.panel(where)
        panel.locator("[data-stands=true]").wait_for()
        side.fills(where)
        code, line = boxes_at_rest(lab_page.page, panel.get_by_test_id("code"), panel.locator(".source-row.now"))
        assert code["y"] <= line["y"] and line["y"] + line["height"] <= code["y"] + code["height"] + 1, where
    lab_page.screenshot("stop-in-split-and-side")
    debugger.resume("continue")
    run.wait(timeout_s=30)
    assert lab_page.errors == []
