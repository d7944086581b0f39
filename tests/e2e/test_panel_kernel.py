"""Test the panel with a real kernel: arrays, their steps, muted sites, the order of the program."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.panel import PanelOnScreen

SETUP = "%load_ext jax_debug_widgets\nimport jax, jax.numpy as jnp\nfrom jax import lax"

MATRICES = """%%jaxdebug
@jax.jit
def waves(x):
    def body(i, x):
        x = jnp.sin(x + i)
        jax.debug.print("x {x}", x=x)
        jax.debug.print("mean {m}", m=x.mean())
        return x
    return lax.fori_loop(0, 50, body, x)

_ = waves(jnp.linspace(-3.0, 3.0, 4 * 30 * 40).reshape(4, 30, 40))
"""


@pytest.fixture
def panel(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("waves.ipynb", SETUP, MATRICES))
    notebook.run_cell(0)
    notebook.run_cell(1, timeout_s=120)
    notebook.output(1)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", events=100, barrier="drained")
    panel.open_tab("Prints")
    yield panel
    assert lab_page.requests_elsewhere() == []
    assert lab_page.errors == []


def test_an_array_is_inspected_in_place_and_step_by_step(panel, lab_page):
    unordered = panel.root.get_by_test_id("stream-unordered")
    unordered.get_by_text("x [[[").last.click()
    detail = panel.root.get_by_test_id("detail")
    detail.get_by_text("float32[4,30,40]").wait_for()
    lab_page.screenshot("panel-array-in-place")
    detail.get_by_label("Close the detail").click()

    panel.open_tab("Code")
    panel.root.locator("[data-testid=name][data-of=x]").click()
    shown = panel.root.get_by_test_id("slice")
    shown.get_by_text("float32[4,30,40]").wait_for()
    newest = int(shown.get_attribute("data-event"))
    assert newest >= 98
    lab_page.screenshot("panel-array-in-code")
    panel.root.locator(".axes .slider input").fill("3")
    picture = shown.get_by_test_id("heat-map")
    picture.hover()
    panel.root.get_by_test_id("slice-line").get_by_text("[3, ").wait_for()
    panel.root.get_by_label("Step", exact=True).fill("5")
    panel.root.locator("[data-testid=slice][data-event='10'], [data-testid=slice][data-event='11']").wait_for()
    panel.root.get_by_test_id("section-value").get_by_text("step 5").wait_for()
    panel.root.get_by_test_id("live").click()
    panel.root.locator(f"[data-testid=slice][data-event='{newest}']").wait_for()


def test_a_site_is_muted_and_all_lines_are_searched_and_exported(panel, lab_page):
    unused = panel.root.locator(".header .numbers").evaluate(
        "(numbers) => { const text = document.createRange(); text.selectNodeContents(numbers);"
        " return numbers.offsetWidth - text.getBoundingClientRect().width; }"
    )
    assert unused < 2, "the title is cut where there is room for it"

    mute = panel.root.get_by_label("Mute x", exact=True)
    mute.click()
    panel.root.locator(".eye[aria-pressed=true]").wait_for()
    mute.click()
    panel.root.locator(".eye[aria-pressed=true]").wait_for(state="detached")

    panel.root.get_by_test_id("find").fill("mean")
    panel.root.locator("[data-testid=found][data-count='50']").wait_for()
    panel.root.get_by_label("Copy and export").click()
    with lab_page.page.expect_download() as download:
        panel.root.get_by_test_id("export-csv").click()
    text = download.value.path().read_text("utf-8")
    assert text.count("mean ") == 50
    assert text.startswith("event,time,site,where,label,phase,ordered,lane,occurrence,step,device,call,text")


LOGARITHMS = """%%jaxdebug
@jax.jit
def logarithms(x):
    def body(x, i):
        jax.debug.print("log {y}", y=jnp.log(x - 70.0))
        return x + 1, None
    return lax.scan(body, x, jnp.arange(200))[0]

_ = logarithms(0.0)
"""


def test_the_first_nan_is_a_click_or_a_key_away(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("nan.ipynb", SETUP, LOGARITHMS))
    notebook.run_cell(0)
    notebook.run_cell(1, timeout_s=120)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", events=200)
    non_finite = panel.root.get_by_test_id("non-finite")
    expect(non_finite).to_have_text("70 NaN, 1 ∞")
    first = panel.root.locator(".row.selected[data-event='0']")
    expect(first).to_have_count(0)
    panel.open_tab("Calls")
    non_finite.click()
    first.wait_for()
    expect(panel.root.get_by_test_id("scrubber")).to_have_attribute("data-moment", "0")
    lab_page.screenshot("panel-first-nan")
    panel.root.get_by_test_id("live").click()
    panel.root.get_by_role("button", name="Close the detail").click()
    panel.open_tab("Timeline")
    lab_page.page.keyboard.press("!")
    first.wait_for()


def test_a_panel_is_live_again_after_a_restart_of_the_kernel(lab, lab_page, hold):
    notebook = lab_page.open_notebook(lab.write_notebook("again.ipynb", SETUP, MATRICES, hold.blocked_cell(30)))
    shown = PanelOnScreen(lab_page)
    notebook.run_cell(0)
    notebook.run_cell(1, timeout_s=120)
    notebook.output(1)
    shown.wait(state="done", events=100)
    notebook.restart_kernel()
    shown.wait(connected="false")
    lab_page.ask("start", "notebook:clear-all-cell-outputs", notebook.path, None)
    notebook.run_cell(0)
    blocked = notebook.start_cell(2)
    notebook.output(2)
    shown.wait(state="running", events=31)
    hold.go_on()
    blocked.wait()
    assert lab_page.errors == []
