"""Put functions of ours in the place of JAX's, and give them back: each of ours is called with JAX's own first."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, update_wrapper
from types import ModuleType
from typing import Any

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import itself


class Replacing(ABC):
    """Functions of ours that are in place while somebody uses them. Counted: captures may nest and overlap in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._replaced = Replacements()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Ours are in place inside; after the last user has left, JAX has its own functions again."""
        try:
            with self._lock:
                self._users += 1
                if self._users == 1:
                    self._put_in(self._replaced)
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._replaced.undo()

    @abstractmethod
    def _put_in(self, replace: Replacements) -> None:
        """Put each of ours in its place."""


class InPlace(partial[Any]):
    """One of ours in the place of a function of JAX's: to who pickles a function that calls it, it is that one."""

    is_global = False
    """Whether it is in the place of a module's function, which is found there by its name."""

    def __reduce__(self) -> Any:
        return vars(self)["__qualname__"] if self.is_global else (partial, self.args)


class Replacements:
    """What has been replaced, and how it is undone."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def undo(self) -> None:
        """Put back what was there, the last replaced first."""
        while self._undo:
            self._undo.pop()()

    def attribute(
        self,
        owner: Any,
        name: str,
        ours: Callable[..., Any],
        *,
        wrap: Callable[[Callable[..., Any], Any], Any] = InPlace,
    ) -> None:
        """`owner.name(...)` becomes `ours(theirs, ...)`, as `wrap(ours, theirs)` makes it."""
        owner = itself(owner)
        theirs = getattr(owner, name)
        inherited = name not in vars(owner)
        self._undo.append(partial(delattr, owner, name) if inherited else partial(setattr, owner, name, theirs))
        made = wrap(ours, theirs)
        if isinstance(made, InPlace):
            update_wrapper(made, theirs, updated=())
            made.is_global = isinstance(owner, ModuleType)
        setattr(owner, name, made)

    def item(self, table: dict[Any, Any], key: Any, ours: Callable[..., Any]) -> None:
        """`table[key](...)` becomes `ours(theirs, ...)`, if there is one."""
        if key in table:
            theirs = table[key]
            self._undo.append(partial(table.__setitem__, key, theirs))
            table[key] = partial(ours, theirs)

    def batcher(self, primitive: Any, ours: Callable[..., Any]) -> None:
        """The batching rule of `primitive` becomes `ours(theirs, operands, dims, **params)`."""
        self._undo.append(versions.replace_batcher(primitive, ours))

    def undone_by(self, undo: Callable[[], object]) -> None:
        """Undo what was put in some other way."""
        self._undo.append(undo)


class CachedFunction(InPlace):
    """The same of a cached function of JAX's, which has methods besides."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.args[0], name)


def as_method(ours: Callable[..., Any], theirs: Any) -> Any:
    """How a method is wrapped: called with its object after JAX's own."""

    def method(trace: Any, *args: Any, **options: Any) -> Any:
        return ours(theirs, trace, *args, **options)

    return method
