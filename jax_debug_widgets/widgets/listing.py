"""Send the list of a kernel's runs to its front ends over a comm. JupyterLab's side panel shows the list.

The kernel opens the comm at its first run. A front end that comes later finds it among the kernel's comms
(`comm_info_request`). A front end without this extension need not do anything. Each message goes to all front ends of the
kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import comm
from IPython.core.getipython import get_ipython

from jax_debug_widgets.events.legible import legible
from jax_debug_widgets.widgets.channel import ENGINE, outputs_are_isolated
from jax_debug_widgets.widgets.intake import Intake
from jax_debug_widgets.widgets.kernel import is_engine

TARGET = "jax_debug_widgets"
"""The name by which the front end's extension knows the comm."""

OnRequest = Callable[[dict[str, Any]], None]
"""Handles a request of a front end. Any thread may call it."""


class ListingComm:
    """Sends messages to every front end of this kernel; without a kernel it does nothing.

    Attributes:
      way: how requests come while a cell runs, see `Channel.way`; or `engine`.
    """

    def __init__(self, on_request: OnRequest) -> None:
        self._on_request = on_request
        self._comm: Any = None
        self.way = "stdin"

    @property
    def is_open(self) -> bool:
        """Whether the comm is open."""
        return self._comm is not None

    def open(self) -> bool:
        """Open the comm if there is a kernel and the comm is not open. Return whether it is open.

        Call it while a cell runs, in the thread that runs the cell.
        """
        kernel = getattr(get_ipython(), "kernel", None)
        if self._comm is None and kernel is not None and not outputs_are_isolated():
            try:
                opened = comm.create_comm(target_name=TARGET)
            except LookupError:  # ipykernel 7.0 in a thread without a cell; the next run in a cell will open it.
                return False
            self._comm = opened
            intake = None if is_engine() else Intake.of(kernel)  # Its client relays messages the usual way only.
            self.way = ENGINE if is_engine() else self.way
            if intake is not None:
                self.way = intake.way
                intake.take(opened.comm_id, self._on_request)
            # For a kernel without an intake, and for messages that come the usual way.
            opened.on_msg(lambda message: self._on_request(message["content"]["data"]["content"]))
            opened.on_close(lambda _message: self._forget(opened.comm_id, intake))
        return self.is_open

    def send(self, content: dict[str, Any]) -> None:
        """Send one message, in the form of a widget's custom message."""
        if self._comm is not None:
            try:
                self._comm.send({"method": "custom", "content": content})
            except UnicodeEncodeError:  # A title may have a lone surrogate.
                self._comm.send({"method": "custom", "content": legible(content)})

    def _forget(self, comm_id: str, intake: Intake | None) -> None:
        """Forget a comm that was closed by a front end without this extension; the next run opens one for the others."""
        self._comm = None
        if intake is not None:
            intake.let_go(comm_id)
