"""Replace functions of JAX by ours, and restore them: each of ours gets the function of JAX as its first argument.

If one of ours fails, the function of JAX runs instead (`guard`).
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, update_wrapper
from types import ModuleType
from typing import Any

from jax_debug_widgets._jax.compat.guard import ReportFailure, guarded
from jax_debug_widgets._jax.compat.places import AttributePlace, FunctionPlace, ItemPlace, Layer, PropertyPlace
from jax_debug_widgets._jax.compat.private import batching, place_of


class Replacing(ABC):
    """Replaces functions of JAX while it has users. Users are counted, because captures may overlap.

    Attributes:
      failed: called with each failure of a function of ours.
    """

    def __init__(self) -> None:
        self.failed: ReportFailure = lambda _name, _error, _args: None
        self._lock = threading.Lock()
        self._users = 0
        self._replaced = Replacements(self._report_failure)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Install our functions inside; when the last user leaves, JAX's own are restored."""
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

    def _report_failure(self, name: str, error: Exception, args: Sequence[Any]) -> None:
        self.failed(name, error, args)

    @abstractmethod
    def _put_in(self, replace: Replacements) -> None:
        """Replace functions of JAX by the methods of `replace`."""


class InPlace(partial[Any]):
    """A function of ours that replaces a function of JAX. It pickles as the replaced one."""

    theirs: Any = None
    """The function of JAX that it replaces."""
    is_global = False
    """Whether it replaces a function of a module, which pickle finds by its name."""

    def __reduce__(self) -> Any:
        return vars(self)["__qualname__"] if self.is_global else (partial, (self.theirs,))


class Replacements:
    """Records how to undo the replacements of JAX's functions; calls `report` if a function of ours fails."""

    def __init__(self, report: ReportFailure = lambda _name, _error, _args: None) -> None:
        self.report = report
        self._undo: list[Callable[[], object]] = []

    def undo(self) -> None:
        """Remove our functions, the last one first; what others have replaced since stays in place."""
        while self._undo:
            self._undo.pop()()

    def attribute(
        self,
        owner: Any,
        name: str,
        ours: Callable[..., Any],
        *,
        wrap: Callable[..., Any] | None = None,
        begins: bool = False,
        retries: bool = False,
    ) -> None:
        """Make `owner.name(...)` call `ours(theirs, ...)`, see `guarded`; `wrap` wraps the function."""
        owner, name = place_of(owner, name)
        if wrap is None:
            wrap = _as_it_is if isinstance(owner, type) else InPlace

        def make(theirs: Any) -> Any:
            made = wrap(guarded(ours, theirs, self.report, begins=begins, retries=retries))
            if isinstance(made, InPlace):
                update_wrapper(made, theirs, updated=())
                made.theirs, made.is_global = theirs, isinstance(owner, ModuleType)
            return made

        self._replace(AttributePlace(owner, name), make)

    def item(
        self,
        table: Any,
        key: Any,
        ours: Callable[..., Any],
        *,
        begins: bool = False,
        retries: bool = False,
    ) -> None:
        """Make `table[key](...)` call `ours(theirs, ...)`, if the table has the key, see `guarded`."""
        if key in table:
            make = partial(guarded, ours, report=self.report, begins=begins, retries=retries)
            self._replace(ItemPlace(table, key), make)

    def batcher(self, primitive: Any, ours: Callable[..., Any], *, begins: bool = False) -> None:
        """Make the batching rule of `primitive` call `ours(theirs, operands, dims, **params)`, see `guarded`."""
        fancy = batching.fancy_primitive_batchers
        table = fancy if primitive in fancy else batching.primitive_batchers
        self.item(table, primitive, partial(_batched, ours), begins=begins)

    def computed(self, owner: type, name: str, ours: Callable[..., Any]) -> None:
        """Make the property `one.name` call `ours(theirs, one)`, see `guarded`."""
        self._replace(PropertyPlace(owner, name), lambda theirs: property(guarded(ours, theirs.fget, self.report)))

    def around(self, ours: Callable[..., Any]) -> Callable[..., Any]:
        """Return a decorator that calls `ours(theirs, ...)`, see `guarded`; JAX applies it to a function that it makes."""

        def call(theirs: Callable[..., Any], /, *args: Any, **params: Any) -> Any:
            return guarded(ours, theirs, self.report)(*args, **params)

        return call

    def undone_by(self, undo: Callable[[], object]) -> None:
        """Call `undo` too when the replacements are undone."""
        self._undo.append(undo)

    def _replace(self, place: FunctionPlace, make: Callable[[Any], Any]) -> None:
        layer = Layer(place, make)
        self._undo.append(layer.take_out)
        layer.put_on_top()


def _as_it_is(hook: Callable[..., Any]) -> Callable[..., Any]:
    return hook


def _batched(ours: Callable[..., Any], theirs: Callable[..., Any], *args: Any, **params: Any) -> Any:
    *axis, operands, dims = args  # Some rules also get the axis.
    return ours(partial(theirs, *axis), operands, dims, **params)


class CachedFunction(InPlace):
    """Replaces a cached function of JAX, and passes on its methods, such as `cache_clear`."""

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["theirs"], name)
