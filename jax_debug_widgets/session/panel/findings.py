"""The findings of a run for the panel, each with the lines of source that it is about."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.transport import reply

if TYPE_CHECKING:
    from jax_debug_widgets.events import Finding
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.run.view import RunView
    from jax_debug_widgets.transport.run_messages import FindingMessage

_LINES_BEFORE = 1
"""Lines of source that are shown above the one that a finding is about."""

_MOST_FOLLOWERS = 100


def findings_message(run: RunView, request: int, _asked: Mapping[str, Any]) -> Message:
    """The answer to a `findings` request."""
    return reply("findings", run.key, request, findings=[_message(run, one) for one in run.findings]), b""


def _message(run: RunView, finding: Finding) -> FindingMessage:
    file, line = finding.file, finding.span[0]
    if not file and finding.site is not None:
        file, line = finding.site.file, finding.site.line
    where, headline = finding.where or (finding.site.where if finding.site else ""), finding.headline
    return {
        "kind": finding.kind,
        "where": where,
        "headline": headline or finding.message.removeprefix(f"{where}: "),
        "why": finding.why,
        "advice": finding.advice,
        "fix": list(finding.fix),
        "file": file,
        "line": line,
        "first_line": max(1, line - _LINES_BEFORE),
        "lines": _lines(run, file, line),
        "site": finding.site.id if finding.site else -1,
        "event": finding.event,
        "followers": [
            {"where": one.site.where, "label": one.site.label, "site": one.site.id, "event": one.event}
            for one in finding.followed_by[:_MOST_FOLLOWERS]
            if one.site
        ],
        "following": len(finding.followed_by),
    }


def _lines(run: RunView, file: str, line: int) -> list[str]:
    """The line and those above it; none where its source is not to be had."""
    if not file or line < 1:
        return []
    try:
        lines = run.source_of(file)["lines"] if run.is_loaded else linecache.getlines(file)
    except LookupError:
        return []
    return [text.rstrip() for text in lines[max(0, line - 1 - _LINES_BEFORE) : line]]
