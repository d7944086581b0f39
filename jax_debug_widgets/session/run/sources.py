"""Read a source file of the user's with the names in it, for the Code view."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.run.written import as_written
from jax_debug_widgets.watch import named_places

if TYPE_CHECKING:
    from jax_debug_widgets.events import Finding
    from jax_debug_widgets.session.run.ports import Values, WithSources


def source_fields(run: Values, file: str) -> Mapping[str, Any]:
    """Return the lines of a file, its functions and its names: the fields of the answer to a `source` request.

    Raises:
      LookupError: nothing of this run comes from the file, or its text is not available.
    """
    if file not in {site.file for site in run.store.sites()}:
        raise LookupError(f"nothing of this run comes from {file!r}")
    source, places = named_places(file, run.watch_seen())
    if not source.lines:
        raise LookupError(f"the source of {run.name_file(file)} is not to be had")
    return {
        "file": file,
        "where": run.name_file(file),
        "first_line": 1,
        "lines": [as_written(line.rstrip("\r\n")) for line in source.lines],
        "functions": [{"name": one.name, "first": one.first, "last": one.last} for one in source.functions],
        "names": [
            {**one.span._asdict(), "name": one.name, "why": one.why, "pattern": one.pattern(file), "root": one.root}
            for one in places
        ],
    }


def place_of(finding: Finding) -> tuple[str, int]:
    """Return the file and line of a finding; "" and 0 without a place."""
    if finding.file or finding.site is None:
        return finding.file, finding.span[0]
    return finding.site.file, finding.site.line


def lines_up_to(run: WithSources, file: str, line: int, *, before: int) -> list[str]:
    """Return a line of a file and the `before` lines above it; empty if the text is not available."""
    if not file or line < 1:
        return []
    try:
        lines = run.source_of(file)["lines"] if run.is_loaded else linecache.getlines(file)
    except LookupError:
        return []
    return [text.rstrip() for text in lines[max(0, line - 1 - before) : line]]
