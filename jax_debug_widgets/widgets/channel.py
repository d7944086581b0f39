"""The widget model that carries messages between kernel and browser.

One model serves all runs of a kernel, so that a notebook with twenty panels loads the front end once. Front ends that
show each output in a frame of its own (VS Code, Colab) cannot share it: there each run has a model of its own.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from importlib import resources
from typing import Any

import anywidget
import traitlets
from IPython.core.getipython import get_ipython

from jax_debug_widgets.widgets.intake import Intake

Answer = Callable[[dict[str, Any]], Iterable[tuple[Any, bytes]]]
"""A request of the browser -> the messages that answer it. Must not raise. May be called from any thread."""


class PanelModel(anywidget.AnyWidget):
    """The model; `run` names the run that its own view shows, empty for the shared model."""

    run = traitlets.Unicode("").tag(sync=True)

    def __init__(self, run: str) -> None:
        # As text: given a path, anywidget keeps every instance alive for ever, to reload it when the file changes.
        super().__init__(_esm=front_end(), run=run)


class Channel:
    """Sends messages to the browser and answers its requests."""

    def __init__(self, model: PanelModel, answer: Answer) -> None:
        self.model = model
        self._answer = answer
        model.on_msg(lambda _model, content, _buffers: self._on_request(content))
        kernel = getattr(get_ipython(), "kernel", None)
        if model.comm is not None and Intake.is_possible(kernel):
            Intake(kernel, model.comm.comm_id, self._on_request).install()

    @classmethod
    def open(cls, run: str, answer: Answer) -> Channel:
        """The channel for `run`: one of its own where outputs are isolated, else one for all runs."""
        return cls(PanelModel(run if outputs_are_isolated() else ""), answer)

    def serves(self, run: str) -> bool:
        """Whether messages about `run` may go through this channel."""
        return self.model.run in ("", run)

    def send(self, content: Any, buffer: bytes) -> None:
        """Send one message."""
        self.model.send(content, buffers=[buffer])

    def _on_request(self, content: dict[str, Any]) -> None:
        for message, buffer in self._answer(content):
            self.send(message, buffer)


def outputs_are_isolated() -> bool:
    """Whether the front end shows outputs where they cannot find the page's models."""
    return "google.colab" in sys.modules or "VSCODE_PID" in os.environ


@functools.cache
def front_end() -> str:
    """The built front end.

    Raises:
      FileNotFoundError: it was not built; the message says how.
    """
    bundle = resources.files("jax_debug_widgets") / "static" / "panel.js"
    try:
        return bundle.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        msg = "the front end is not built: run `npm ci && npm run build` in js/, or `make lab`"
        raise FileNotFoundError(msg) from error
