"""Carry messages between kernel and browser through a widget model.

One model serves all runs of a kernel, so that a notebook with twenty panels loads the front end once. Front ends that show each
output in a separate frame (VS Code, Colab) cannot share the model. There each run has its own model.
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
"""A request of the browser -> the messages that answer it. It must not raise. Any thread may call it."""


PARTS = ("panel", "views", "program", "lines", "runs", "calls")
"""The parts of the front end. Each is a file in `static/`."""


ENGINE = "engine"
"""The `way` of an engine of ipyparallel: requests that the front end makes by itself wait there until no run goes on."""


class PanelModel(anywidget.AnyWidget):
    """The widget model, the kernel's half.

    `run` is the key of the run that its own view shows; it is empty for the shared model. `way` says how requests reach the
    kernel while a cell runs, see `Channel.way`; an `engine` of ipyparallel gets none then. `comm_id` is the comm to which
    the browser sends them.
    """

    run = traitlets.Unicode("").tag(sync=True)
    way = traitlets.Unicode("stdin").tag(sync=True)
    comm_id = traitlets.Unicode("").tag(sync=True)

    def __init__(self, run: str) -> None:
        # Passed as text: for a path, anywidget keeps each instance alive for ever, to reload it when the file changes.
        super().__init__(_esm=front_end("panel"), run=run, way=ENGINE if is_engine() else "stdin")

    def set_state(self, sync_data: Any) -> None:
        """Ignore state from a front end. Any front end could send an `_esm`, and all other front ends would run it."""


class Channel:
    """Sends messages to the browser and answers its requests.

    Attributes:
      way: how requests come while a cell runs: through `shell` or `control`; `stdin` if they do not come.
    """

    def __init__(self, model: PanelModel, answer: Answer) -> None:
        self._answer = answer
        self._take(model)
        intake = None if is_engine() else Intake.of(running_kernel())
        self.way = intake.way if intake is not None else "stdin"
        if intake is not None and model.comm is not None:
            intake.take(model.comm.comm_id, self._on_request)
            model.comm_id, model.way = model.comm.comm_id, self.way

    @classmethod
    def open(cls, run: str, answer: Answer) -> Channel:
        """Make the channel for `run`: its own if outputs are isolated, else one for all runs."""
        return cls(PanelModel(run if outputs_are_isolated() else ""), answer)

    def reopen(self) -> None:
        """Make the model anew if it is closed: marimo closes it when the cell that made it runs again."""
        if getattr(self.model.comm, "_closed", False):
            closed = self.model
            self._take(PanelModel(closed.run))
            closed.close()

    def serves(self, run: str) -> bool:
        """Whether messages about `run` may go through this channel."""
        return self.model.run in ("", run)

    def send(self, content: Any, buffer: bytes) -> None:
        """Send one message to the browser."""
        try:
            self.model.send(content, buffers=[buffer])
        except UnicodeEncodeError:  # A title or an error has a lone surrogate; texts of events are bytes.
            self.model.send(legible(content), buffers=[buffer])

    def _take(self, model: PanelModel) -> None:
        self.model = model
        model.on_msg(lambda _model, content, _buffers: self._on_request(content))

    def _on_request(self, content: dict[str, Any]) -> None:
        for message, buffer in self._answer(content):
            self.send(message, buffer)


def outputs_are_isolated() -> bool:
    """Whether the front end shows outputs in frames that cannot find the page's models."""
    return "google.colab" in sys.modules or "VSCODE_PID" in os.environ or marimo_notebook() is not None


def marimo_notebook() -> Any:
    """Return the module `marimo` inside a marimo notebook; else None."""
    marimo = sys.modules.get("marimo")
    return marimo if marimo is not None and marimo.running_in_notebook() else None


@functools.cache
def front_end(part: str) -> str:
    """Return the code of a part of the front end: `panel`, or a part that the panel loads when it first shows one of its views.

    Raises:
      ValueError: there is no such part.
      FileNotFoundError: the front end is not built; the message says how to build it.
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
