"""Run notebooks with every check on, and list the findings by cell.

Usage: `python -m tests.notebooks.checked [FILE …]`. This is not run for a change: it compiles each program with its
checks, which takes minutes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest import mock

import nbformat
from IPython.core.interactiveshell import InteractiveShell

import jax_debug_widgets as jdw
from jax_debug_widgets.session import options

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

_asked = options.checks_of


def checked(code: str) -> str:
    """Put a cell into a capture with all checks.

    A cell with another magic, or with checks of its own, stays as it is.
    """
    first, _, rest = code.partition("\n")
    if first.startswith("%%jaxdebug"):
        has_own = "--check" in first or "--exact" in first
        return code if has_own else f"{first} --check all\n{rest}"
    return code if code.startswith("%") or "jdw.capture" in code else f"%%jaxdebug --check all\n{code}"


def run(path: Path) -> int:
    """Print the findings in a notebook; return how many cells failed."""
    shell = InteractiveShell.instance()
    shell.reset(new_session=False)
    os.chdir(path.parent)
    failed, seen = 0, set[int]()
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        result = shell.run_cell(checked(cell.source), store_history=True, silent=False)
        failed += not result.success
        try:
            last = jdw.last()
        except LookupError:
            continue
        if id(last) not in seen:
            seen.add(id(last))
            for finding in last.findings:
                print(f"FOUND {path.name}: {finding.kind}: {finding.message}", flush=True)
    return failed


def main() -> int:
    """Run the notebooks on the command line; all notebooks by default."""
    paths = [Path(one).resolve() for one in sys.argv[1:]] or NOTEBOOKS
    with mock.patch.object(options, "checks_of", lambda asked: _asked(asked or "all")):
        return min(sum(map(run, paths)), 1)


if __name__ == "__main__":
    sys.exit(main())
