"""Make the output of a run: a static picture, which the browser's model makes live in a page that has the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events.legible import legible
from jax_debug_widgets.widgets.channel import Channel, marimo_notebook, outputs_are_isolated
from jax_debug_widgets.widgets.kernel import is_engine
from jax_debug_widgets.widgets.overview import drawing
from jax_debug_widgets.widgets.static import static_html
from jax_debug_widgets.widgets.summary import summary

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

    from jax_debug_widgets.widgets.snapshot import Snapshot

_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Panel:
    """Shows one run; display it, or leave it as the last expression of a cell, as often as you like.

    Attributes:
      written: how often the static picture has been made, for an output or for a front end that updates one.
    """

    def __init__(self, run: str, snapshot: Callable[[], Snapshot], channel: Channel) -> None:
        self.run = run
        self.channel = channel
        self._snapshot = snapshot
        self._handle: DisplayHandle | None = None
        self.written = 0

    def show(self) -> None:
        """Display the panel under the current cell; `refresh` then updates this output."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        self._handle = display(data, metadata=metadata, raw=True, display_id=True)

    def refresh(self) -> None:
        """Write the present state into the output that `show` displayed, for the saved notebook."""
        if self._handle is None:
            # An output that was displayed in another way is old now. A front end that can write it sees this number and asks.
            self.written += self.written > 0
        elif is_engine():  # The client does not relay updates, so an ended run is displayed once more.
            if self._snapshot().status.state not in ("running", "waiting"):
                self.show()
                self._handle = None
        else:
            data, metadata = self._repr_mimebundle_()
            self._handle.update(data, metadata=metadata, raw=True)

    def bundle(self) -> dict[str, Any]:
        """Return the MIME bundle of the run as it is now, for a notebook."""
        snapshot = self._snapshot()
        self.written += 1
        html = static_html(self.run, snapshot, self.written)
        return {"text/plain": summary(snapshot, saved=True), "text/html": legible(html)}

    def picture(self) -> str:
        """Return the Overview as SVG; empty if there is nothing to draw."""
        return drawing(self._snapshot())

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = self.bundle()
        if marimo := marimo_notebook():  # It shows only one of several forms, so the widget goes into the HTML.
            self.channel.reopen()
            bundle["text/html"] += marimo.as_html(self.channel.model).text
        elif outputs_are_isolated():
            bundle[_WIDGET_VIEW] = {"version_major": 2, "version_minor": 0, "model_id": self.channel.model.model_id}
        return bundle, {}
