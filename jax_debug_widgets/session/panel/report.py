"""Send a run as one Markdown text for the browser's clipboard, with the overview as a picture if requested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.transport import reply

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.run.view import RunView


def report_message(run: RunView, request: int, asked: Mapping[str, Any]) -> Message:
    """Make the answer to a `report` request: `run.report()`; with `picture`, the overview as an SVG in a data URI."""
    return reply("report", run.key, request, text=run.report(picture=bool(asked.get("picture")))), b""
