"""Show rows of cells as plain text, and as HTML in the colours of JupyterLab's theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

Kind = Literal["", "same", "changed", "added", "removed", "moved", "head"]

SIGNS: dict[Kind, str] = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}
"""The sign before a row in the text; HTML uses colours instead."""

_COLOURS: dict[Kind, str] = {
    "added": "var(--jp-success-color1,#2e7d32)",
    "removed": "var(--jp-error-color1,#c62828)",
    "changed": "var(--jp-warn-color1,#b26a00)",
    "moved": "var(--jp-info-color1,#0277bd)",
    "same": "var(--jp-ui-font-color2,#666)",
}
_FONT = (
    "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);font-size:12px;"
    "color:var(--jp-content-font-color1,inherit);overflow-x:auto"
)
_WHOLE = 16
"""A cell with at most this number of characters, such as a place, is not broken into lines."""


@dataclass(frozen=True)
class PageRow:
    """One row: its cells, the indentation of the first cell, and the kind of the row."""

    cells: Sequence[str]
    indent: int = 0
    kind: Kind = ""


@dataclass(frozen=True)
class Page:
    """Rows with headers, a title above and sentences below. Columns without content are not shown.

    Attributes:
      numbers: the headers of columns that are aligned to the right.
      longest: the most characters of a cell in the text, except the last cell; HTML shows all characters.
    """

    title: str
    headers: Sequence[str]
    lines: Sequence[PageRow]
    notes: Sequence[str] = ()
    numbers: frozenset[str] = frozenset()
    longest: int = 48

    def text(self) -> str:
        """Return the page as text, with aligned columns."""
        shown = self._shown()
        signs = any(line.kind in SIGNS for line in self.lines)
        rows = [self._cells(line, shown) for line in self.lines]
        heads = [self.headers[one] for one in shown]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        to_right = [self.headers[one] in self.numbers for one in shown]

        def line_text(cells: Sequence[str], sign: str) -> str:
            set_in = (
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(cells, widths, to_right, strict=True)
            )
            return f"{sign + ' ' if signs else ''}{'  '.join(set_in)}".rstrip()

        below = [line_text(row, SIGNS.get(line.kind, " ")) for row, line in zip(rows, self.lines, strict=True)]
        return "\n".join([self.title, *([line_text(heads, " ")] if any(heads) and rows else []), *below, *self.notes])

    def html(self) -> str:
        """Return the page as a `<table>` with inline styles; text from the user's program is escaped."""
        shown = self._shown()
        heads = "".join(self._html_cell("th", self.headers[one], one) for one in shown)
        rows = "".join(self._html_row(line, shown) for line in self.lines)
        notes = "".join(f"<div>{escape(note)}</div>" for note in self.notes)
        style = "border-collapse:collapse;margin:4px 0"
        table = f'<table style="{style}"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        title = f'<div style="font-weight:600">{escape(self.title)}</div>'
        return f'<div class="jaxdebug-program" style="{_FONT}">{title}{table if rows else ""}{notes}</div>'

    def _shown(self) -> list[int]:
        return [one for one in range(len(self.headers)) if any(line.cells[one] for line in self.lines)]

    def _cells(self, line: PageRow, shown: Sequence[int]) -> list[str]:
        cells = [_cut(line.cells[one], self.longest) if one != shown[-1] else line.cells[one] for one in shown]
        return ["  " * line.indent + cells[0], *cells[1:]] if cells else []

    def _html_row(self, line: PageRow, shown: Sequence[int]) -> str:
        cells = [
            self._html_cell("td", line.cells[one], one, line.indent * (place == 0)) for place, one in enumerate(shown)
        ]
        colour = f' style="color:{_COLOURS[line.kind]}"' if line.kind in _COLOURS else ""
        kind = f' data-kind="{line.kind}"' if line.kind else ""
        return f"<tr{kind}{colour}>{''.join(cells)}</tr>"

    def _html_cell(self, tag: str, text: str, column: int, indent: int = 0) -> str:
        side = "right" if self.headers[column] in self.numbers else "left"
        set_in = f";padding-left:{indent * 14}px" if indent else ""
        wraps = "pre" if len(text) <= _WHOLE else "pre-wrap"
        style = f"text-align:{side};vertical-align:top;padding:1px 12px 1px 0;white-space:{wraps}{set_in}"
        return f'<{tag} style="{style}">{escape(text)}</{tag}>'


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
