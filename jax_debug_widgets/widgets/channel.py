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

from jax_debug_widgets.events.legible import legible
from jax_debug_widgets.widgets.intake import Intake
from jax_debug_widgets.widgets.kernel import is_engine, running_kernel

Answer = Callable[[dict[str, Any]], Iterable[tuple[Any, bytes]]]
"""A request of the browser -> the messages that answer it. Must not raise. May be called from any thread."""


PARTS = ("panel", "views", "program", "lines")
"""The parts of the front end, which are files of `static/`."""


class PanelModel(anywidget.AnyWidget):
    """The model; `run` names the run that its own view shows, empty for the shared model.

    `way` says how to reach the kernel while a cell runs, see `Channel.way`, and `comm_id` whom to write to.
    """

    run = traitlets.Unicode("").tag(sync=True)
    way = traitlets.Unicode("stdin").tag(sync=True)
    comm_id = traitlets.Unicode("").tag(sync=True)

    def __init__(self, run: str) -> None:
        # As text: given a path, anywidget keeps every instance alive for ever, to reload it when the file changes.
        super().__init__(_esm=front_end("panel"), run=run)

    def set_state(self, sync_data: Any) -> None:
        """Nothing: the state is the kernel's. Any front end of it can send one, and `_esm` is run by all others."""


class Channel:
    """Sends messages to the browser and answers its requests.

    Attributes:
      way: how requests come while a cell runs: `shell`, `control`, or `stdin` where they do not.
    """

    def __init__(self, model: PanelModel, answer: Answer) -> None:
        self.model = model
        self._answer = answer
        model.on_msg(lambda _model, content, _buffers: self._on_request(content))
        intake = None if is_engine() else Intake.of(running_kernel())
        self.way = intake.way if intake is not None else "stdin"
        if intake is not None and model.comm is not None:
            intake.take(model.comm.comm_id, self._on_request)
            model.comm_id, model.way = model.comm.comm_id, self.way

    @classmethod
    def open(cls, run: str, answer: Answer) -> Channel:
        """The channel for `run`: one of its own where outputs are isolated, else one for all runs."""
        return cls(PanelModel(run if outputs_are_isolated() else ""), answer)

    def serves(self, run: str) -> bool:
        """Whether messages about `run` may go through this channel."""
        return self.model.run in ("", run)

    def send(self, content: Any, buffer: bytes) -> None:
        """Send one message."""
        try:
            self.model.send(content, buffers=[buffer])
        except UnicodeEncodeError:  # A title or an error with half a character in it; texts of events are bytes.
            self.model.send(legible(content), buffers=[buffer])

    def _on_request(self, content: dict[str, Any]) -> None:
        for message, buffer in self._answer(content):
            self.send(message, buffer)


def outputs_are_isolated() -> bool:
    """Whether the front end shows outputs where they cannot find the page's models."""
    return "google.colab" in sys.modules or "VSCODE_PID" in os.environ or marimo_notebook() is not None


def marimo_notebook() -> Any:
    """The module `marimo` where this runs in one of its notebooks; else None."""
    marimo = sys.modules.get("marimo")
    return marimo if marimo is not None and marimo.running_in_notebook() else None


@functools.cache
def front_end(part: str) -> str:
    """A part of the built front end: `panel`, or one that it asks for when it first shows something of it.

    Raises:
      ValueError: there is no such part.
      FileNotFoundError: it was not built; the message says how.
    """
    if part not in PARTS:
        msg = f"the front end has no part {part!r}"
        raise ValueError(msg)
    bundle = resources.files("jax_debug_widgets") / "static" / f"{part}.js"
    try:
        return bundle.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        msg = "the front end is not built: run `npm ci && npm run build` in js/, or `make lab`"
        raise FileNotFoundError(msg) from error
