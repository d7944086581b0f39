"""Keep the programs that the calls of runs ran, without the equations that were added for watched values."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.origins.frames import is_users
from jax_debug_widgets._jax.studies.programs import program_of
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets.graphs import Graph
from jax_debug_widgets.session.run.run import Run
from jax_debug_widgets.session.studies.linked import lines_of_sources
from jax_debug_widgets.session.studies.programs import reading_of
from jax_debug_widgets.session.studies.seen import seen_in

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.view import RunView
    from jax_debug_widgets.session.studies.program_views import ProgramViews
    from jax_debug_widgets.taps import Capture

MOST_KEPT = 8
"""The most programs that are kept for all runs together, the newest ones. Others exist as long as JAX keeps them."""

LARGEST = 64 << 20
"""A program with more bytes of constants is not kept, because it could fill a device. It exists as long as JAX keeps it."""

_MOST_TYPES = 3
"""The most arguments in the name of a program."""

_ELSE = "`%jaxdebug graph f(x)` shows the program of a call like it."


class CallPrograms:
    """Keeps the newest programs, and shows the program of a call. Safe from any thread."""

    def __init__(self, capture: Capture, views: ProgramViews) -> None:
        self._capture, self._views = capture, views
        self._kept: OrderedDict[tuple[str, int], Any] = OrderedDict()
        """Key of a run and `id` of a program -> the program."""
        self._graphs: weakref.WeakKeyDictionary[Any, dict[str, Graph]] = weakref.WeakKeyDictionary()
        """Program -> key of a run -> the program as nested boxes."""
        self._are_kept: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
        """Program -> whether it is worth keeping."""
        self._lock = threading.Lock()

    def take(self, run: str, program: Any) -> None:
        """See `session.ports.ProgramsOfCalls`. A training step waits for this method, so it does little."""
        key = run, id(program)
        if program is None or key in self._kept:
            return
        is_kept = self._are_kept.get(program)
        if is_kept is None:  # Looking through a program at each of its calls would be slow.
            is_kept = self._are_kept[program] = _is_worth_keeping(program)
        if not is_kept:
            return
        with self._lock:
            self._kept[key] = program
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def forget(self, run: str) -> None:
        """Drop the programs of a run."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == run]:
                del self._kept[key]
            for graphs in list(self._graphs.values()):
                graphs.pop(run, None)

    def answer(self, run: RunView | None, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request for the program of call `call`.

        Raises:
          LookupError: there is no such run. ValueError: the program is not known; the message says why.
        """
        if run is None:
            raise LookupError("This run is gone: run the cell again.")
        own = run if isinstance(run, Run) else None
        if own is None:
            raise ValueError("This run was loaded from a file, which holds no programs.")
        function, program = own.call_log.program_of(int(request["call"]))
        if program is None:
            msg = (
                f"The program of this call of `{function}` is not known: JAX dispatched it without Python, or the "
                f"program no longer exists. {_ELSE}"
            )
            raise ValueError(msg)
        graph = self._graph_of(own, program)
        sentence = "the program that this call has run"
        if own.options.watch is not None and _has_copies(graph):
            sentence += "; a copy in it may be there because values are watched"
        return {
            "programs": [self._views.answer({"what": "about", "key": self._views.add(graph)})],
            "description": sentence,
        }

    def _graph_of(self, run: Run, program: Any) -> Graph:
        """Return the program as nested boxes; the first call makes them."""
        graphs = self._graphs.setdefault(program, {})
        if run.key not in graphs:
            traced = Traced(_name_of(program), program.jaxpr, program.consts, (), "", ())
            found = program_of(traced, reading_of(self._capture))
            graphs[run.key] = Graph(found, (), lines_of_sources(found), seen_in(run, found))
        return graphs[run.key]


def _is_worth_keeping(program: Any) -> bool:
    """Whether a program is of one of the user's functions and not too large. JAX itself keeps those of its own functions."""
    file = (program.jaxpr.debug_info.func_src_info or "").partition(" at ")[2].rpartition(":")[0]
    return is_users(file) and _nbytes_of_constants(program) <= LARGEST


def _nbytes_of_constants(program: Any) -> int:
    """Return the bytes of the constants of a program and of the programs inside it."""
    own = sum(getattr(one, "nbytes", 0) for one in program.consts)
    inner = (value for one in program.jaxpr.eqns for value in one.params.values() if isinstance(value, ClosedJaxpr))
    return own + sum(map(_nbytes_of_constants, inner))


def _has_copies(graph: Graph) -> bool:
    return any(one.primitive in ("copy", "copy_p") for one in graph.program.equations)


def _name_of(program: Any) -> str:
    """Return the name of a program with the types of its arguments: `f(x: float32[3])`."""
    about = program.jaxpr.debug_info
    names = about.arg_names or ("",) * len(program.in_avals)
    types = [f"{name}: {one.str_short()}" for name, one in zip(names, program.in_avals, strict=False)]
    more = [] if len(types) <= _MOST_TYPES else ["…"]
    return f"{about.func_name}({', '.join(types[:_MOST_TYPES] + more)})"
