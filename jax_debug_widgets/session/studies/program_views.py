"""Keep the programs that a page may show, and answer the page's requests about them."""

from __future__ import annotations

import linecache
import threading
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any, get_args

from jax_debug_widgets.graphs import AgainstFloat64, Diff, Graph, Linked, Program, ProgramTable
from jax_debug_widgets.graphs.scene_data import scene_data
from jax_debug_widgets.graphs.seen import Seen
from jax_debug_widgets.graphs.table import By
from jax_debug_widgets.session.studies.linked import lines_of_sources

View = Graph | ProgramTable | Linked | Diff

MOST_KEPT = 24
"""The most views that are kept for pages. Older views have only their static picture."""

MOST_LINKED = 3000
"""The most equations of a program that is shown in columns of source and equations. A page holds all of these rows."""

_MOST_MEASURED = 4

_AROUND = 8
"""The number of source lines that are shown above and below a line."""

FIRST: dict[type[View], str] = {Graph: "graph", ProgramTable: "table", Linked: "linked", Diff: "diff"}
"""Type of a view -> the form in which it is shown first."""


class _Kept:
    """Holds one view, and makes other views of the same program when a page first requests them."""

    def __init__(self, view: View, seen_of: Callable[[Program], Seen]) -> None:
        self._seen_of = seen_of
        self.view, self._graph = view, view if isinstance(view, Graph) else None
        self.program: Program | None = view.program

    @property
    def graph(self) -> Graph:
        if self._graph is None:
            if self.program is None:
                raise ValueError(_NO_PROGRAM)
            results = self.view.results if isinstance(self.view, Graph) else ()
            self._graph = Graph(self.program, results, lines_of_sources(self.program), self._seen_of(self.program))
        return self._graph

    def linked(self) -> Linked:
        if isinstance(self.view, Linked):
            return self.view
        graph = self.graph
        if len(graph.program.equations) > MOST_LINKED:
            msg = f"The columns are for programs of up to {MOST_LINKED:,} equations; `%jaxdebug jaxpr f(x)` shows a part of it."
            raise ValueError(msg)
        why = "`%jaxdebug hlo f(x)` compiles the program, and shows what XLA has made of these equations."
        return Linked(graph.program, why=why, source_lines=graph.lines, values=graph.seen.values)


_NO_PROGRAM = "Only the differences are kept of these programs; `%jaxdebug graph f(x)` shows one."


_NO_DIFF = (
    "`%jaxdebug diff f g -- x` compares two programs; `%jaxdebug diff f -- x --before grad` one with its gradient."
)


class ProgramViews:
    """Keeps the views that were shown, and answers pages. Safe from any thread.

    Attributes:
      measured: the newest comparisons with float64. Their error growth colours the graph of the same program.
    """

    def __init__(self, seen_of: Callable[[Program], Seen] = lambda _: Seen()) -> None:
        self._seen_of = seen_of
        self.measured: deque[AgainstFloat64] = deque(maxlen=_MOST_MEASURED)
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._session, self._count = uuid.uuid4().hex[:12], 0
        self._lock = threading.Lock()

    def add(self, view: View) -> str:
        """Keep a view. Return the key by which a page requests it."""
        with self._lock:
            known = next((key for key, kept in self._kept.items() if kept.view is view), None)
            if known is not None:
                return known
            self._count += 1
            key = f"program-{self._session}-{self._count}"
            self._kept[key] = _Kept(view, self._seen_of)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return key

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a page's request: `what` is `programs`, `about`, `scene`, `source` or `html`.

        Raises:
          LookupError: the program is not kept any more. ValueError: this view is not possible; the message says why.
        """
        if request["what"] == "programs":
            with self._lock:
                return {"programs": [_about(key, kept) for key, kept in reversed(self._kept.items())]}
        key = str(request.get("key", ""))
        kept = self._kept.get(key)
        if kept is None:
            raise LookupError("This program is gone: run the cell again.")
        return _ANSWERS[request["what"]](key, kept, request)


def _about(key: str, kept: _Kept, _request: Mapping[str, Any] | None = None) -> dict[str, Any]:
    view = kept.view
    name = f"{view.names[0]} → {view.names[1]}" if isinstance(view, Diff) else view.program.name
    size = len(kept.program.equations) if kept.program else 0
    return {"key": key, "name": name, "first": FIRST[type(view)], "equations": size, "has_diff": isinstance(view, Diff)}


def _scene(_key: str, kept: _Kept, request: Mapping[str, Any]) -> dict[str, Any]:
    return scene_data(kept.graph, request)


def _source(_key: str, kept: _Kept, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the source lines around the line of a box."""
    source = kept.graph.boxes.all[int(request["box"])].source
    if source is None:
        return {"label": "", "first": 0, "line": 0, "lines": []}
    first = max(source.line - _AROUND, 1)
    lines = [linecache.getline(source.file, line).rstrip("\n") for line in range(first, source.line + _AROUND + 1)]
    while lines and not lines[-1].strip():
        lines.pop()
    return {"label": source.label, "first": first, "line": source.line, "lines": lines}


def _html(_key: str, kept: _Kept, request: Mapping[str, Any]) -> dict[str, Any]:
    match request["view"]:
        case "table":
            asked = request.get("by")
            by = asked if asked in get_args(By) else None
            if by == "equation" and len(kept.graph.program.equations) > MOST_LINKED:
                msg = f"The list of equations is for programs of up to {MOST_LINKED:,}; `jdw.table(f, x)` has all of them."
                raise ValueError(msg)
            table = kept.view if isinstance(kept.view, ProgramTable) else ProgramTable(kept.graph.program)
            shown = table.grouped(by) if by else table
            return {"html": shown.page().html(), "by": shown.by}
        case "linked":
            return {"html": kept.linked()._repr_html_()}
        case "diff" if isinstance(kept.view, Diff):
            return {"html": kept.view._repr_html_()}
    raise ValueError(
        "`%jaxdebug diff f g -- x` compares two programs; `%jaxdebug diff f -- x --before grad` one with its gradient."
    )


_ANSWERS: dict[str, Callable[[str, _Kept, Mapping[str, Any]], dict[str, Any]]] = {
    "about": _about,
    "scene": _scene,
    "source": _source,
    "html": _html,
}
