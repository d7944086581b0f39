"""Define how much of a run is kept."""

from __future__ import annotations

from dataclasses import dataclass

from jax_debug_widgets.events import COUNTED
from jax_debug_widgets.store.segment import OVERHEAD

_WAITING_SHARE = 8
"""Once large values have come, one part in eight of the budget's bytes is for large values that wait in the inbox."""


@dataclass(frozen=True)
class Budget:
    """The most events and bytes that a run keeps; the oldest events are dropped first.

    Attributes:
      events: the most events.
      nbytes: the most bytes of values and bookkeeping. Once values of `COUNTED` bytes or more have come, a part of these bytes
        is for values that wait in the inbox: an eighth, or the size of the largest value if that is more.
    """

    events: int = 2_000_000
    nbytes: int = 256 << 20

    def __post_init__(self) -> None:
        if self.events < 1 or self.nbytes < 1:
            msg = f"a budget must be positive, got {self.events} events and {self.nbytes} bytes"
            raise ValueError(msg)

    def for_kept(self, largest: int) -> int:
        """Return the bytes for kept events, if a firing has up to `largest` bytes, so that the next firing has room too."""
        if largest < COUNTED:
            return self.nbytes
        return max(self.nbytes - max(self.nbytes // _WAITING_SHARE, largest), min(largest + OVERHEAD, self.nbytes))

    def for_waiting(self, kept: int) -> int:
        """Return the bytes for values that wait in the inbox, besides `kept` bytes in the store."""
        return max(self.nbytes - kept, self.nbytes // _WAITING_SHARE)
