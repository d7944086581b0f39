"""Test what a saved notebook contains: during a run, after a reload of the page, after the kernel has died."""

from __future__ import annotations

import re

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import expect

from tests.e2e.browser import Theme
from tests.e2e.panel import PanelOnScreen
from tests.e2e.test_panel_accessibility import violations

THEMES: list[Theme] = ["Light", "Dark", "Dark High Contrast"]
SETUP = "%load_ext jax_debug_widgets\nimport jax, jax.numpy as jnp\nfrom jax import lax"
RUN, EVENTS = 1, 31


@pytest.fixture
def notebook(lab, lab_page, hold):
    """Open a notebook with a running cell that has printed 30 times and waits."""
    notebook = lab_page.open_notebook(lab.write_notebook("saved.ipynb", SETUP, hold.blocked_cell(EVENTS - 1)))
    notebook.run_cell(0)
    notebook.start_cell(RUN)
    notebook.output(RUN)
    PanelOnScreen(lab_page).wait(state="running", events=EVENTS)
    yield notebook
    assert lab_page.errors == []


def wait_until_stored(lab_page, notebook, *words: str):
    """Wait until the output that a save would write has these words."""
    lab_page.wait_for_js(
        "([path, cell, words]) => { const [output] = window.notebookDriver.outputs(path, cell);"
        " const html = [output?.data['text/html']].flat().join(''); return words.every((word) => html.includes(word)); }",
        [notebook.path, RUN, words],
    )


def saved(lab, notebook):
    """Return the text of the panel in the file, and its plain-text version."""
    notebook.save()
    (output,) = lab.read_notebook(notebook.path).cells[RUN].outputs
    html = re.sub(r"<script>.*?</script>", "", output.data["text/html"], flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", html), output.data["text/plain"]


@pytest.mark.behaviour("O4")
def test_the_file_has_the_run_while_it_goes_on_and_after_a_reload_its_end(lab, lab_page, notebook, hold):
    panel = PanelOnScreen(lab_page)
    panel.root.evaluate("(panel) => { window.panelBefore = panel; }")
    panel.open_tab("Prints")
    find = panel.root.get_by_test_id("filter")
    find.fill("step")
    wait_until_stored(lab_page, notebook, f"{EVENTS} prints")
    # The output was rewritten, and the new one took over the panel.
    assert panel.root.evaluate("(panel) => panel === window.panelBefore")
    expect(find).to_be_focused()
    page, text = saved(lab, notebook)
    assert "Was running when saved" in page and f"{EVENTS} prints" in page and "as of 20" in page and "step 29" in page
    assert "was running when saved, after" in text and "step 29" in text

    lab_page.reload()
    notebook.wait_until_open()
    notebook.output(RUN)
    hold.go_on()
    panel.wait(state="done", events=EVENTS)
    wait_until_stored(lab_page, notebook, ">Done<")
    page, text = saved(lab, notebook)
    assert "Done" in page and "running" not in page and f"{EVENTS} prints" in page
    assert "done after" in text


@pytest.mark.behaviour("O4")
def test_the_file_says_that_the_kernel_went_and_has_what_the_page_had_seen(lab, lab_page, notebook, hold):
    notebook.restart_kernel()
    wait_until_stored(lab_page, notebook, "Kernel gone")
    page, text = saved(lab, notebook)
    assert f"{EVENTS} prints and values" in page and "step 29" in page and "running" not in page
    assert re.search(rf"— kernel gone after [\d.]+ s, {EVENTS} prints and values", text)
    hold.go_on()


@pytest.mark.own_page
def test_a_recorded_run_is_loaded_by_its_button_in_a_new_kernel(lab, lab_page):
    cell = "%%jaxdebug --record reload.jdw\nfor i in range(30):\n    jax.debug.print('step {i}', i=i)"
    notebook = lab_page.open_notebook(lab.write_notebook("reload.ipynb", SETUP, cell))
    for index in (0, 1):
        notebook.run_cell(index)
    PanelOnScreen(lab_page).wait(state="done", events=30)
    reload = notebook.output(1).get_by_role("button", name="Reload", exact=True)
    expect(reload, "its kernel is there").to_be_hidden()

    notebook.restart_kernel()
    reload.wait_for()  # The button is below the panel, which still shows what had arrived.
    notebook.save()
    lab_page.reload()
    notebook.wait_until_open()
    notebook.wait_until_idle()
    reload.click()
    panel = notebook.output(2).get_by_test_id("jaxdebug-panel")
    panel.and_(lab_page.page.locator("[data-state=done][data-events='30']")).wait_for()
    panel.get_by_role("tab", name="Prints").click()
    panel.get_by_text("step 29").first.wait_for()
    notebook.save()
    assert lab.read_notebook(notebook.path).cells[2].source == "%jaxdebug load reload.jdw"
    assert lab_page.errors == []


WRONG = """%%jaxdebug --watch-all
@jax.jit
def step(params, x, i):
    def loss_fn(params):
        n2 = ((x @ params["w"]) ** 2).sum(-1)
        return jnp.where(n2 > 0, jnp.sqrt(n2), 1.0).mean()
    loss, grads = jax.value_and_grad(loss_fn)(params)
    jax.debug.print("{i} loss {loss}", i=i, loss=loss, ordered=True)
    jax.debug.print("gradient {g}", g=grads["w"])
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

params = {"w": jnp.ones((4, 8))}
for i in range(12):
    params = step(params, jnp.ones((16, 4)).at[0].set(0.0) if i == 9 else jnp.ones((16, 4)), i)
"""


@pytest.mark.own_page
def test_a_saved_output_is_legible_in_any_theme_and_width(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("read.ipynb", SETUP, WRONG))
    for index in (0, 1):
        notebook.run_cell(index)
    PanelOnScreen(lab_page).wait(state="done", barrier="drained")
    wait_until_stored(lab_page, notebook, ">Done<")
    notebook.save()
    notebook.shut_down_kernel()
    lab_page.reload()
    notebook.wait_until_open()
    saved = notebook.output(1).locator("[data-jaxdebug-run]")
    saved.get_by_text("In [2]").first.wait_for()
    expect(saved.get_by_test_id("jaxdebug-panel")).to_have_count(0)
    for theme in THEMES:
        lab_page.set_theme(theme)
        for width in (320, 640, 1280, 1600):
            lab_page.page.set_viewport_size({"width": width + 390, "height": 900})
            saved.scroll_into_view_if_needed()
            lab_page.screenshot(f"saved-{theme}-{width}")
            assert violations(lab_page.page) == []
            # The text in the picture stays readable: a narrow output scrolls it.
            assert (saved.locator("img").bounding_box() or {})["width"] >= 520
    lab_page.set_theme("Light")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_exported_picture_has_the_colours_of_its_page_not_of_the_system(lab, lab_page, tmp_path, theme):
    notebook = lab_page.open_notebook(lab.write_notebook("exported.ipynb", SETUP, WRONG))
    for index in (0, 1):
        notebook.run_cell(index)
    wait_until_stored(lab_page, notebook, ">Done<")
    notebook.save()
    html, _ = HTMLExporter(theme=theme).from_filename(str(lab.notebooks / "exported.ipynb"))
    # Only the output, with the page's colours: the exporter's page would load MathJax from elsewhere.
    (output,) = re.findall(r"<div data-jaxdebug-run.*?</script>", html, flags=re.DOTALL)
    colour = "#fff" if theme == "light" else "#111"
    (tmp_path / "page.html").write_text(f"<body style='--jp-layout-color1: {colour}'>{output}")
    page = lab_page.page.context.new_page()
    for system in ("light", "dark"):
        page.emulate_media(color_scheme=system)
        page.goto((tmp_path / "page.html").as_uri())
        assert page.locator("img").evaluate("img => getComputedStyle(img).colorScheme") == theme
    page.close()
