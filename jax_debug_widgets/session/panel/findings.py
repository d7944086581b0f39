"""Send the findings of a run to the panel, each with its lines of source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.checks import section_of, severity_of
from jax_debug_widgets.session.run.sources import lines_up_to, place_of
from jax_debug_widgets.session.run.written import as_written
from jax_debug_widgets.transport import reply

if TYPE_CHECKING:
    from jax_debug_widgets.events import Finding
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.run.view import RunView
    from jax_debug_widgets.transport.run_messages import FindingMessage

_LINES_BEFORE = 1
"""The number of source lines that are shown above the line of a finding."""

_MOST_FOLLOWERS = 100


def findings_message(run: RunView, request: int, _asked: Mapping[str, Any]) -> Message:
    """Make the answer to a `findings` request."""
    return reply("findings", run.key, request, findings=[_message(run, one) for one in run.findings]), b""


def _message(run: RunView, finding: Finding) -> FindingMessage:
    file, line = place_of(finding)
    where, headline = finding.where or (finding.site.where if finding.site else ""), finding.headline
    return {
        "kind": finding.kind,
        "severity": severity_of(finding),
        "where": where,
        "headline": headline or finding.message.removeprefix(f"{where}: "),
        "why": finding.why,
        "advice": finding.advice,
        "fix": list(finding.fix),
        "file": file,
        "line": line,
        "first_line": max(1, line - _LINES_BEFORE),
        "lines": [as_written(one) for one in lines_up_to(run, file, line, before=_LINES_BEFORE)],
        "site": finding.site.id if finding.site else -1,
        "event": finding.event,
        "lane": list(finding.lane),
        "section": section_of(finding.kind),
        "followers": [
            {"where": one.site.where, "label": one.site.label, "site": one.site.id, "event": one.event}
            for one in finding.followed_by[:_MOST_FOLLOWERS]
            if one.site
        ],
        "following": len(finding.followed_by),
    }
