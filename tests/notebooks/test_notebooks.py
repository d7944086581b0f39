"""Every notebook runs from top to bottom without a person or a browser, and what it shows is in the file."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest
from nbconvert import HTMLExporter

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}})
    return client.execute()


def bundles(notebook: nbformat.NotebookNode) -> list[dict[str, str]]:
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output["data"] for output in outputs if "data" in output]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs(path):
    cells = nbformat.read(path, as_version=4).cells
    assert cells
    assert not any(cell.get("outputs") for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path):
    notebook = executed(path)
    panels = [bundle for bundle in bundles(notebook) if "data-jaxdebug-run" in bundle.get("text/html", "")]
    assert panels
    assert all("— done after" in panel["text/plain"] for panel in panels)


def test_the_tour_as_a_page_shows_what_the_panel_showed():
    notebook = executed(NOTEBOOKS[0])
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "30,000 events" in page
    assert "effects drained" in page
    assert page.count("<polyline") >= 3
    assert "loss 0." in page
