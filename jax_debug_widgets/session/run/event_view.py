"""Give the user access to the events of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from jax_debug_widgets.events import Event
from jax_debug_widgets.events.amounts import plural

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.ports import Values


class EventView(Sequence[Event]):
    """A sequence of the kept events of a run, in arrival order. It grows while the run goes on."""

    def __init__(self, run: Values) -> None:
        self._run = run

    def __len__(self) -> int:
        self._run.collect()
        return len(self._run.store) - self._run.store.oldest

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        kept = range(len(self))
        oldest = self._run.store.oldest
        if isinstance(index, slice):
            return [self._run.store.event(oldest + i) for i in kept[index]]
        return self._run.store.event(oldest + kept[index])

    def __repr__(self) -> str:
        dropped = self._run.store.dropped
        return f"<{plural(len(self), 'event')}{f', {dropped} older ones dropped' if dropped else ''}>"
