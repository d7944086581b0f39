"""Check at little cost that the values that the user's functions name have not changed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import jax.core

from jax_debug_widgets._jax.passes.program_difference import UNKNOWN
from jax_debug_widgets.checks.purity.prints import arrays_of_library, print_of
from jax_debug_widgets.checks.purity.reached import Reached, is_state, named


class Marks:
    """Holds a mark for each value that functions name. Equal values have equal marks. No function or value is kept alive."""

    def __init__(self) -> None:
        self._functions: list[tuple[Callable[[], Any], dict[str, Callable[[], Any]]]] | None = None
        self._latest: list[Any] | None = None

    def take(self, functions: Reached) -> None:
        """Remember the marks of the values that these functions name now."""
        try:
            self._functions = [
                (weakref.ref(function), {name: weakref.ref(value) for name, value in given.items()})
                for function, given in functions.items()
            ]
        except TypeError:  # A known argument that does not support weak references.
            self._functions = None
        self._latest = self._now()

    def are_the_same(self) -> bool:
        """Return whether all values are known to be the same as at the last `take`."""
        return self._latest is not None and self._now() == self._latest

    def _now(self) -> list[Any] | None:
        if self._functions is None:
            return None
        found: list[Any] = []
        for reference, references in self._functions:
            function, given = reference(), {name: one() for name, one in references.items()}
            if function is None or None in given.values():
                return None
            found.append(function.__code__)
            found += [_mark(value) for _, value, _ in named(function, given)]
        return found


def _mark(value: Any) -> Hashable:
    kind = type(value)
    if kind in _SIMPLE:
        return kind, repr(value)
    if kind is FunctionType:
        return id(value), value.__code__
    if kind is MethodType:
        return id(value.__self__), id(value.__func__)
    is_fixed = value is UNKNOWN or isinstance(value, ModuleType | type | BuiltinFunctionType)
    if is_fixed or (isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)):
        return kind, id(value)
    if not is_state(value):
        return kind, id(value)
    return arrays_of_library(value) or print_of(value)


_SIMPLE = frozenset({bool, int, float, complex, str, bytes, type(None)})
