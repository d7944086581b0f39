"""Test the panel in marimo: in an app in the browser, and in the page that marimo exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from playwright.sync_api import expect

from tests.e2e import marimo_app
from tests.e2e.browser import ARTIFACTS, LabPage
from tests.e2e.marimo_app import MarimoApp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Locator

    from tests.e2e.browser import Browser

STEPS = 30

NOTEBOOK = f"""import marimo

app = marimo.App()

@app.cell
def _():
    import jax
    import jax.numpy as jnp
    import marimo as mo
    import jax_debug_widgets as jdw
    return jax, jdw, jnp, mo

@app.cell
def _(mo):
    rate = mo.ui.slider(steps=[0.1, 0.2], label="learning rate", show_value=True)
    rate
    return (rate,)

@app.cell
def _(jax, jdw, jnp, rate):
    key = jax.random.key(0)
    x = jax.random.normal(key, (16, 4))
    params = {{"w": jax.random.normal(key, (4, 2)), "b": jnp.zeros(2)}}

    def loss_fn(params, x):
        logits = jnp.tanh(x @ params["w"]) + params["b"]
        return ((logits - 1.0) ** 2).mean()

    @jax.jit
    def step(params, x, i):
        loss, grads = jax.value_and_grad(loss_fn)(params, x)
        params = jax.tree.map(lambda p, g: p - rate.value * g, params, grads)
        jax.debug.print("{{i}} loss {{loss}}", i=i, loss=loss)
        return params

    with jdw.capture(watch=True, name=f"rate {{rate.value}}") as run:
        for i in range({STEPS}):
            params = step(params, x, i)
    run
    return (run,)

@app.cell
def _(mo):
    again = mo.ui.button(label="again", value=0, on_click=lambda n: n + 1)
    again
    return (again,)

@app.cell
def _(jax, jdw, jnp):
    with jdw.capture(watch=True, name="quiet") as quiet:
        jax.jit(lambda x: jnp.tanh(x))(1.0)
    return (quiet,)

@app.cell
def _(again, jdw, mo, quiet):
    mo.vstack([mo.md(f"shown {{again.value}} times before"), quiet])
    return

if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    """Return the file of a notebook with two runs."""
    file = tmp_path / "training.py"
    file.write_text(NOTEBOOK)
    return file


@pytest.fixture
def app(notebook: Path) -> Iterator[MarimoApp]:
    """Serve the notebook with `marimo run`."""
    with MarimoApp(notebook, ARTIFACTS / "marimo.log") as running:
        yield running


@pytest.fixture
def lab_page(browser: Browser, app: MarimoApp, request: pytest.FixtureRequest) -> Iterator[LabPage]:
    """Open the app in its own page; the test fails if the page reports an error."""
    page = browser.new_page(cast("Any", app), request.node.name)  # The page only needs the log of the server.
    # Large enough for a picture of the slider and the panel.
    page.page.set_viewport_size({"width": 960, "height": 580})
    page.page.goto(app.url)
    yield page
    errors = page.errors
    page.close()
    assert errors == []


def panel_of(lab_page: LabPage, run: str) -> Locator:
    """Return the panel of the run with this name."""
    return lab_page.page.get_by_test_id("jaxdebug-panel").filter(has_text=run)


@pytest.mark.behaviour("O1")
def test_an_app_shows_the_live_panel(lab_page: LabPage):
    page = lab_page.page
    panel = panel_of(lab_page, "rate 0.1")
    expect(panel).to_have_attribute("data-state", "done")
    expect(panel.get_by_test_id("fact-steps").locator(".fact-value")).to_have_text(str(STEPS))
    expect(panel.get_by_test_id("fact-loss")).to_contain_text("1.57 → 0.546")
    panel.locator("[data-chart=loss] .chart canvas").wait_for()
    lab_page.screenshot("marimo")

    # The kernel answers: it sends the bundle of the view, and the program of a call.
    panel.get_by_role("tab", name="Code").click()
    panel.locator("[data-testid=value][data-name=logits]").first.click()
    expect(panel.get_by_test_id("inspect")).to_contain_text("f32[16,2]")
    panel.get_by_role("tab", name="Calls").click()
    panel.get_by_role("button", name="program").first.click()
    panel.get_by_text("the program that this call has run").wait_for()

    # A cell that runs again has a new run, and its output shows that one.
    page.locator("marimo-slider").get_by_role("slider").press("ArrowRight")
    panel = panel_of(lab_page, "rate 0.2")
    expect(panel.get_by_test_id("fact-loss")).to_contain_text("1.57 → 0.412")

    # A cell that shows the same run again shows it live.
    page.get_by_role("button", name="again").click()
    page.get_by_text("shown 1 times before").wait_for()
    panel = panel_of(lab_page, "quiet")
    expect(page.locator("[data-jaxdebug-run]"), "no picture stands beside a panel").to_have_count(2)
    panel.get_by_role("tab", name="Code").click()
    expect(panel).to_have_attribute("data-connected", "true")


@pytest.mark.behaviour("W5")
def test_an_exported_page_keeps_the_picture_of_the_overview(browser: Browser, notebook: Path):
    page = browser.new_page(cast("Any", None), "marimo-export")
    marimo_app.serve_front_end(page.page)
    page.page.goto(marimo_app.export(notebook).as_uri())
    picture = page.page.get_by_alt_text("loss 1.57 → 0.546").first
    picture.wait_for()
    assert picture.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") > 0
    page.screenshot("marimo-export")
    errors = page.errors
    page.close()
    assert errors == []
