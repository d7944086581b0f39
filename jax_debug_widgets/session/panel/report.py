"""Send a run as one Markdown text for the browser's clipboard, with the overview as a picture if requested."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.panel.snapshots import snapshot_of
from jax_debug_widgets.transport import reply
from jax_debug_widgets.widgets.overview import drawing

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.run.view import RunView


def report_message(run: RunView, request: int, asked: Mapping[str, Any]) -> Message:
    """Make the answer to a `report` request: `run.report()`; with `picture`, the overview as an SVG in a data URI."""
    text = run.report()
    svg = drawing(snapshot_of(run, lines=False)) if asked.get("picture") else ""
    if svg:
        title, facts, rest = text.split("\n\n", 2)
        data = base64.b64encode(svg.encode("utf-8", "backslashreplace")).decode()
        text = "\n\n".join([title, facts, f"![Overview](data:image/svg+xml;base64,{data})", rest])
    return reply("report", run.key, request, text=text), b""
