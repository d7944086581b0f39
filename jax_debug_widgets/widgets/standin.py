"""Answer the first requests of a page that is loaded while a cell runs, instead of the kernel.

Such a page first asks for information about the kernel and for the states of its widgets. The main thread would answer when the
cell has ended. Until then the page would show no panel, and the user could not continue a program at a breakpoint.
"""

from __future__ import annotations

from typing import Any

_WIDGET_CONTROL = "jupyter.widget.control"
"""The target of the comm through which a page asks for the states of all widgets."""

_INFO = frozenset({"kernel_info_request", "comm_info_request"})


class StandIn:
    """Answers instead of the main thread of a kernel (ipykernel 7)."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._comms: set[str] = set()

    def takes(self, kind: Any, content: dict[str, Any]) -> bool:
        """Whether a message can be answered here; `kind` is its `msg_type`."""
        if kind == "comm_open" and content.get("target_name") == _WIDGET_CONTROL:
            self._comms.add(content["comm_id"])
            return True
        return kind in _INFO or (kind in ("comm_msg", "comm_close") and content.get("comm_id") in self._comms)

    def answer(self, kind: str, idents: Any, message: dict[str, Any]) -> None:
        """Answer a message of this kind, which came from `idents`. The intake's thread calls it."""
        kernel = self._kernel
        kernel._publish_status("busy", "shell", parent=message)
        try:
            if kind == "kernel_info_request":
                self._reply("kernel_info_reply", {"status": "ok", **kernel.kernel_info}, idents, message)
            elif kind == "comm_info_request":
                self._reply("comm_info_reply", {"status": "ok", "comms": self._comms_of(message)}, idents, message)
            else:
                getattr(kernel.comm_manager, kind)(None, idents, message)
        finally:
            kernel._publish_status("idle", "shell", parent=message)

    def _comms_of(self, message: dict[str, Any]) -> dict[str, dict[str, str]]:
        wanted = message["content"].get("target_name")
        comms = list(self._kernel.comm_manager.comms.items())
        return {key: {"target_name": comm.target_name} for key, comm in comms if wanted in (None, comm.target_name)}

    def _reply(self, kind: str, content: dict[str, Any], idents: Any, message: dict[str, Any]) -> None:
        # Only the thread of the shell channel may use the stream.
        kernel = self._kernel
        kernel.shell_channel_thread.io_loop.add_callback(
            lambda: kernel.session.send(kernel.shell_stream, kind, content, message, ident=idents)
        )
