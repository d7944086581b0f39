"""Drive a kernel without a browser.

The client sends the messages that a page would send, by the route that the kernel's widget model names.
"""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING, Any, Self

from jupyter_client.manager import KernelManager

from jax_debug_widgets.widgets.listing import TARGET
from tests.e2e.kernels import kernel_spec

if TYPE_CHECKING:
    from jupyter_client.blocking.client import BlockingKernelClient

PATIENCE = 30
"""The most seconds to wait for something that must happen."""


class KernelClient:
    """A client of one kernel: `with KernelClient("7.4.0") as kernel: ...`."""

    def __init__(self, version: str) -> None:
        self._manager = KernelManager()
        self._manager._kernel_spec = kernel_spec(version)
        self.messages: list[dict[str, Any]] = []
        """The messages of the IOPub channel, in order."""
        self._number = 100

    def __enter__(self) -> Self:
        self._manager.start_kernel()
        self._client: BlockingKernelClient = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def start(self, code: str) -> str:
        """Send a cell; return the id of its message."""
        return self._client.execute(code, allow_stdin=True)

    def run(self, code: str) -> str:
        """Run a cell to its end; return what it printed."""
        cell = self.start(code)
        self.wait_for_end(cell)
        return self.printed(cell)

    def interrupt(self) -> None:
        """Interrupt the kernel, as the menu "Kernel → Interrupt" does."""
        self._manager.interrupt_kernel()

    def wait_for(self, wanted: Any, since: int = 0) -> dict[str, Any]:
        """Wait for the first message, from number `since` on, for which `wanted(message)` is true."""
        deadline = time.monotonic() + PATIENCE
        at = since
        while True:
            while at < len(self.messages):
                if wanted(self.messages[at]):
                    return self.messages[at]
                at += 1
            assert time.monotonic() < deadline, f"nothing of the kind came; the last: {self.messages[-3:]}"
            try:
                self.messages.append(self._client.get_iopub_msg(timeout=1))
            except queue.Empty:
                continue

    def answer_prompt(self, text: str) -> None:
        """Enter `text` when the kernel asks for input."""
        self._client.get_stdin_msg(timeout=PATIENCE)
        self._client.input(text)

    def wait_for_end(self, cell: str) -> None:
        """Wait until a cell is over."""
        self.wait_for(
            lambda message: (
                message["msg_type"] == "status"
                and message["content"]["execution_state"] == "idle"
                and message["parent_header"].get("msg_id") == cell
            )
        )

    def printed(self, cell: str) -> str:
        """Return the text in the output of a cell."""
        return "".join(
            message["content"].get("text", "") or "\n".join(message["content"].get("traceback", ()))
            for message in self.messages
            if message["msg_type"] in ("stream", "error") and message["parent_header"].get("msg_id") == cell
        )

    def model(self) -> dict[str, Any]:
        """Return the state of the panel's widget model, with `way` and `comm_id`."""
        state: dict[str, Any] = {}
        for message in self.messages:
            data = message["content"].get("data", {})
            if message["msg_type"] in ("comm_open", "comm_msg") and isinstance(data, dict):
                found = data.get("state", {})
                if "_esm" in found or "way" in found:
                    state |= found | {"comm": message["content"]["comm_id"]}
        return state

    def wait_for_stop(self, after: int = 0) -> tuple[dict[str, Any], str]:
        """Wait for the first stop with a number above `after`; return it and its run, and report it as seen."""

        def is_stop(message: dict[str, Any]) -> bool:
            found = _custom(message)
            return found.get("type") == "stop" and found["stop"] is not None and found["stop"]["id"] > after

        content = _custom(self.wait_for(is_stop))
        self.ask(content["run"], "here", stop=content["stop"]["id"])
        return content["stop"], content["run"]

    def stops(self) -> list[dict[str, Any]]:
        """Return all stops that have arrived."""
        found = (_custom(message) for message in self.messages)
        return [one["stop"] for one in found if one.get("type") == "stop" and one["stop"] is not None]

    def post(self, run: str, kind: str, **fields: Any) -> int:
        """Send a request as the page does; return the number of the request."""
        self._number += 1
        model = self.model()
        request = {"type": kind, "run": run, "id": self._number, **fields}
        content = {"comm_id": model["comm"], "data": {"method": "custom", "content": request}}
        channel = self._client.control_channel if model.get("way") == "control" else self._client.shell_channel
        channel.send(self._client.session.msg("comm_msg", content))
        return self._number

    def ask(self, run: str, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a request and return the answer."""
        since = len(self.messages)
        number = self.post(run, kind, **fields)
        return _custom(self.wait_for(lambda message: _custom(message).get("id") == number, since))

    def wait_for_custom(self, kind: str, since: int) -> dict[str, Any]:
        """Wait for the first message of ours with this type, from number `since` on."""
        return _custom(self.wait_for(lambda message: _custom(message).get("type") == kind, since))

    def ask_again_as_a_new_page(self) -> None:
        """Send the first requests of a newly loaded page; all must be answered while a cell runs."""
        client = self._client
        waiting = {client.kernel_info(), client.comm_info()}
        while waiting:
            waiting.discard(client.get_shell_msg(timeout=PATIENCE)["parent_header"]["msg_id"])
        opened = {"comm_id": "page-2", "target_name": "jupyter.widget.control", "data": {}}
        client.shell_channel.send(client.session.msg("comm_open", opened, metadata={"version": "1.0.0"}))
        since = len(self.messages)
        asked = {"comm_id": "page-2", "data": {"method": "request_states"}}
        client.shell_channel.send(client.session.msg("comm_msg", asked))
        self.wait_for(lambda message: message["content"].get("data", {}).get("method") == "update_states", since)

    def ask_twice(self, apart_s: float) -> None:
        """Send two requests to the main thread, `apart_s` seconds apart, and wait until both are answered."""
        client = self._client
        waiting = {client.comm_info()}
        time.sleep(apart_s)
        waiting.add(client.comm_info())
        while waiting:
            waiting.discard(client.get_shell_msg(timeout=PATIENCE)["parent_header"]["msg_id"])

    def ask_for_the_panel_as_a_new_page(self) -> None:
        """Ask for what JupyterLab's extension asks a busy ipykernel 6, whose main thread reads what a page asks first."""
        client, since = self._client, len(self.messages)
        client.control_channel.send(client.session.msg("comm_info_request", {"target_name": TARGET}))
        [listing] = client.get_control_msg(timeout=PATIENCE)["content"]["comms"]
        asked = {"comm_id": listing, "data": {"method": "custom", "content": {"type": "panel", "id": -1}}}
        client.control_channel.send(client.session.msg("comm_msg", asked))
        panel = self.wait_for_custom("panel", since)
        assert (panel["comm_id"], panel["way"]) == (self.model()["comm"], "control")
        assert "initialize" in panel["text"]


def _custom(message: dict[str, Any]) -> dict[str, Any]:
    data = message["content"].get("data", {}) if message["msg_type"] == "comm_msg" else {}
    return data.get("content", {}) if data.get("method") == "custom" else {}
