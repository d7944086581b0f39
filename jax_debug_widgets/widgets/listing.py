"""The comm over which front ends learn which runs a kernel has: JupyterLab's side panel lists them.

It is the kernel that opens it, at its first run: a front end that knows nothing of us is asked nothing, and one that comes
later finds it among the kernel's comms (`comm_info_request`). What is sent goes to all front ends of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import comm
from IPython.core.getipython import get_ipython

from jax_debug_widgets.events.legible import legible
from jax_debug_widgets.widgets.channel import outputs_are_isolated
from jax_debug_widgets.widgets.intake import Intake

TARGET = "jax_debug_widgets"
"""The name by which the front end's extension knows the comm."""

OnRequest = Callable[[dict[str, Any]], None]
"""Takes a request of a front end. May be called from any thread."""


class ListingComm:
    """Sends to every front end of this kernel; does nothing where there is no kernel.

    Attributes:
      way: how requests come while a cell runs, see `Channel.way`.
    """

    def __init__(self, on_request: OnRequest) -> None:
        self._on_request = on_request
        self._comm: Any = None
        self.way = "stdin"

    @property
    def is_open(self) -> bool:
        """Whether there is someone to send to."""
        return self._comm is not None

    def open(self) -> bool:
        """Open it where there is a kernel and that is not done; whether it is open.

        To be called while a cell runs, in the thread that runs it.
        """
        kernel = getattr(get_ipython(), "kernel", None)
        if self._comm is None and kernel is not None and not outputs_are_isolated():
            try:
                opened = comm.create_comm(target_name=TARGET)
            except LookupError:  # ipykernel 7.0, in a thread that is no cell's: the next run in a cell will open it.
                return False
            self._comm = opened
            intake = Intake.of(kernel)
            if intake is not None:
                self.way = intake.way
                intake.take(opened.comm_id, self._on_request)
            # Where the kernel has no intake, and for what comes the usual way.
            opened.on_msg(lambda message: self._on_request(message["content"]["data"]["content"]))
            opened.on_close(lambda _message: self._forget(opened.comm_id, intake))
        return self.is_open

    def send(self, content: dict[str, Any]) -> None:
        """Send one message, in the form of a widget's custom message."""
        if self._comm is not None:
            try:
                self._comm.send({"method": "custom", "content": content})
            except UnicodeEncodeError:  # A title may have half a character in it.
                self._comm.send({"method": "custom", "content": legible(content)})

    def _forget(self, comm_id: str, intake: Intake | None) -> None:
        """A front end without our extension closes what it does not know; the next run opens it for the others."""
        self._comm = None
        if intake is not None:
            intake.let_go(comm_id)
