"""A JupyterLab server of the test's own: nothing of the user's configuration, nothing from outside the machine."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LABEXTENSION = Path(jax_debug_widgets.__file__).parent / "labextension"
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 20

# No news, no update checks, no dialogs; and nothing is saved unless a test saves it.
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}

# Nor does each page have the server see whether JupyterLab should be built anew, which starts Node.js.
SERVER_SETTINGS = {"page_config_data": {"buildCheck": False, "buildAvailable": False}}


class JupyterLab:
    """A running server: `with JupyterLab(folder, log) as lab: lab.write_notebook(…)`."""

    def __init__(
        self, folder: Path, log: Path, kernels: Mapping[str, str] | None = None, server: str = sys.executable
    ) -> None:
        """Serve `folder/notebooks`; `kernels` maps names to the interpreters that run them, `server` is the one that serves."""
        self.notebooks = folder / "notebooks"
        self.token = secrets.token_hex(16)
        self._settings = folder / "jupyter"
        self._log = log
        self._kernels = kernels or {"python3": sys.executable}
        self._server = server
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        self.notebooks.mkdir(parents=True)
        self._write_settings()
        self._install_extension()
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            # Its own session: stopping the group also stops the kernels if the server could not.
            self._process = subprocess.Popen(
                self._command(port),
                env=self._environment(),
                cwd=self.notebooks,
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

    def write_notebook(self, name: str, *sources: str, kernel: str = "python3") -> str:
        """Write a notebook with one code cell per source; returns the path to open it by."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in sources],
            metadata={"kernelspec": {"name": kernel, "display_name": kernel, "language": "python"}},
        )
        nbformat.write(notebook, self.notebooks / name)
        return name

    def add_kernel(self, name: str, spec: Mapping[str, Any]) -> None:
        """Offer another kernel: the contents of its `kernel.json`."""
        _write_json(self._settings / "data" / "kernels" / name / "kernel.json", spec)

    def read_notebook(self, name: str) -> nbformat.NotebookNode:
        """Read what was last saved."""
        return nbformat.read(self.notebooks / name, as_version=4)

    def set_settings(self, plugin: str, settings: Mapping[str, Any]) -> None:
        """Set what the user set for a plugin of the page; the next page that is opened has it."""
        self._request("PUT", f"/lab/api/settings/{plugin}", {"raw": json.dumps(settings)})

    def wait_for_workspace(self, text: str, timeout_s: float = 60) -> None:
        """Wait until JupyterLab has saved a layout in which `text` occurs; it does so a moment after each change."""
        folder, deadline = self._settings / "workspaces", time.monotonic() + timeout_s
        while not any(text in file.read_text() for file in folder.glob("*")):
            assert time.monotonic() < deadline, f"no layout with {text} was saved"
            time.sleep(0.05)

    def kernel_ids(self) -> list[str]:
        """The kernels that run now."""
        return [kernel["id"] for kernel in self._request("GET", "/api/kernels")]

    @contextlib.contextmanager
    def asked_on_control(self, kernel_id: str) -> Iterator[None]:
        """Ask a kernel on its control channel all the time, as a debugger does: pages then take a running one for idle."""
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
        """End every kernel, as the test that started it left it."""
        # Killed, they need no second to put everything away, and the server does not wait for it.
        assert self._process is not None
        for process in psutil.Process(self._process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for session in self._request("GET", "/api/sessions"):
            self._request("DELETE", f"/api/sessions/{session['id']}")

    def log(self) -> str:
        """What the server and its kernels said last."""
        return self._log.read_text(errors="replace")[-3000:]

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

    def _command(self, port: int) -> list[str]:
        return [
            *(self._server, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
            f"--IdentityProvider.token={self.token}",
            f"--ServerApp.root_dir={self.notebooks}",
            # The driver asks `window.jupyterapp`; nothing asks the package registry for updates or extensions.
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.extension_manager=readonly",
            f"--ServerApp.tornado_settings={SERVER_SETTINGS}",
            # A kernel that a test's end kills is not started anew while the server is told to forget it.
            "--KernelManager.autorestart=False",
            # `python3` is the kernel named here, not the one that an environment brings.
            "--KernelSpecManager.ensure_native_kernel=False",
        ]

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "JUPYTER_CONFIG_DIR": str(self._settings / "config"),
            "JUPYTER_DATA_DIR": str(self._settings / "data"),
            "JUPYTER_RUNTIME_DIR": str(self._settings / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self._settings / "user-settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self._settings / "workspaces"),
            "JUPYTER_PREFER_ENV_PATH": "0",
            "IPYTHONDIR": str(self._settings / "ipython"),
            "PYTHONUNBUFFERED": "1",
        }

    def _install_extension(self) -> None:
        """Show the checkout's own labextension, wherever the environment has or has not linked one."""
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

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            try:
                self._request("GET", "/api/status")
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
            else:
                return
        raise RuntimeError(f"JupyterLab did not start; the end of {self._log}:\n{self.log()}")

    def _stop(self) -> None:
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))
