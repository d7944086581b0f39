"""Test the table of runs, beside the notebook and in the panel: tick, rename and compare runs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import Theme
from tests.e2e.clicks import clicks
from tests.e2e.side_panel import SIDE, SidePanel
from tests.e2e.test_panel_accessibility import violations

SETUP = """%load_ext jax_debug_widgets
import jax, jax.numpy as jnp
import jax_debug_widgets as jdw
@jax.jit
def step(w, lr):
    h = 2 * (w - 3.0)
    loss = (h ** 2).sum()
    acc = jnp.exp(-loss)
    jax.debug.print("loss {loss} acc {acc}", loss=loss, acc=acc)
    return w - lr * h
def fit(lr, seed=0, steps=60):
    w = jnp.full(3, 1.0 * seed)
    for _ in range(steps):
        w = step(w, lr)
    return w
"""
RUN = "%%jaxdebug --name 'lr {lr}' --config lr={lr} --watch h\nfit({lr});"
SEEDS = """for seed in range(3):
    with jdw.capture(config={"lr": 0.02, "seed": seed}, title="seeds"):
        fit(0.02, seed)
"""
THEMES: list[Theme] = ["Light", "Dark", "Dark High Contrast"]


@pytest.fixture
def side(lab_page):
    yield SidePanel(lab_page)
    assert lab_page.requests_elsewhere() == []
    assert lab_page.errors == []


@pytest.mark.behaviour("O3")
@pytest.mark.own_page
def test_two_runs_are_compared_in_two_clicks_and_a_new_name_stays(lab, lab_page, side):
    cells = [RUN.format(lr=lr) for lr in (0.01, 0.1)]
    notebook = lab_page.open_notebook(lab.write_notebook("two.ipynb", SETUP, *cells, SEEDS))
    for index in (0, 1, 2):
        notebook.run_cell(index)
    panel = notebook.output(2).get_by_test_id("jaxdebug-panel")
    panel.and_(lab_page.page.locator("[data-state=done]")).wait_for()
    with clicks(lab_page.page, 2):  # After the cell: one click for the tab, one for the previous run.
        panel.get_by_role("tab", name="Runs").click()
        panel.get_by_label("Compare In [2] lr 0.01").check()
        panel.get_by_test_id("runs-legend").get_by_text("0.01").wait_for()
    legend = panel.get_by_test_id("runs-legend").locator(".legend-entry b")
    expect(legend).to_have_text(["0.1", "0.01"])
    panel.locator("[data-testid=overlay][data-series=loss][data-lines='2']").wait_for()
    expect(panel.get_by_test_id("parted")).to_contain_text("first difference: h")

    notebook.run_cell(3)
    side.show()
    expect(side.runs).to_have_count(5)
    row = side.runs.filter(has_text="lr 0.01")
    row.hover()
    row.get_by_label("Rename In [2] lr 0.01").click()
    side.root.get_by_label("Name of In [2] lr 0.01").fill("slow")
    lab_page.page.keyboard.press("Enter")
    side.runs.get_by_text("slow").wait_for()
    notebook.output(1).get_by_test_id("called").get_by_text("slow").wait_for()
    notebook.save()
    lab_page.reload()
    notebook.wait_until_open()
    side.show()
    side.runs.get_by_text("slow").wait_for()

    for number in (1, 2, 3):
        side.runs.get_by_label(f"Compare In [4] seeds #{number}").check()
    side.runs.get_by_label("Compare In [3] lr 0.1").check()
    side.root.get_by_text("mean of 3 seeds").wait_for()
    size = lab_page.page.viewport_size
    lab_page.page.set_viewport_size({"width": 1800, "height": 900})
    for width in (320, 640, 1280):
        side.drag_to(width)
        for theme in THEMES:
            lab_page.set_theme(theme)
            lab_page.screenshot(f"runs-side-{theme}-{width}")
            assert violations(lab_page.page, SIDE) == []
    side.drag_to(320)
    lab_page.page.set_viewport_size(size)
    lab_page.set_theme("Light")
    heads = side.root.get_by_role("columnheader")
    heads.get_by_role("button", name=re.compile("^last loss")).click()
    expect(side.runs.first.locator("td.col-last")).to_have_text("9.96")


@pytest.mark.parametrize("width", [320, 640, 1280])
def test_the_tab_of_runs_has_no_serious_violation_at_any_width(lab, lab_page, width):
    cells = [RUN.format(lr=lr) for lr in (0.01, 0.1, 0.6)]
    notebook = lab_page.open_notebook(lab.write_notebook("three.ipynb", SETUP, *cells))
    for index in range(4):
        notebook.run_cell(index)
    lab_page.page.set_viewport_size({"width": width + 120, "height": 900})
    panel = notebook.output(3).get_by_test_id("jaxdebug-panel")
    panel.get_by_role("tab", name="Runs").click()
    for cell, lr in ((2, 0.01), (3, 0.1)):
        panel.get_by_label(f"Compare In [{cell}] lr {lr}").check()
    chart = panel.locator("[data-testid=overlay][data-lines='3']").first
    chart.wait_for()
    assert (chart.bounding_box() or {})["height"] > 100
    for theme in THEMES:
        lab_page.set_theme(theme)
        panel.scroll_into_view_if_needed()
        lab_page.screenshot(f"runs-{width}-{theme}")
        assert violations(lab_page.page, "[data-jaxdebug-run]") == []
    lab_page.set_theme("Light")
