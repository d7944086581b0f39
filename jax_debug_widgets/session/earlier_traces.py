"""Keep the newest traces of each function over all captures of this process, so that a new one can be explained."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets._jax.tracing.traces import Trace

_MOST_FUNCTIONS = 1000
_MOST_TRACES = 16


class EarlierTraces:
    """Holds at most 16 traces of each of the 1000 functions that were traced last."""

    def __init__(self) -> None:
        self._traces: OrderedDict[tuple[str, int], deque[Trace]] = OrderedDict()

    def before(self, trace: Trace) -> Sequence[Trace]:
        """Return the earlier traces of this trace's function, oldest first, and keep the trace. Ours are not kept."""
        if trace.is_ours:
            return ()
        place = trace.file, trace.line
        own = self._traces.setdefault(place, deque(maxlen=_MOST_TRACES))
        self._traces.move_to_end(place)
        before = tuple(own)
        own.append(trace)
        if len(self._traces) > _MOST_FUNCTIONS:
            self._traces.popitem(last=False)
        return before
