"""Enter and leave the contexts of captures, which may end in another order than they began, as in two asyncio tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

_NOT_INNERMOST = (
    "Another capture began inside this one and is still open (perhaps in another asyncio task). Events since then belong to "
    "that capture, not to this one: JAX distinguishes threads, but not tasks."
)

_OTHER_THREAD = (
    "This capture was ended in another thread than the one it began in. Programs that the first thread compiles are captured "
    "for this run until that thread ends. End a capture in the thread where it began."
)

MakeContext = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class _Entered:
    owner: object
    make: MakeContext
    context: AbstractContextManager[None]


class Contexts:
    """Holds the contexts that the captures of each thread entered, innermost last. A thread leaves only its own contexts."""

    def __init__(self) -> None:
        self._local = threading.local()

    def enter(self, owner: object, make: MakeContext) -> None:
        """Enter the context that `make` makes. `make` is called again if an outer context is left first."""
        context = make()
        context.__enter__()
        self._of_this_thread().append(_Entered(owner, make, context))

    def leave(self, owner: object) -> str:
        """Leave the context of `owner`; contexts entered since stay. Return a note for the user, empty in the usual case."""
        entered = self._of_this_thread()
        place = next((number for number, one in enumerate(entered) if one.owner is owner), None)
        if place is None:
            return _OTHER_THREAD
        _, *since = left = entered[place:]
        del entered[place:]
        for one in reversed(left):
            one.context.__exit__(None, None, None)
        for one in since:
            self.enter(one.owner, one.make)
        return _NOT_INNERMOST if since else ""

    def _of_this_thread(self) -> list[_Entered]:
        return self._local.__dict__.setdefault("entered", [])
