"""Write a small table as plain text, and as HTML that needs no JavaScript."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

_CAPTION = "text-align:left;font-weight:600;min-width:min(80ch,80vw)"
"""A long title above a narrow table has room."""
_CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0;white-space:pre-wrap"
_FONT = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);font-size:12px"


@dataclass(frozen=True)
class Table:
    """A table: rows of text under headers. Columns that are empty in all rows are not shown."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Return the table as text, each column padded to its widest cell. A cell may have several lines."""
        headers, rows = self._shown()
        widths = [max(map(len, "\n".join(column).split("\n"))) for column in zip(headers, *rows, strict=True)]
        lines = [self.title] if self.title else []
        for row in (headers, *rows):
            cells = [cell.split("\n") for cell in row]
            for number in range(max(map(len, cells), default=0)):
                parts = [cell[number] if number < len(cell) else "" for cell in cells]
                lines.append("  ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip())
        return "\n".join([*lines, *self.notes])

    def html(self) -> str:
        """Return the table as a `<table>` with inline styles. All texts are escaped."""
        headers, rows = self._shown()
        head = "".join(f'<th scope="col" style="{_CELL}">{escape(name)}</th>' for name in headers)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
        caption = f'<caption style="{_CAPTION}">{escape(self.title)}</caption>' if self.title else ""
        notes = "".join(f"<div>{escape(note)}</div>" for note in self.notes)
        return (
            f'<div style="{_FONT}"><table style="border-collapse:collapse">{caption}'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"
        )

    def records(self) -> list[dict[str, str]]:
        """Return a dictionary for each row: header -> cell."""
        return [dict(zip(self.headers, row, strict=True)) for row in self.rows]

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        shown = [index for index, _ in enumerate(self.headers) if any(row[index] for row in self.rows)]
        return [self.headers[index] for index in shown], [[row[index] for index in shown] for row in self.rows]


class ShownAsTable(ABC):
    """Shows an object as its table: as text in a terminal, as HTML in a notebook."""

    @abstractmethod
    def _table(self) -> Table:
        """Return the table."""

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython's
        printer.text(repr(self))

    def _repr_html_(self) -> str:
        return self._table().html()


def _cell(text: str) -> str:
    return f'<td style="{_CELL}">{escape(text)}</td>'
