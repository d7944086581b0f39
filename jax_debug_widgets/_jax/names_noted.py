"""The names that were noted of variables while programs were traced, and how they are found again: see `bindings.py`."""

from __future__ import annotations

import threading
from collections import ChainMap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from jax._src import core

from jax_debug_widgets._jax.origins import (
    Ordinal,
    Origin,
    is_transposed,
    ordinals_of,
    origins_of_result,
    origins_of_uses,
    traceback_in,
)

Place = tuple[str, Hashable]
"""A file, and what there: the range that computes what is assigned, or see `place_of_arguments` and `place_of_given`."""


def place_of_arguments(file: str, line: int) -> Place:
    """Where the arguments of the function are noted whose code begins at a line."""
    return file, line


def place_of_given(file: str, span: Hashable) -> Place:
    """Where that is noted which a call in this range is given."""
    return file, (span,)


Names = Mapping[Place, Sequence[str]]

_MOST = 2**16
"""So many variables are remembered: the newest."""


class _Book:
    """The names of variables, and of what has become of them in transformed programs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.places: set[Place] = set()
        """Where somebody has looked."""
        self._of_variables: dict[Any, dict[Place, list[str]]] = {}
        self._of_origins: dict[Origin, tuple[Any, list[dict[Place, list[str]]]]] = {}
        """Each with the traceback that must live as long; what a function gives has those of each place that calls it."""
        self._traced: dict[Any, None] = {}
        """What equations make that Python has made, as opposed to those that JAX makes of them."""

    def add(self, tracer: Any, place: Place, name: str) -> None:
        with self._lock:
            names = self._of_variables.get(tracer.val)
            if names is None:
                names = self._of_variables[tracer.val] = {}
                _forget(self._of_variables)
            known = names.setdefault(place, [])
            if name not in known:
                known.append(name)

    def add_program(self, jaxpr: Any) -> None:
        """A program has been traced: by where its results and inputs come from they are known again in what JAX makes of it."""
        with self._lock:
            ordinals = ordinals_of(jaxpr.eqns, map(is_transposed, jaxpr.eqns))
            for equation, ordinal in zip(jaxpr.eqns, ordinals, strict=True):
                for position, variable in enumerate(equation.outvars):
                    if names := self._of_variables.get(variable):
                        for origin in origins_of_result(equation, position, ordinal):
                            self._remember(equation, origin, names)
            own = {one: names for one in jaxpr.invars if (names := self._of_variables.get(one))}
            for equation, ordinal in zip(jaxpr.eqns, ordinals, strict=True) if own else ():
                for position, atom in enumerate(equation.invars) if ordinal is None else ():
                    if isinstance(atom, core.Var) and atom in own:
                        for origin in origins_of_uses(equation, position):
                            self._remember(equation, origin, own[atom])

    def add_traced(self, equation: Any) -> None:
        with self._lock:
            self._traced.update(dict.fromkeys(equation.outvars))
            _forget(self._traced)

    def _remember(self, equation: Any, origin: Origin, names: dict[Place, list[str]]) -> None:
        _, known = self._of_origins.setdefault(origin, (traceback_in(equation), []))
        if not any(one is names for one in known):
            known.append(names)
        _forget(self._of_origins)

    def is_traced(self, variable: Any) -> bool:
        with self._lock:
            return variable in self._traced

    def of_variable(self, variable: Any) -> Names | None:
        with self._lock:
            return self._of_variables.get(variable)

    def of_origin(self, origin: Origin) -> Names:
        with self._lock:
            _, known = self._of_origins.get(origin, (None, ()))
            return ChainMap(*known) if known else {}


def _forget(kept: dict[Any, Any]) -> None:
    while len(kept) > _MOST:
        del kept[next(iter(kept))]


book = _Book()


def is_noted(place: Place) -> bool:
    """Whether it is known to what something was assigned that is computed there."""
    return place in book.places


def are_as_traced(equations: Iterable[Any]) -> bool:
    """Whether Python has made these equations, and JAX has not transformed them since."""
    return all(book.is_traced(variable) for one in equations for variable in one.outvars)


def names_of_results(equation: Any, ordinal: Ordinal) -> list[tuple[Names, Names, Origin]]:
    """What the results of an equation are called, by place.

    Args:
      ordinal: see `ordinals_of`, in the program that it is in.

    Returns:
      for each its own names, those of what it has become of where it is of a transformed program, and the origin of that.
    """
    is_new = are_as_traced([equation])
    found: list[tuple[Names, Names, Origin]] = []
    for position, variable in enumerate(equation.outvars):
        origin = next(origins_of_result(equation, position, ordinal))
        before = {} if is_new else book.of_origin(origin)
        if not before and ordinal and not is_new and not ordinal[-1]:  # It may have been the only one.
            origin = next(origins_of_result(equation, position, None))
            before = book.of_origin(origin)
        found.append((book.of_variable(variable) or {}, before, origin))
    return found


def names_of_input(variable: Any, uses: Sequence[tuple[Any, int]]) -> Names:
    """The same of an input of a program; nothing where it is not what it was.

    Args:
      uses: the equations of the forward pass that take it, each with the number of the operand.
    """
    origins = (origin for equation, position in uses for origin in origins_of_uses(equation, position))
    before = next((names for origin in origins if (names := book.of_origin(origin))), {})
    return {**before, **(book.of_variable(variable) or {})}
