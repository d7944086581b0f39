"""Keep what the user's host functions have returned until somebody takes it in."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax_debug_widgets._jax.compat.arrays import unchanging
from jax_debug_widgets.events.inbox import COUNTED

_UNBOUNDED = 1 << 62


class Returned:
    """The result of one call, as it was then."""

    __slots__ = ("_arrays", "nbytes")

    def __init__(self, arrays: tuple[np.ndarray, ...] | None, nbytes: int) -> None:
        self._arrays, self.nbytes = arrays, nbytes

    def take(self) -> tuple[np.ndarray, ...] | None:
        """Take it out, flat; None where it was too large to keep, has been let go of or taken."""
        arrays, self._arrays = self._arrays, None
        return arrays

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take."""
        return self._arrays is None


class Results:
    """Keeps results as they are when they are returned: many a function fills one buffer again and again. Without a lock.

    Attributes:
      limit: bytes of results, of those of `COUNTED` bytes or more, that may wait here: then the oldest is let go of. What is
        larger than half of that is not kept.
    """

    def __init__(self) -> None:
        self.limit = _UNBOUNDED
        self._large: deque[Returned] = deque()
        self._held = 0
        """Bytes in `_large`. Two threads may add to it at once and one addition be lost; `settle` sets it right."""

    def keep(self, result: Sequence[Any]) -> Returned:
        """Before the function can be called again: what it has returned now."""
        arrays = tuple(map(np.asarray, result))
        nbytes = sum(array.nbytes for array in arrays)
        if nbytes > self.limit // 2:
            return Returned(None, nbytes)
        kept = Returned(tuple(map(unchanging, arrays)), nbytes)
        if nbytes >= COUNTED:
            self._large.append(kept)
            self._held += nbytes
            while self._held > self.limit and len(self._large) > 1:
                try:
                    oldest = self._large.popleft()
                except IndexError:  # Another thread has made room.
                    break
                oldest.take()
                self._held -= oldest.nbytes
        return kept

    def settle(self) -> None:
        """Some of them have been taken."""
        while self._large and self._large[0].is_empty:
            self._large.popleft()
        self._held = sum(one.nbytes for one in self._large.copy() if not one.is_empty)
