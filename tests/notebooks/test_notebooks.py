"""Test that every notebook runs without a person or a browser, with what `make lab` installs, and shows its panel."""

from __future__ import annotations

import functools
import tomllib
from importlib import metadata
from pathlib import Path

import nbclient
import nbformat
import pytest
from nbconvert import HTMLExporter
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

WITHOUT = """import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name in {hidden}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without())
"""


def installed_by(extra: str) -> set[str]:
    """Return the distributions of this environment that `pip install '.[extra]'` installs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: set[str] = set()
    wanted = [Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"][extra])]
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        environments = [{"extra": one} for one in requirement.extras or {""}]
        if name == project["name"]:
            lines = [line for one in requirement.extras for line in project["optional-dependencies"][one]]
        else:
            try:
                lines = metadata.requires(name) or []
            except metadata.PackageNotFoundError:  # For example, one for another platform.
                continue
            found.add(name)
        for line in map(Requirement, lines):
            applies = line.marker is None or any(line.marker.evaluate(environment) for environment in environments)
            if applies and (canonicalize_name(line.name) not in found or line.extras):
                wanted.append(line)
    return found


@functools.cache
def hidden_from(extra: str) -> set[str]:
    """Return the modules of this environment that are not in one with that extra alone."""
    there = installed_by(extra) | {"jax-debug-widgets", "pip", "setuptools"}
    modules = metadata.packages_distributions().items()
    return {module for module, owners in modules if not {canonicalize_name(owner) for owner in owners} & there}


def executed(path: Path) -> nbformat.NotebookNode:
    """Run the notebook where only what `make lab` installs can be imported, and return it."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(WITHOUT.format(hidden=sorted(hidden_from("notebooks")))))
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}})
    return client.execute()


def test_packages_that_make_lab_does_not_install_are_hidden():
    hidden = hidden_from("notebooks")
    assert {"pytest", "flax", "playwright"} <= hidden
    assert not {"jax", "jaxlib", "numpy", "jupyterlab", "jax_debug_widgets", "matplotlib"} & hidden
    cells = [nbformat.v4.new_code_cell(WITHOUT.format(hidden=sorted(hidden))), nbformat.v4.new_code_cell("import pytest")]
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="No module named 'pytest'"):
        nbclient.NotebookClient(nbformat.v4.new_notebook(cells=cells)).execute()


def bundles(notebook: nbformat.NotebookNode) -> list[dict[str, str]]:
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output["data"] for output in outputs if "data" in output]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs(path):
    cells = nbformat.read(path, as_version=4).cells
    assert cells
    assert not any(cell.get("outputs") for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end_and_the_tour_as_a_page_shows_what_the_panel_showed(path):
    notebook = executed(path)
    panels = [bundle for bundle in bundles(notebook) if "data-jaxdebug-run" in bundle.get("text/html", "")]
    assert panels
    assert all("— done after" in panel["text/plain"] for panel in panels)
    if path == NOTEBOOKS[0]:
        page, _ = HTMLExporter().from_notebook_node(notebook)
        assert "30,000 prints and callbacks" in page
        assert "all effects arrived" in page
        assert page.count("<img") >= 3
        assert "loss 0." in page
