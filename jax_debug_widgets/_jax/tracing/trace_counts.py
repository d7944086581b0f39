"""Make libraries that limit the traces of a function count a capture's traces separately: a capture traces functions again.

`chex.assert_max_traces` and `equinox.debug.assert_max_traces` each count in a table of their module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import pjit
from jax_debug_widgets._jax.compat.replacements import CachedFunction, Replacements, Replacing
from jax_debug_widgets._jax.origins.context import cache_key

_TABLES = (("chex._src.asserts_internal", "TRACE_COUNTER"), ("equinox.debug._max_traces", "_traces"))
"""The modules, and the names of their tables."""


class TraceCounts(Replacing):
    """Installs the replacement of the tables, counted, so that captures may nest and overlap."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, CountsByCapture] = {}

    def _put_in(self, replace: Replacements) -> None:
        self._count_apart()
        if features.available(features.UNTOUCHED):  # A library may be imported during the capture.
            replace.attribute(pjit, "_infer_params_cached", self._before_tracing, wrap=CachedFunction)
        replace.undone_by(self._count_together)

    def _before_tracing(self, theirs: Callable[..., Any], *signature: Any) -> Any:
        self._count_apart()
        return theirs(*signature)

    def _count_apart(self) -> None:
        for module, table in _TABLES:
            theirs = getattr(sys.modules.get(module), table, None)
            if theirs is not None and not isinstance(theirs, CountsByCapture):
                # If the module was imported again, its old table is not used any more.
                ours = self._tables.get(module)
                if ours is None or ours.theirs is not theirs:
                    ours = self._tables[module] = CountsByCapture(theirs)
                ours.forget_cleared()
                setattr(sys.modules[module], table, ours)

    def _count_together(self) -> None:
        for module, table in _TABLES:
            ours = getattr(sys.modules.get(module), table, None)
            if isinstance(ours, CountsByCapture):
                setattr(sys.modules[module], table, ours.theirs)


class CountsByCapture(MutableMapping[Any, int]):
    """Counts in a separate table for each capture, and outside captures in the library's table.

    Captures with equal settings share programs, and so their counts.
    """

    def __init__(self, theirs: Any) -> None:
        self.theirs = theirs
        self._of_captures: dict[Any, Any] = {}

    def _table(self) -> Any:
        key = cache_key()
        return self.theirs if key is None else self._of_captures.setdefault(key, type(self.theirs)())

    def forget_cleared(self) -> None:
        """Forget the counts in captures of the entries that were cleared outside captures."""
        for table in self._of_captures.values():
            for function in [one for one in table if one not in self.theirs]:
                del table[function]

    def __getitem__(self, function: Any) -> int:
        return self._table().get(function, 0)

    def __setitem__(self, function: Any, count: int) -> None:
        self._table()[function] = count
        self.theirs.setdefault(function, 0)

    def __delitem__(self, function: Any) -> None:
        del self._table()[function]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())

    def clear(self) -> None:
        """Forget all counts, also those of captures."""
        self._of_captures.clear()
        self.theirs.clear()
