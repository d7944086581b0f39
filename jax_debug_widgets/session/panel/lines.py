"""Set breakpoints at source lines: for the next run, and at once if the running program calls Python at the line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.breakpoints import parse_condition
from jax_debug_widgets.transport import reply

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.panel.ports import PanelPorts
    from jax_debug_widgets.session.run.view import RunView

_LINE = re.compile(r".+:\d+")


def answer_line(session: PanelPorts, run: RunView, number: int, request: Mapping[str, Any]) -> Message:
    """Set or remove the breakpoint of a `line` request, and make the answer.

    Raises:
      ValueError: the text is not a line of a file.
    """
    line, on = str(request["line"]), bool(request["on"])
    if not _LINE.fullmatch(line):
        raise ValueError(f"{line!r} is no line: train.py:41 is one")
    session.added.stop_at(line, on=on)
    condition, debugger = parse_condition(line), session.debugger
    is_seen = any(condition.concerns(site) for site in run.store.sites())
    is_current = debugger.policy is run.policy and run.status().stoppable
    if is_current and (is_seen or not on):
        debugger.stop_where(condition, on=on)
    return reply("done", run.key, number), b""
