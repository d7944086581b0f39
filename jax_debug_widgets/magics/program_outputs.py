"""Show programs in a notebook: as their picture or text, which a page with the panel's model makes live."""

from __future__ import annotations

import logging
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session import Session

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_log = logging.getLogger(__name__)

_VIEWS = (
    ("jax_debug_widgets.graphs.graph", "Graph"),
    ("jax_debug_widgets.graphs.table", "ProgramTable"),
    ("jax_debug_widgets.graphs.linked", "Linked"),
    ("jax_debug_widgets.graphs.diff", "Diff"),
)

_HYDRATE = """<script>(() => {
  const registry = (window.__jaxDebug ??= { waiting: [] });
  for (const el of document.querySelectorAll('[data-jaxdebug-program="%s"]:not([data-jaxdebug-found])')) {
    el.dataset.jaxdebugFound = "";
    registry.attach ? registry.attach(el) : registry.waiting.push(el);
  }
})()</script>"""


def put_in(shell: InteractiveShell, session: Session) -> None:
    """Show programs live in this shell, if it is a kernel."""
    if getattr(shell, "kernel", None) is not None:
        for module, name in _VIEWS:
            _html(shell).for_type_by_name(module, name, partial(live_html, session))


def take_out(shell: InteractiveShell) -> None:
    """Show programs as their picture or text only."""
    for module, name in _VIEWS:
        _html(shell).deferred_printers.pop((module, name), None)
        _html(shell).pop(f"{module}.{name}", None)


def _html(shell: InteractiveShell) -> Any:
    formatter: Any = shell.display_formatter
    return formatter.formatters["text/html"]


def live_html(session: Session, view: Any) -> str:
    """Return the HTML of a view, with a script that lets the panel's model make it live in a page that has the model."""
    static = view._repr_html_()
    try:
        if not session.panels.open_for_programs():
            return static
        key = session.program_views.add(view)
    except Exception:  # noqa: BLE001 - the static picture must be shown.
        _log.exception("jax_debug_widgets could not make a program's output live")
        return static
    return f'<div data-jaxdebug-program="{escape(key)}"><div>{static}</div></div>{_HYDRATE % key}'
