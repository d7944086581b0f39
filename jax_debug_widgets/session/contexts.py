"""The contexts of captures, which may end in another order than they began, as those of two tasks of an event loop do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

MakeContext = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class _Entered:
    owner: object
    make: MakeContext
    context: AbstractContextManager[None]


class Contexts:
    """What the captures of each thread have entered, innermost last. Each is left in the thread that has entered it."""

    def __init__(self) -> None:
        self._local = threading.local()

    def enter(self, owner: object, make: MakeContext) -> None:
        """Enter a context that `make` makes; maybe again later, where another around it is left first."""
        context = make()
        context.__enter__()
        self._of_this_thread().append(_Entered(owner, make, context))

    def leave(self, owner: object) -> bool:
        """Leave what `owner` has entered; what was entered since stays. Whether there was nothing of that."""
        entered = self._of_this_thread()
        place = next(number for number, one in enumerate(entered) if one.owner is owner)
        _, *since = left = entered[place:]
        del entered[place:]
        for one in reversed(left):
            one.context.__exit__(None, None, None)
        for one in since:
            self.enter(one.owner, one.make)
        return not since

    def _of_this_thread(self) -> list[_Entered]:
        return self._local.__dict__.setdefault("entered", [])
