"""Test what the panel exports (lines as Python, files, pictures) against the run, and the curves of earlier runs."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.e2e.panel import PanelOnScreen

if TYPE_CHECKING:
    from pathlib import Path

SETUP = """%load_ext jax_debug_widgets
import json
import re
import jax, jax.numpy as jnp
import jax_debug_widgets as jdw
start = 0.0
"""

DECAY = """%%jaxdebug
@jax.jit
def decay(start):
    def step(x, i):
        loss = jnp.exp(-i / 8) + x
        jax.debug.print("loss {loss}", loss=loss)
        jax.debug.print('words, "quotes" and\\na line {i}', i=i, ordered=True)
        return x, None
    return jax.lax.scan(step, start, jnp.arange(20.0))[0]
_ = decay(start)
"""

TABLE = "print(jdw.last().to_pandas()[['seq', 'label', 'ordered', 'text']].to_json(orient='records'))"
CELLS = [SETUP, DECAY, "start += 1", TABLE, ""]
LINES = 40


@pytest.fixture
def notebook(lab, lab_page):
    lab_page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook = lab_page.open_notebook(lab.write_notebook("decay.ipynb", *CELLS))
    notebook.run_cell(0)
    notebook.run_cell(1)
    notebook.output(1)
    PanelOnScreen(lab_page).wait(state="done", events=LINES)
    yield notebook
    assert lab_page.requests_elsewhere() == []
    assert lab_page.errors == []


@pytest.fixture
def panel(lab_page):
    return PanelOnScreen(lab_page)


def exported(panel: PanelOnScreen, page: Any, kind: str, folder: Path) -> Path:
    with page.expect_download() as download:
        panel.root.get_by_test_id(f"export-{kind}").click()
    assert download.value.suggested_filename == f"decay_start.{kind}"
    download.value.save_as(folder / kind)
    return folder / kind


def test_files_lines_and_pictures_have_what_the_run_has(notebook, panel, lab_page, tmp_path):
    panel.open_tab("Prints")
    panel.root.get_by_label("Copy and export").click()
    files = {kind: exported(panel, lab_page.page, kind, tmp_path) for kind in ("csv", "json", "parquet")}
    panel.root.get_by_label("Copy and export").click()
    notebook.run_cell(3)
    rows = json.loads(notebook.printed(3))
    assert len(rows) == LINES
    read = {"csv": pd.read_csv, "json": pd.read_json, "parquet": pd.read_parquet}
    for kind, path in files.items():
        table = read[kind](path).rename(columns={"event": "seq"})
        assert table[["seq", "label", "ordered", "text"]].to_dict("records") == rows, kind

    picture = picture_of_loss(panel, lab_page.page, tmp_path)
    root = ET.fromstring(picture)  # noqa: S314 - our own
    assert next(text.text for text in root.iter("{http://www.w3.org/2000/svg}text")) == "loss"
    assert "color(" not in picture

    panel.open_tab("Prints")
    lines = panel.root.get_by_test_id("stream-ordered").locator(".row")
    lines.nth(3).click()
    number = int(panel.root.locator("[data-testid=stream-ordered] .row.selected").get_attribute("data-event"))
    lab_page.page.keyboard.press("p")
    lab_page.wait_for_js("async () => (await navigator.clipboard.readText()).includes('find_run')")
    # In another cell they return the events, also after another run has begun.
    notebook.cell(4).locator(".cm-content").click()
    lab_page.page.keyboard.press("Control+v")
    notebook.run_cell(1)
    (output,) = notebook.run_cell(4)
    text = "".join(output["data"]["text/plain"])
    assert text.startswith(f'Event({number}, In [2]:7, \'words, "quotes" and\\na line ')


def picture_of_loss(panel: PanelOnScreen, page: Any, folder: Path) -> str:
    panel.open_tab("Code")
    panel.root.locator("[data-testid=name][data-of=loss]").click()
    plot = panel.root.locator("[data-series=loss]")
    plot.hover()
    with page.expect_download() as download:
        plot.get_by_label("svg: save loss as a picture").click()
    download.value.save_as(folder / "loss.svg")
    return (folder / "loss.svg").read_text()


def test_earlier_runs_are_distinguished(notebook, panel, lab_page):
    for _ in range(2):
        notebook.run_cell(2)
        notebook.run_cell(1)
    notebook.output(1)
    panel.wait(state="done", events=LINES)
    panel.open_tab("Code")
    panel.root.locator("[data-testid=name][data-of=loss]").click()
    panel.root.get_by_test_id("earlier").click()
    plot = panel.root.locator("[data-series=loss]")
    named = plot.locator(".plot-ago")
    expect(named).to_have_text(["1 run ago", "2 runs ago"])
    colours = [plot.locator("b"), *named.all()]
    assert len({one.evaluate("(one) => getComputedStyle(one).color") for one in colours}) == 3
    canvas = plot.locator("canvas")
    canvas.hover(position={"x": 46, "y": 40})
    expect(plot.locator("output")).to_have_text(re.compile(r"· 3 · 1 ago 2 · 2 ago 1$"))
    lab_page.screenshot("panel-earlier-runs")
