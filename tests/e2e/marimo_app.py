"""Serve a marimo notebook as an app, or export it, without the user's configuration."""

from __future__ import annotations

import importlib.resources
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.e2e.lab import START_TIMEOUT_S, STOP_TIMEOUT_S, free_port

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

CDN = "https://cdn.jsdelivr.net/npm/@marimo-team/frontend@"
"""Where an exported page finds marimo's front end: at `CDN` + version + "/dist/"."""


class MarimoApp:
    """A running app: `with MarimoApp(notebook, log) as app: page.goto(app.url)`."""

    def __init__(self, notebook: Path, log: Path) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self._notebook = notebook
        self._log = log

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        port = self.url.rpartition(":")[2]
        options = ["--headless", "--no-token", "--no-sandbox", "--host", "127.0.0.1", "--port", port]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                _command("run", self._notebook, *options),
                env=_environment(self._notebook.parent),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def log(self) -> str:
        """Return the last lines of the server."""
        return self._log.read_text(errors="replace")[-3000:]

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=30).close()  # noqa: S310 - our own server
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
            else:
                return
        raise RuntimeError(f"marimo did not start; the end of {self._log}:\n{self.log()}")

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def export(notebook: Path) -> Path:
    """Run a notebook and return the HTML file that marimo makes of it."""
    file = notebook.with_suffix(".html")
    command = _command("export", "html", notebook, "--no-sandbox", "--output", file)
    done = subprocess.run(
        command, env=_environment(notebook.parent), check=False, capture_output=True, text=True, timeout=120
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


def _command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "marimo", *map(str, arguments)]


def _environment(folder: Path) -> dict[str, str]:
    folders = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "CACHE", "STATE", "DATA")}
    return {**os.environ, **folders, "MARIMO_SKIP_UPDATE_CHECK": "1", "PYTHONUNBUFFERED": "1"}
