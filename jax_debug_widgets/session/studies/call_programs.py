"""The programs that JAX has traced for the calls of runs, without what is put in for watched values."""

from __future__ import annotations

import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.studies.programs import program_of
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets.graphs import Graph
from jax_debug_widgets.session.run.run import Run
from jax_debug_widgets.session.studies.graph import not_finite_in
from jax_debug_widgets.session.studies.linked import lines_of_sources
from jax_debug_widgets.session.studies.programs import reading_of

if TYPE_CHECKING:
    from jax_debug_widgets._jax.tracing.traces import Trace
    from jax_debug_widgets.session.run.view import RunView
    from jax_debug_widgets.session.studies.program_views import ProgramViews
    from jax_debug_widgets.taps import Capture

MOST_KEPT = 8
"""Programs that are kept, of all runs together; the newest."""

LARGEST = 64 << 20
"""Bytes of constants. A program that has more is kept only as long as JAX has it: they may fill a device."""

_MOST_TYPES = 3
"""Arguments that the name of a program says."""

_ELSE = "`%jaxdebug graph f(x)` shows it."


class _Kept:
    """A program that was traced in a run."""

    def __init__(self, run: str, trace: Trace, program: Any) -> None:
        self.run, self.trace = run, trace
        is_small = _nbytes_of_constants(program) <= LARGEST
        self._program: Callable[[], Any] = (lambda: program) if is_small else weakref.ref(program)
        self._graph: Graph | None = None

    def graph(self, run: RunView, capture: Capture) -> Graph | None:
        """It as nested boxes; None where it is gone. Read when first asked for."""
        program = self._program()
        if self._graph is None and program is not None:
            traced = Traced(self.trace.function, program.jaxpr, program.consts, (), "", ())
            found = replace(program_of(traced, reading_of(capture)), name=_name_of(self.trace))
            self._graph = Graph(found, (), lines_of_sources(found), not_finite_in(run, found))
        return self._graph


class CallPrograms:
    """Keeps the newest, and says which of them may be that of a call. Safe from any thread."""

    def __init__(self, capture: Capture, views: ProgramViews) -> None:
        self._capture, self._views = capture, views
        self._kept: deque[_Kept] = deque(maxlen=MOST_KEPT)
        self._times = Counter[tuple[str, str]]()
        """Run and function -> how often it was traced there."""
        self._lock = threading.Lock()

    def take(self, run: str, trace: Trace, program: Any) -> None:
        """A function was traced for a call of it."""
        with self._lock:
            self._times[run, trace.function] += 1
            self._kept.append(_Kept(run, trace, program))

    def forget(self, run: str) -> None:
        """Let go of the programs of this run."""
        with self._lock:
            self._kept = deque((one for one in self._kept if one.run != run), maxlen=MOST_KEPT)
            for key in [key for key in self._times if key[0] == run]:
                del self._times[key]

    def answer(self, run: RunView | None, request: Mapping[str, Any]) -> dict[str, Any]:
        """The programs that were traced for the function of the call `call`, the newest first, and how sure that is.

        Raises:
          LookupError: there is no such run. ValueError: no program is kept; the message says why.
        """
        if run is None:
            raise LookupError("This run is gone: run the cell again.")
        own = run if isinstance(run, Run) else None
        if own is None:
            raise ValueError("This run was loaded from a file, which holds no programs.")
        function = own.call_log.function_of(int(request["call"]))
        with self._lock:
            times = self._times[own.key, function]
            kept = [one for one in reversed(self._kept) if (one.run, one.trace.function) == (own.key, function)]
        if not times:
            why = "JAX had it already, or the function is a library's"
            msg = f"No program of `{function}` was seen to be traced for a call in this run: {why}. {_ELSE}"
            raise ValueError(msg)
        graphs = [graph for one in kept if (graph := one.graph(own, self._capture)) is not None]
        if not graphs:
            msg = f"The program of `{function}` is no longer kept: only the last {MOST_KEPT} that were traced are. {_ELSE}"
            raise ValueError(msg)
        told = "traced once in this run"
        if times > 1:
            told = f"traced {times} times in this run; which of them this call ran is not known"
        if own.options.watch is not None and any(map(_has_copies, graphs)):
            told += "; a copy in it may be there because values are watched"
        about = [self._views.answer({"what": "about", "key": self._views.add(graph)}) for graph in graphs]
        return {"programs": about, "told": told}


def _nbytes_of_constants(program: Any) -> int:
    """Bytes of the arrays that a program, and those in it, close over."""
    own = sum(getattr(one, "nbytes", 0) for one in program.consts)
    inner = (value for one in program.jaxpr.eqns for value in one.params.values() if isinstance(value, ClosedJaxpr))
    return own + sum(map(_nbytes_of_constants, inner))


def _has_copies(graph: Graph) -> bool:
    return any(one.primitive in ("copy", "copy_p") for one in graph.program.equations)


def _name_of(trace: Trace) -> str:
    types = [f"{path}: {leaf.type}" for path, leaf in trace.leaves.items()]
    more = [] if len(types) <= _MOST_TYPES else ["…"]
    return f"{trace.function}({', '.join(types[:_MOST_TYPES] + more)})"
