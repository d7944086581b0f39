"""Open the tour's training loop in JupyterLab, and hold it half way for tests that look while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import nbformat

if TYPE_CHECKING:
    from tests.e2e.browser import LabPage
    from tests.e2e.hold import Hold
    from tests.e2e.lab import JupyterLab
    from tests.e2e.notebook import Notebook

TOUR = Path(__file__).parents[2] / "notebooks" / "01_tour.ipynb"

STEPS = 10_000
COUNTS = {"ordered": STEPS, "unordered": 2 * STEPS, "events": 3 * STEPS}

CELLS = nbformat.read(TOUR, as_version=4).cells
WATCHED = next(index for index, cell in enumerate(CELLS) if cell.source.startswith("%%jaxdebug"))
BEFORE = [index for index, cell in enumerate(CELLS[:WATCHED]) if cell.cell_type == "code"]

HOLDING = f"""import itertools

def keep_best(accuracy, keep=keep_best, heard=itertools.count()):
    keep(accuracy)
    if next(heard) == {STEPS // 2}:
        wait()
"""


def open_tour(lab: JupyterLab, lab_page: LabPage, hold: Hold) -> Notebook:
    """Open a copy of the tour with a further cell that makes the training wait half way, see `prepare`."""
    tour = nbformat.read(TOUR, as_version=4)
    tour.cells.append(nbformat.v4.new_code_cell(hold.define + HOLDING))
    nbformat.write(tour, lab.notebooks / TOUR.name)
    return lab_page.open_notebook(TOUR.name)


def prepare(tour: Notebook, *, held: bool = False) -> None:
    """Run the cells before the training; `held` makes it wait half way."""
    for index in BEFORE:
        tour.run_cell(index, timeout_s=120)
    if held:
        tour.run_cell(len(CELLS))
