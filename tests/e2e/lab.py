"""Run a JupyterLab server for the tests, without the user's configuration and without access to other machines."""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import nbformat
import psutil
import zmq
from jupyter_client.session import Session

import jax_debug_widgets
from tests.e2e.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LABEXTENSION = Path(jax_debug_widgets.__file__).parent / "labextension"

# No news, no update checks, no dialogs, and no automatic saving.
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}

# The server does not check whether JupyterLab must be rebuilt, which would start Node.js for each page.
SERVER_SETTINGS = {"page_config_data": {"buildCheck": False, "buildAvailable": False}}


class JupyterLab(Server):
    """A running server: `with JupyterLab(folder, log) as lab: lab.write_notebook(…)`."""

    def __init__(
        self, folder: Path, log: Path, kernels: Mapping[str, str] | None = None, server: str = sys.executable
    ) -> None:
        """Prepare a server for `folder/notebooks`.

        `kernels` maps names to the interpreters that run them; `server` is the interpreter that serves.
        """
        self.notebooks = folder / "notebooks"
        super().__init__(self.notebooks, log)
        self.token = secrets.token_hex(16)
        self._settings = folder / "jupyter"
        self._kernels = kernels or {"python3": sys.executable}
        self._server = server

    def __enter__(self) -> Self:
        self.notebooks.mkdir(parents=True)
        self._write_settings()
        self._install_extension()
        return super().__enter__()

    def write_notebook(self, name: str, *sources: str, kernel: str = "python3") -> str:
        """Write a notebook with one code cell for each source; return the path by which to open it."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in sources],
            metadata={"kernelspec": {"name": kernel, "display_name": kernel, "language": "python"}},
        )
        nbformat.write(notebook, self.notebooks / name)
        return name

    def add_kernel(self, name: str, spec: Mapping[str, Any]) -> None:
        """Add another kernel, given by the contents of its `kernel.json`."""
        _write_json(self._settings / "data" / "kernels" / name / "kernel.json", spec)

    def read_notebook(self, name: str) -> nbformat.NotebookNode:
        """Read a notebook as last saved."""
        return nbformat.read(self.notebooks / name, as_version=4)

    def set_settings(self, plugin: str, settings: Mapping[str, Any]) -> None:
        """Set user settings for a plugin of the page; they apply to the next page that is opened."""
        self._request("PUT", f"/lab/api/settings/{plugin}", {"raw": json.dumps(settings)})

    def wait_for_workspace(self, text: str, timeout_s: float = 60) -> None:
        """Wait until JupyterLab has saved a layout that contains `text`; it saves a moment after each change."""
        folder, deadline = self._settings / "workspaces", time.monotonic() + timeout_s
        while not any(text in file.read_text() for file in folder.glob("*")):
            assert time.monotonic() < deadline, f"no layout with {text} was saved"
            time.sleep(0.05)

    def kernel_ids(self) -> list[str]:
        """Return the ids of the running kernels."""
        return [kernel["id"] for kernel in self._request("GET", "/api/kernels")]

    @contextlib.contextmanager
    def asked_on_control(self, kernel_id: str) -> Iterator[None]:
        """Send requests to a kernel on its control channel all the time, as a debugger does.

        Pages then take a running kernel for idle.
        """
        connection = json.loads((self._settings / "runtime" / f"kernel-{kernel_id}.json").read_text())
        session = Session(key=connection["key"].encode())
        ended = threading.Event()

        def ask() -> None:
            with zmq.Context() as context, context.socket(zmq.DEALER) as control:
                control.linger = 0
                control.connect(f"tcp://{connection['ip']}:{connection['control_port']}")
                while not ended.wait(0.05):
                    session.send(control, "kernel_info_request")
                    assert control.poll(30_000), "the control channel is silent"
                    control.recv_multipart()

        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(ask)
            try:
                yield
            finally:
                ended.set()
                asking.result(60)

    def shut_down_kernels(self) -> None:
        """End every kernel without waiting for it."""
        # Killing them saves the second that each would take to end by itself.
        assert self._process is not None
        for process in psutil.Process(self._process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for session in self._request("GET", "/api/sessions"):
            self._request("DELETE", f"/api/sessions/{session['id']}")

    def _ask(self) -> object:
        return self._request("GET", "/api/status")

    def _request(self, method: str, path: str, content: Any = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - our own server
            self.url + path,
            method=method,
            headers={"Authorization": f"token {self.token}"},
            data=None if content is None else json.dumps(content).encode(),
        )
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - our own server
            body = answer.read()
        return json.loads(body) if body else None

    def _command(self) -> list[str]:
        return [
            *(self._server, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0"),
            f"--IdentityProvider.token={self.token}",
            f"--ServerApp.root_dir={self.notebooks}",
            # The driver needs `window.jupyterapp`. No component asks the package registry for updates or extensions.
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.extension_manager=readonly",
            f"--ServerApp.tornado_settings={SERVER_SETTINGS}",
            # The server must not restart a kernel that is killed at the end of a test.
            "--KernelManager.autorestart=False",
            # `python3` is the kernel defined here, not that of the environment.
            "--KernelSpecManager.ensure_native_kernel=False",
        ]

    def _variables(self) -> dict[str, str]:
        return {
            "JUPYTER_CONFIG_DIR": str(self._settings / "config"),
            "JUPYTER_DATA_DIR": str(self._settings / "data"),
            "JUPYTER_RUNTIME_DIR": str(self._settings / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self._settings / "user-settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self._settings / "workspaces"),
            "JUPYTER_PREFER_ENV_PATH": "0",
            "IPYTHONDIR": str(self._settings / "ipython"),
        }

    def _install_extension(self) -> None:
        """Install the checkout's own labextension, whether or not the environment has linked one."""
        installed = self._settings / "data" / "labextensions" / "jax-debug-widgets"
        installed.parent.mkdir(parents=True)
        installed.symlink_to(LABEXTENSION, target_is_directory=True)

    def _write_settings(self) -> None:
        _write_json(self._settings / "config" / "labconfig" / "default_setting_overrides.json", LAB_SETTINGS)
        for name, interpreter in self._kernels.items():
            spec = {
                "argv": [interpreter, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                "display_name": name,
                "language": "python",
            }
            self.add_kernel(name, spec)


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))
