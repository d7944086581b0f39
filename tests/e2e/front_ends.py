"""Choose the front end to test: the environment's own JupyterLab, or another version with the Notebook of its time.

`JAXDEBUG_LAB=4.4` serves with JupyterLab 4.4 from an environment of its own; the kernels stay those of this
environment.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LAB = "JAXDEBUG_LAB"
"""The environment variable that names another version of JupyterLab."""

_NOTEBOOK_OF = {"4.4": "7.4"}
"""Version of JupyterLab -> version of Jupyter Notebook that is built on it."""


@functools.cache
def server() -> str:
    """Return the interpreter that serves the pages."""
    version = os.environ.get(LAB)
    return sys.executable if not version else str(_environment(version) / "bin" / "python")


@functools.cache
def _environment(version: str) -> Path:
    """Return the environment with this version of JupyterLab and ipywidgets' extensions; install it if needed."""
    folder = Path(tempfile.gettempdir()) / f"jaxdebug-lab-{version}"
    installed = folder / "installed"
    if not installed.exists():
        venv.create(folder, with_pip=True, clear=True)
        wanted = [f"jupyterlab=={version}.*", "jupyterlab_widgets", "anywidget"]
        if version in _NOTEBOOK_OF:
            wanted.append(f"notebook=={_NOTEBOOK_OF[version]}.*")
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*command, *wanted], check=True, timeout=600)
        installed.touch()
    return folder
