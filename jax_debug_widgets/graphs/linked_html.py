"""Write linked columns as self-contained HTML: the rows that correspond to the one under the mouse are highlighted."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Cell:
    """One row of a column.

    Attributes:
      equations: the numbers of its equations.
      note: further information, shown in small type.
      is_gone: whether nothing is left of it in the compiled program.
      is_box: whether it is a fusion, which has a border.
      is_grey: whether it computes nothing.
    """

    text: str
    equations: frozenset[int] = frozenset()
    indent: int = 0
    note: str = ""
    is_gone: bool = False
    is_box: bool = False
    is_grey: bool = False


def columns(title: str, parts: Iterable[tuple[str, Sequence[Cell]]], why: str) -> str:
    """Return the columns beside each other, each with its title."""
    key = f"jaxdebug-{uuid.uuid4().hex[:12]}"
    shown = "".join(
        f'<div class="jd-column" role="listbox" aria-label="{escape(name)}"><div class="jd-head">{escape(name)}</div>'
        f"{''.join(map(_row, cells))}</div>"
        for name, cells in parts
    )
    note = f'<div class="jd-note">{escape(why)}</div>' if why else ""
    head = f'<div class="jd-title">{escape(title)}</div>'
    return (
        f'<style>{_STYLE}</style><div id="{key}" class="jaxdebug-linked">{head}{_HINT}<div class="jd-columns">{shown}</div>'
        f"{note}</div><script>{_SCRIPT.replace('KEY', key)}</script>"
    )


def _row(cell: Cell) -> str:
    kinds = (("jd-gone", cell.is_gone), ("jd-box", cell.is_box), ("jd-grey", cell.is_grey))
    classes = " ".join(["jd-row", *(name for name, holds in kinds if holds)])
    numbers = " ".join(map(str, sorted(cell.equations)))
    note = f'<span class="jd-small">{escape(cell.note)}</span>' if cell.note else ""
    set_in = f' style="padding-left:{6 + 12 * cell.indent}px"' if cell.indent else ""
    tooltip = ' title="XLA has removed this equation"' if cell.is_gone else ""
    return (
        f'<div class="{classes}" role="option" aria-selected="false" tabindex="-1" data-e="{numbers}"{set_in}{tooltip}>'
        f"<code>{escape(cell.text)}</code>{note}</div>"
    )


_HINT = (
    '<div class="jd-note">Point at a row to highlight the rows that belong to it in the other columns. Click or Enter '
    "keeps the highlight, Escape removes it, the arrow keys move.</div>"
)

_STYLE = """
.jaxdebug-linked{container-type:inline-size;font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);font-size:12px;
color:var(--jp-content-font-color1,inherit)}
.jaxdebug-linked .jd-title{font-weight:600;padding:2px 0}
.jaxdebug-linked .jd-note{color:var(--jp-content-font-color2,#666);padding:2px 0}
.jaxdebug-linked .jd-columns{display:flex;flex-wrap:wrap;gap:8px}
.jaxdebug-linked .jd-column{box-sizing:border-box;flex:1 1 0;min-width:min(240px,100%);max-height:480px;overflow:auto;
position:relative;border:1px solid var(--jp-border-color2,#ccc)}
@container (max-width:1000px){.jaxdebug-linked .jd-column{flex-basis:40%;max-height:300px}}
.jaxdebug-linked .jd-head{position:sticky;top:0;padding:2px 6px;font-weight:600;
background:var(--jp-layout-color2,#eee);color:var(--jp-ui-font-color1,#222)}
.jaxdebug-linked .jd-row{padding:1px 6px;cursor:pointer;border-left:3px solid transparent;outline-offset:-2px}
.jaxdebug-linked .jd-row code{white-space:pre;background:none;color:inherit;font-size:inherit;padding:0}
.jaxdebug-linked .jd-small{display:block;font-size:11px;color:var(--jp-content-font-color2,#666)}
.jaxdebug-linked .jd-box{border:1px solid var(--jp-border-color1,#999);margin:3px;border-radius:3px}
.jaxdebug-linked .jd-grey{color:var(--jp-content-font-color3,#999)}
.jaxdebug-linked .jd-gone code{text-decoration:line-through;opacity:.7}
.jaxdebug-linked .jd-lit{background:rgba(255,193,7,.3);border-left-color:var(--jp-warn-color1,#b26a00)}
.jaxdebug-linked .jd-pinned{border-left-color:var(--jp-brand-color1,#1976d2)}
"""

_SCRIPT = """
(() => {
  const root = document.getElementById("KEY");
  if (!root) return;
  const rows = [...root.querySelectorAll(".jd-row")];
  const of = (row) => row.dataset.e.split(" ").filter(Boolean);
  let pinned = null;
  const light = (row) => {
    const wanted = new Set(row ? of(row) : []);
    const first = new Set();
    for (const one of rows) {
      const lit = of(one).some((number) => wanted.has(number));
      one.classList.toggle("jd-lit", lit);
      const column = one.parentElement;
      if (lit && pinned && column !== row.parentElement && !first.has(column)) {
        first.add(column);
        column.scrollTop = one.offsetTop - column.clientHeight / 3;
      }
    }
  };
  const pin = (row) => {
    if (pinned) { pinned.classList.remove("jd-pinned"); pinned.setAttribute("aria-selected", "false"); }
    pinned = row === pinned ? null : row;
    if (pinned) { pinned.classList.add("jd-pinned"); pinned.setAttribute("aria-selected", "true"); }
    light(pinned);
  };
  const beside = (row, step) => {
    const columns = [...root.querySelectorAll(".jd-column")];
    const next = columns[columns.indexOf(row.parentElement) + step];
    const lit = next && (next.querySelector(".jd-lit") || next.querySelector(".jd-row"));
    if (lit) lit.focus();
  };
  root.addEventListener("mouseover", (event) => { if (!pinned) light(event.target.closest(".jd-row")); });
  root.addEventListener("mouseleave", () => { if (!pinned) light(null); });
  root.addEventListener("focusin", (event) => { if (!pinned) light(event.target.closest(".jd-row")); });
  root.addEventListener("click", (event) => {
    const row = event.target.closest(".jd-row");
    if (row) { row.focus({ preventScroll: true }); pin(row); }
  });
  root.addEventListener("keydown", (event) => {
    const row = event.target.closest(".jd-row");
    if (event.key === "Escape") { if (pinned) pin(pinned); }
    else if (!row) return;
    else if (event.key === "Enter" || event.key === " ") pin(row);
    else if (event.key === "ArrowDown") row.nextElementSibling?.focus();
    else if (event.key === "ArrowUp") { if (row.previousElementSibling?.tabIndex === -1) row.previousElementSibling.focus(); }
    else if (event.key === "ArrowRight") beside(row, 1);
    else if (event.key === "ArrowLeft") beside(row, -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  for (const column of root.querySelectorAll(".jd-column")) column.querySelector(".jd-row")?.setAttribute("tabindex", "0");
})();
"""
