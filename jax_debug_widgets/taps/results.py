"""Keep the results of the user's host functions until the session takes them into the run."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax_debug_widgets._jax.compat.arrays import unchanging
from jax_debug_widgets.events.inbox import COUNTED

_UNBOUNDED = 1 << 62


class Returned:
    """Holds the result of one call as it was when the function returned."""

    __slots__ = ("_arrays", "nbytes")

    def __init__(self, arrays: tuple[np.ndarray, ...] | None, nbytes: int) -> None:
        self._arrays, self.nbytes = arrays, nbytes

    def take(self) -> tuple[np.ndarray, ...] | None:
        """Take out the flat arrays; None if they were too large to keep, were dropped, or were taken before."""
        arrays, self._arrays = self._arrays, None
        return arrays

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take."""
        return self._arrays is None


class Results:
    """Keeps the results of host functions as they are at the return. It uses no lock.

    A result that the function could write to again is copied, because some functions fill the same buffer in each call.

    Attributes:
      limit: bytes that may wait here; then the oldest results are dropped. Only results of `COUNTED` bytes or more count. A
        result larger than half of the limit is not kept.
    """

    def __init__(self) -> None:
        self.limit = _UNBOUNDED
        self._large: deque[Returned] = deque()
        self._held = 0
        """Bytes in `_large`. If two threads add at once, one addition may be lost; `settle` corrects the sum."""

    def keep(self, result: Sequence[Any]) -> Returned:
        """Keep a result. Called before the user's function can be called again."""
        if not result:
            return Returned((), 0)
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
        """Forget the results that were taken, and correct the sum of bytes."""
        while self._large and self._large[0].is_empty:
            self._large.popleft()
        self._held = sum(one.nbytes for one in self._large.copy() if not one.is_empty)
