"""Run a server for the tests in a process of its own, on a port of this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_START_TIMEOUT_S, _STOP_TIMEOUT_S = 120, 20


class Server(ABC):
    """A server that runs inside a `with` block.

    Attributes:
      url: its address.
    """

    def __init__(self, folder: Path, log: Path) -> None:
        """Prepare to run in `folder` and to write what the server says into `log`."""
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder, self._log = folder, log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            # A session of its own: stopping its process group also stops kernels that the server could not stop.
            self._process = subprocess.Popen(
                self._command(),
                env={**os.environ, **self._variables(), "PYTHONUNBUFFERED": "1"},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def log(self) -> str:
        """Return the last lines that the server has written."""
        return self._log.read_text(errors="replace")[-3000:]

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """Return the command that starts the server."""

    @abstractmethod
    def _variables(self) -> Mapping[str, str]:
        """Return environment variables of the server, besides those of this process."""

    @abstractmethod
    def _ask(self) -> object:
        """Send a request that the server answers as soon as it is ready."""

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and process.poll() is None:
            try:
                self._ask()
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
            else:
                return
        raise RuntimeError(f"{type(self).__name__} did not start; the end of {self._log}:\n{self.log()}")

    def _stop(self) -> None:
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
