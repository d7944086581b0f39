"""Put functions of ours in the place of JAX's, and give them back: each of ours is called with JAX's own first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from jax_debug_widgets._jax import versions


class Replacements:
    """What is replaced while somebody uses it. Counted, so that captures may nest and overlap in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._undo: list[Callable[[], object]] = []

    def take(self, put_in: Callable[[], None]) -> None:
        """One more user; for the first one `put_in` makes the replacements."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                put_in()

    def give_back(self) -> None:
        """One user less; after the last one JAX has its own functions again."""
        with self._lock:
            self._users -= 1
            while not self._users and self._undo:
                self._undo.pop()()

    def attribute(self, owner: Any, name: str, ours: Callable[..., Any]) -> None:
        """`owner.name(...)` becomes `ours(theirs, ...)`."""
        theirs = getattr(owner, name)
        inherited = name not in vars(owner)
        self._undo.append(partial(delattr, owner, name) if inherited else partial(setattr, owner, name, theirs))
        setattr(owner, name, partial(ours, theirs))

    def item(self, table: dict[Any, Any], key: Any, ours: Callable[..., Any]) -> None:
        """`table[key](...)` becomes `ours(theirs, ...)`, if there is one."""
        if key in table:
            theirs = table[key]
            self._undo.append(partial(table.__setitem__, key, theirs))
            table[key] = partial(ours, theirs)

    def batcher(self, primitive: Any, ours: Callable[..., Any]) -> None:
        """The batching rule of `primitive` becomes `ours(theirs, operands, dims, **params)`."""
        self._undo.append(versions.replace_batcher(primitive, ours))
