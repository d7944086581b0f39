"""Show the findings of a run: as objects, as text in a terminal, and as a pandas frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets.checks import Kind, text_of
from jax_debug_widgets.events import Finding
from jax_debug_widgets.session.run.tables import Lines, pandas_for

if TYPE_CHECKING:
    import pandas as pd

_ROWS = {kind.word: kind.row for kind in Kind}

_COLUMNS = ("kind", "row", "where", "headline", "why", "fix", "advice", "seen", "calls", "message")


class Findings(Lines[Finding]):
    """The findings of a run. The text of each is like a compiler's message: the source, why, and what to write."""

    def __repr__(self) -> str:
        return "\n\n".join(map(text_of, self)) or "<no findings>"

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with a row for each finding.

        Columns: kind, row of docs/behaviours.md, where, headline, why, fix, advice, seen, calls, message.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        rows = [
            (
                one.kind,
                _ROWS.get(one.kind, ""),
                one.where or (one.site.where if one.site else ""),
                one.headline,
                one.why,
                "\n".join(one.fix),
                one.advice,
                one.seen,
                one.calls,
                one.message,
            )
            for one in self
        ]
        return pandas_for("run.findings.to_pandas()").DataFrame(rows, columns=list(_COLUMNS))
