"""Serve a marimo notebook as an app, or export it, without the user's configuration."""

from __future__ import annotations

import importlib.resources
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

CDN = "https://cdn.jsdelivr.net/npm/@marimo-team/frontend@"
"""Where an exported page finds marimo's front end: at `CDN` + version + "/dist/"."""


class MarimoApp(Server):
    """A running app: `with MarimoApp(notebook, log) as app: page.goto(app.url)`."""

    def __init__(self, notebook: Path, log: Path) -> None:
        super().__init__(notebook.parent, log)
        self._notebook = notebook

    def _command(self) -> list[str]:
        options = ["--headless", "--no-token", "--no-sandbox", "--host", "127.0.0.1", "--port", str(self.port)]
        return _marimo("run", self._notebook, *options)

    def _variables(self) -> dict[str, str]:
        return _variables(self._folder)

    def _ask(self) -> None:
        urllib.request.urlopen(f"{self.url}/health", timeout=30).close()  # noqa: S310 - our own server


def export(notebook: Path) -> Path:
    """Run a notebook and return the HTML file that marimo makes of it."""
    file = notebook.with_suffix(".html")
    command = _marimo("export", "html", notebook, "--no-sandbox", "--output", file)
    done = subprocess.run(
        command,
        env={**os.environ, **_variables(notebook.parent)},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return file


def serve_front_end(page: Page) -> None:
    """Answer an exported page's requests for marimo's front end from the installed package, and refuse all others."""
    static = Path(str(importlib.resources.files("marimo"))) / "_static"

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(CDN).partition("/dist/")[2]
        if name:
            route.fulfill(path=static / name, headers={"Access-Control-Allow-Origin": "*"})
        else:
            route.abort()

    page.route("https://**/*", answer)


def _marimo(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "marimo", *map(str, arguments)]


def _variables(folder: Path) -> dict[str, str]:
    folders = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "CACHE", "STATE", "DATA")}
    return {**folders, "MARIMO_SKIP_UPDATE_CHECK": "1"}
