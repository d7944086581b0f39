"""Keep the newest traces of each function over all captures of this process, so that a new one can be explained."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from jax_debug_widgets.checks.retraces import counted_as

if TYPE_CHECKING:
    from jax_debug_widgets._jax.tracing.traces import Trace

_MOST_FUNCTIONS = 1000
_MOST_TRACES = 16


class EarlierTraces:
    """Holds at most 16 traces of each of the 1000 functions that were traced last."""

    def __init__(self) -> None:
        self._traces: OrderedDict[Hashable, deque[Trace]] = OrderedDict()

    def before(self, trace: Trace) -> Sequence[Trace]:
        """Return the earlier traces of this trace's function, oldest first, and keep the trace.

        A trace of a function of this package is not kept, and has no earlier traces.
        """
        if trace.is_ours:
            return ()
        function = counted_as(trace)
        own = self._traces.setdefault(function, deque(maxlen=_MOST_TRACES))
        self._traces.move_to_end(function)
        before = tuple(own)
        own.append(trace)
        if len(self._traces) > _MOST_FUNCTIONS:
            self._traces.popitem(last=False)
        return before
