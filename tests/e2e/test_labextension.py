"""Test JupyterLab's extension: it follows the current notebook's kernel, and its panels are live."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import Theme, shows
from tests.e2e.notebook import NOTEBOOK_7_ITSELF
from tests.e2e.panel import PanelOnScreen
from tests.e2e.side_panel import BESIDE, SIDE, SidePanel
from tests.e2e.test_panel_accessibility import violations
from tests.e2e.tour import COUNTS, WATCHED, open_tour, prepare

SETUP = "%load_ext jax_debug_widgets\nimport jax, jax.numpy as jnp\nfrom jax import lax"
KERNELS_COUNT = """
from jax_debug_widgets.session import current_session
print([run.status().events for run in current_session().runs()])
"""
NEWTON = """%%jaxdebug
@jax.jit
def root_of(a):
    def body(i, x):
        jax.debug.print("x {x}", x=x)
        return 0.5 * (x + a / x)
    return lax.fori_loop(0, 30, body, a)

_ = root_of(2.0)
"""


@pytest.fixture
def side(lab_page):
    yield SidePanel(lab_page)
    assert lab_page.requests_elsewhere() == []
    known = NOTEBOOK_7_ITSELF if "/notebooks/" in lab_page.page.url else set()
    assert set(lab_page.errors) <= known


@pytest.mark.own_page
def test_a_training_is_followed_beside_the_notebook_while_it_runs(lab, lab_page, side, hold):
    tour = open_tour(lab, lab_page, hold)
    lab_page.page.keyboard.press("Control+b")  # Closes the file browser, which is in the same place.
    side.show()
    side.root.get_by_text("Nothing has been captured in this notebook.").wait_for()
    prepare(tour, held=True)
    run = tour.start_cell(WATCHED)
    side.wait_for_row(state="running", timeout_s=120)
    side.wait_for_status(barrier="pending", timeout_s=120)
    lab_page.page.keyboard.press("Alt+Shift+j")
    side.panel(BESIDE).wait_for()
    row = "document.querySelector('.jaxdebug-Runs').shadowRoot.querySelector('tr[data-run]')"
    counted = f"() => +{row}.dataset.events > 1000"
    lab_page.wait_for_js(counted, timeout_s=120)
    expect(side.panel(BESIDE)).to_have_attribute("data-events", re.compile("[1-9]"))
    lab_page.screenshot("lab-running-light")
    assert not run.ended
    hold.go_on()
    run.wait(timeout_s=120)

    side.wait_for_row(state="done", barrier="drained", events=COUNTS["events"])
    side.wait_for_status(state="done", barrier="drained")
    side.wait_for_panel(BESIDE, state="done", barrier="drained", **COUNTS)
    expect(side.status).to_have_text("JAX: done")
    side.panel(BESIDE).locator("[data-chart=loss]").wait_for()
    lab_page.screenshot("lab-beside-light")
    lab_page.set_theme("Dark")
    lab_page.screenshot("lab-beside-dark")
    lab_page.set_theme("Light")


def test_a_run_opens_in_the_side_panel_and_closes_again(lab, lab_page, side):
    notebook = lab_page.open_notebook(lab.write_notebook("newton.ipynb", SETUP, NEWTON, KERNELS_COUNT))
    for index in (0, 1):
        notebook.run_cell(index)
    side.show()
    row = side.runs.get_by_role("button", expanded=False)
    row.click()
    side.wait_for_panel(SIDE, state="done", events=30)
    side.panel(SIDE).get_by_text("x 1.4142").first.wait_for()
    lab_page.screenshot("lab-side-light")
    notebook.run_cell(2)
    assert notebook.printed(2).strip() == "[30]"
    side.runs.get_by_role("button", expanded=True).click()
    side.panel(SIDE).wait_for(state="detached")


def test_a_run_without_an_output_is_listed_and_opens(lab, lab_page, side):
    captured = (
        "import jax_debug_widgets as jdw\nwith jdw.capture(title='in a script') as run:\n"
        "    jax.jit(lambda x: jax.debug.print('x {}', x))(3.0)"
    )
    notebook = lab_page.open_notebook(lab.write_notebook("script.ipynb", SETUP, captured))
    for index in (0, 1):
        notebook.run_cell(index)
    side.show()
    side.runs.get_by_label("in a script beside the notebook").click()
    side.wait_for_panel(BESIDE, state="done", events=1)
    expect(side.panel(BESIDE).get_by_text("x 3.0").first).to_be_visible()


def test_the_commands_are_in_the_palette_and_the_keyboard_is_enough(lab, lab_page, side):
    notebook = lab_page.open_notebook(lab.write_notebook("keys.ipynb", SETUP, NEWTON.removeprefix("%%jaxdebug\n")))
    notebook.run_cell(0)
    keyboard = lab_page.page.keyboard
    notebook.cell(1).locator(".jp-InputPrompt").click()  # Enters command mode; everything after this uses keys.
    keyboard.press("Alt+Shift+d")
    lab_page.wait_for_js("() => document.querySelectorAll('.jp-Cell .cm-line')[3].textContent === '%%jaxdebug'")
    keyboard.press("Shift+Enter")
    # The added cell takes the focus, in JupyterLab 4.4 after a moment, which would close the palette.
    PanelOnScreen(lab_page).wait(state="done", events=30)
    lab_page.page.locator(".jp-Cell:nth-child(3) .cm-content:focus").wait_for()
    keyboard.press("Control+Shift+c")
    lab_page.page.locator(".lm-CommandPalette-input:focus").wait_for()
    keyboard.type("Show the Runs of This")
    lab_page.page.locator(".lm-CommandPalette-item.lm-mod-active", has_text="Show the Runs of This").wait_for()
    keyboard.press("Enter")
    side.root.wait_for(state="visible")
    side.wait_for_row(state="done", events=30)
    side.runs.first.locator("button").first.focus()
    keyboard.press("Enter")
    side.wait_for_panel(SIDE, events=30)


def test_the_commands_have_their_keys_in_the_panel_too(lab, lab_page, side):
    notebook = lab_page.open_notebook(lab.write_notebook("keys.ipynb", SETUP, NEWTON))
    notebook.run_cell(0)
    notebook.run_cell(1)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", events=30)
    panel.open_tab("Prints")
    keyboard = lab_page.page.keyboard
    keyboard.press("4")  # a shortcut of the panel; in the notebook it would make the cell a heading
    panel.root.locator("#tab-timeline[aria-selected=true]").wait_for()
    keyboard.press("Control+s")
    lab_page.wait_for_js("() => !document.querySelector('.jp-mod-dirty')")
    keyboard.press("Alt+j")
    side.root.wait_for(state="visible")
    side.wait_for_row(state="done", events=30)
    assert "%%jaxdebug" in notebook.cell(1).inner_text()


def test_the_list_follows_from_one_notebook_to_the_other(lab, lab_page, side):
    one = lab_page.open_notebook(lab.write_notebook("one.ipynb", SETUP, NEWTON))
    for index in (0, 1):
        one.run_cell(index)
    side.show()
    side.wait_for_row(events=30)
    other = lab_page.open_beside(lab.write_notebook("other.ipynb", SETUP, NEWTON.replace("0, 30", "0, 7"), NEWTON))
    side.root.get_by_text("Nothing has been captured in this notebook.").wait_for()
    expect(side.status).to_have_count(0)
    for index in (0, 1, 2):
        other.run_cell(index)
    side.wait_for_row(events=7)
    expect(side.runs).to_have_count(2)
    one.activate()
    side.root.get_by_text("one.ipynb").wait_for()
    shows(lab_page.page, side.events, ["30"])
    other.activate()
    side.root.get_by_text("other.ipynb").wait_for()
    shows(lab_page.page, side.events, ["30", "7"])
    other.restart_kernel()
    side.root.get_by_text("Nothing has been captured in this notebook.").wait_for()
    one.activate()
    one.shut_down_kernel()
    side.root.get_by_text("This notebook has no kernel.").wait_for()


def test_a_page_that_is_loaded_while_a_cell_runs_finds_the_run(lab, lab_page, side, hold):
    notebook = lab_page.open_notebook(lab.write_notebook("late.ipynb", SETUP, hold.blocked_cell(500)))
    notebook.run_cell(0)
    notebook.start_cell(1)
    PanelOnScreen(lab_page).wait(events=501)
    lab_page.page.keyboard.press("Alt+Shift+j")
    side.wait_for_panel(BESIDE, events=501)
    lab.wait_for_workspace(f"jax-debug-beside:{side.panel(BESIDE).get_attribute('data-run')}")
    notebook.save()
    lab_page.reload()
    notebook.wait_until_open()
    side.wait_for_status(state="running", barrier="pending")
    side.show()
    side.wait_for_row(state="running", events=501)
    lab_page.screenshot("lab-reloaded-while-running")
    hold.go_on()
    side.wait_for_row(state="done", barrier="drained", events=501)
    side.wait_for_panel(BESIDE, state="done", events=501)
    side.runs.get_by_role("button", expanded=False).click()
    side.wait_for_panel(SIDE, state="done", events=501)


def test_a_page_finds_the_run_of_a_kernel_that_a_debugger_makes_look_idle(lab, lab_page, side, hold):
    notebook = lab_page.open_notebook(lab.write_notebook("debugged.ipynb", SETUP, hold.blocked_cell(20)))
    notebook.run_cell(0)
    notebook.start_cell(1)
    PanelOnScreen(lab_page).wait(events=21)
    notebook.save()
    (kernel,) = lab.kernel_ids()
    with lab.asked_on_control(kernel):
        lab_page.reload()
        notebook.wait_until_open()
        side.wait_for_status(state="running", barrier="pending")
    hold.go_on()
    side.wait_for_status(state="done", barrier="drained")


MATRICES = """%%jaxdebug
@jax.jit
def waves(x):
    def body(i, x):
        x = jnp.sin(x + i)
        jax.debug.print("x {x}", x=x, ordered=True)
        jax.debug.print("mean {m}", m=x.mean())
        return x
    return lax.fori_loop(0, 20, body, x)

_ = waves(jnp.linspace(-3.0, 3.0, 30 * 40).reshape(30, 40))
"""
TABS = ["Overview", "Prints", "Code", "Timeline", "Calls"]
THEMES: list[Theme] = ["Light", "Dark", "Dark High Contrast"]


@pytest.mark.own_page
def test_the_side_panel_has_no_serious_violation_in_any_theme(lab, lab_page, side):
    notebook = lab_page.open_notebook(lab.write_notebook("themes.ipynb", SETUP, MATRICES))
    for index in (0, 1):
        notebook.run_cell(index)
    side.show()
    side.runs.get_by_role("button", expanded=False).click()
    side.wait_for_panel(SIDE, state="done", events=40)
    lab_page.page.keyboard.press("Alt+Shift+j")
    side.wait_for_panel(BESIDE, state="done", events=40)
    lab_page.page.keyboard.press("Control+b")
    for theme in THEMES:
        lab_page.set_theme(theme)
        for tab in TABS:
            side.panel(BESIDE).get_by_role("tab", name=tab).click()
            if tab == "Code":
                name = side.panel(BESIDE).locator("[data-testid=name][data-of=x]")
                if not name.is_visible():
                    side.panel(BESIDE).get_by_test_id("names-toggle").click()
                name.click()
                side.panel(BESIDE).get_by_test_id("slice").wait_for()
            lab_page.screenshot(f"lab-{theme}-{tab}")
            assert violations(lab_page.page, BESIDE) == []
            side.fills(BESIDE)
        for where in (SIDE, ".jaxdebug-StatusItem"):
            assert violations(lab_page.page, where) == []
    lab_page.set_theme("Light")


TWENTY = 20
SUM = "%%jaxdebug\njax.jit(lambda x: jax.debug.print('sum {{s}}', s=x.sum()))(jnp.arange({n}.0))"


@pytest.mark.own_page
def test_twenty_panels_load_the_front_end_once_and_go_with_their_outputs(lab, lab_page, side):
    cells = [SUM.format(n=n + 1) for n in range(TWENTY)]
    notebook = lab_page.open_notebook(lab.write_notebook("twenty.ipynb", SETUP, *cells))
    notebook.run_all()
    side.show()
    for index in range(1, TWENTY + 1):
        notebook.output(index).get_by_test_id("jaxdebug-panel").wait_for()
    expect(side.runs).to_have_count(TWENTY)
    bundles = [size for size in lab_page.received if size > 100_000]
    assert len(bundles) == 1, f"the front end came {len(bundles)} times"
    # JupyterLab renders distant cells only when they come near the screen.
    lab_page.wait_for_js(f"() => __jaxDebug.views.size >= {TWENTY / 2}")

    last = notebook.output(TWENTY).get_by_test_id("jaxdebug-panel")
    last.get_by_role("tab", name="Calls").click()
    lab_page.ask("command", "notebook:hide-cell-outputs", "twenty.ipynb", TWENTY)
    last.wait_for(state="hidden")
    lab_page.ask("command", "notebook:show-cell-outputs", "twenty.ipynb", TWENTY)
    last.wait_for()
    expect(last.get_by_role("tab", name="Calls")).to_have_attribute("aria-selected", "true")
    lab_page.ask("command", "notebook:clear-all-cell-outputs", "twenty.ipynb", TWENTY)
    lab_page.wait_for_js("() => __jaxDebug.views.size === 0")
    side.runs.last.get_by_role("button", expanded=False).click()
    side.wait_for_panel(SIDE, state="done", events=1)
    side.panel(SIDE).get_by_text("sum 0.0").wait_for()
    assert len([size for size in lab_page.received if size > 100_000]) == 1


@pytest.fixture
def left_without_status(lab):
    lab.set_settings("jax-debug-widgets:plugin", {"side": "left", "statusBar": False, "showWhenRunBegins": True})
    yield
    lab.set_settings("jax-debug-widgets:plugin", {})


@pytest.mark.usefixtures("left_without_status")
@pytest.mark.own_page
def test_the_settings_place_the_side_panel_and_hide_the_status(lab, lab_page, side):
    notebook = lab_page.open_notebook(lab.write_notebook("settings.ipynb", SETUP, NEWTON))
    notebook.run_cell(0)
    notebook.run_cell(1)
    side.root.wait_for(state="visible")
    side.wait_for_row(state="done", events=30)
    expect(lab_page.page.locator(f"#jp-left-stack {SIDE}")).to_be_visible()
    expect(side.status).to_be_hidden()


def test_the_panel_is_live_and_runs_are_listed_in_notebook_7(lab, lab_page, side):
    notebook = lab_page.open_in_notebook_7(lab.write_notebook("seven.ipynb", SETUP, NEWTON))
    notebook.run_cell(0)
    notebook.run_cell(1)
    PanelOnScreen(lab_page).wait(state="done", barrier="drained", events=30)
    side.show()
    side.wait_for_row(state="done", barrier="drained", events=30)
    side.runs.get_by_role("button", expanded=False).click()
    side.wait_for_panel(SIDE, state="done", events=30)
    lab_page.screenshot("notebook-7")
