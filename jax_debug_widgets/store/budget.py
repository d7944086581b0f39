"""How much of a run is kept."""

from __future__ import annotations

from dataclasses import dataclass

from jax_debug_widgets.events import COUNTED
from jax_debug_widgets.store.segment import OVERHEAD

_WAITING_SHARE = 8
"""One part in so many of the budget's bytes is for large values that wait to be taken in, once there have been some."""


@dataclass(frozen=True)
class Budget:
    """How much of a run is kept; the oldest goes first.

    Attributes:
      events: at most so many events.
      nbytes: at most so many bytes of values and bookkeeping. Once values of `COUNTED` bytes or more have come, an eighth of
        it, or what the largest of them takes, is for those that wait to be taken in.
    """

    events: int = 2_000_000
    nbytes: int = 256 << 20

    def __post_init__(self) -> None:
        if self.events < 1 or self.nbytes < 1:
            msg = f"a budget must be positive, got {self.events} events and {self.nbytes} bytes"
            raise ValueError(msg)

    def for_kept(self, largest: int) -> int:
        """Bytes for what is kept, where one firing holds up to `largest` bytes, so that the next has room beside it."""
        if largest < COUNTED:
            return self.nbytes
        return max(self.nbytes - max(self.nbytes // _WAITING_SHARE, largest), min(largest + OVERHEAD, self.nbytes))

    def for_waiting(self, kept: int) -> int:
        """Bytes that values may take up which have not been taken in, beside `kept` bytes."""
        return max(self.nbytes - kept, self.nbytes // _WAITING_SHARE)
