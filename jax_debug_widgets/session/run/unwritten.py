"""Queue the events of a run until they are written to its folder."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.store import SegmentSlice

_AT_ONCE = 4
"""The most segments in one batch. They hold as many events as a row group, so that memory is reused."""


class Unwritten:
    """Holds pieces of a store, the oldest first. One thread may add pieces while another takes them."""

    def __init__(self) -> None:
        self._pieces: deque[SegmentSlice] = deque()

    @property
    def nbytes(self) -> int:
        """The bytes of all pieces."""
        return sum(piece.nbytes for piece in self._pieces.copy())

    def add(self, piece: SegmentSlice) -> None:
        """Add new events. The store calls it and holds its lock."""
        self._pieces.append(piece)

    def clear(self) -> None:
        """Forget all pieces."""
        self._pieces.clear()

    def take(self, most: int) -> list[SegmentSlice]:
        """Take the pieces of the next batch: at most `most` bytes, as one file holds, because files are dropped as a whole."""
        taken: list[SegmentSlice] = []
        nbytes = 0
        while self._pieces and len(taken) < _AT_ONCE and nbytes < most:
            piece = self._pieces.popleft()
            stop = piece.segment.position_to_free(piece.first, 0, most - nbytes) if piece.nbytes > most else piece.stop
            if stop < piece.stop:
                self._pieces.appendleft(piece._replace(first=stop))
            taken.append(piece._replace(stop=min(stop, piece.stop)))
            nbytes += piece.nbytes
        return taken
