"""The output of a run: a static picture of it that the browser's model brings to life where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events.legible import legible
from jax_debug_widgets.widgets.channel import Channel, marimo_notebook, outputs_are_isolated
from jax_debug_widgets.widgets.kernel import is_engine
from jax_debug_widgets.widgets.static import static_html
from jax_debug_widgets.widgets.summary import summary

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

    from jax_debug_widgets.widgets.snapshot import Snapshot

_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Panel:
    """The panel of one run; display it, or leave it as the last expression of a cell, as often as you like.

    Attributes:
      written: how often the run has been written down, for an output or for a front end that keeps one up to date.
    """

    def __init__(self, run: str, snapshot: Callable[[], Snapshot], channel: Channel) -> None:
        self.run = run
        self.channel = channel
        self._snapshot = snapshot
        self._handle: DisplayHandle | None = None
        self.written = 0

    def show(self) -> None:
        """Display it under the current cell; `refresh` then brings the stored output up to date."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        self._handle = display(data, metadata=metadata, raw=True, display_id=True)

    def refresh(self) -> None:
        """Put the present state into the output that `show` displayed, for the saved notebook."""
        if self._handle is None:
            # An output that others have displayed is behind now: a front end that can write it sees so, and asks.
            self.written += self.written > 0
        elif is_engine():  # Its client does not relay updates: what is over is displayed once more.
            if self._snapshot().status.state not in ("running", "waiting"):
                self.show()
                self._handle = None
        else:
            data, metadata = self._repr_mimebundle_()
            self._handle.update(data, metadata=metadata, raw=True)

    def bundle(self) -> dict[str, Any]:
        """The run as it stands, as a notebook keeps it."""
        snapshot = self._snapshot()
        self.written += 1
        html = static_html(self.run, snapshot, self.written)
        return {"text/plain": summary(snapshot, saved=True), "text/html": legible(html)}

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = self.bundle()
        if marimo := marimo_notebook():  # It takes one of several forms: a widget brings the picture beside it to life.
            bundle["text/html"] += marimo.as_html(self.channel.model).text
        elif outputs_are_isolated():
            bundle[_WIDGET_VIEW] = {"version_major": 2, "version_minor": 0, "model_id": self.channel.model.model_id}
        return bundle, {}
