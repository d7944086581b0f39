"""The names that were noted of variables while programs were traced, and how they are found again: see `bindings.py`."""

from __future__ import annotations

import math
import threading
from collections import ChainMap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jax._src import core
from jax._src.interpreters import partial_eval as pe

from jax_debug_widgets._jax.inlining import inlined_from
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
"""A file, and what there: the range that computes what is assigned, or see `place_of_arguments`."""


def place_of_arguments(file: str, line: int) -> Place:
    """Where the arguments of the function are noted whose code begins at a line."""
    return file, line


def is_of_arguments(place: Place) -> bool:
    """Whether arguments are noted there, as opposed to what a statement assigns or returns."""
    return isinstance(place[1], int)


Names = Mapping[Place, Sequence[str]]

_MOST = 2**16
"""So many variables are remembered: the newest."""


@dataclass(eq=False)
class Noted:
    """What was noted of a variable.

    Attributes:
      names: by place.
      times: when it had its first there, as `_Book.time_of` counts; 0 where that was as soon as it was made.
      of: of the tangent of a value what was noted of that.
    """

    names: dict[Place, list[str]] = field(default_factory=dict[Place, list[str]])
    times: dict[Place, int] = field(default_factory=dict[Place, int])
    of: Noted | None = None

    @property
    def value(self) -> Noted:
        """What was noted of the value that it is, or of whose tangent it is."""
        return self.of or self

    def add(self, place: Place, name: str, time: int) -> None:
        known = self.names.setdefault(place, [])
        self.times.setdefault(place, time)
        if name not in known:
            known.append(name)


class _Book:
    """The names of variables, and of what has become of them in transformed programs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.places: set[Place] = set()
        """Where somebody has looked."""
        self._types: dict[tuple[Place, str], set[tuple[Any, int]]] = {}
        """Of what has a name there, dtypes and numbers of axes."""
        self._of_variables: dict[Any, Noted] = {}
        self._of_tangents: dict[Any, Noted] = {}
        self._of_derived: dict[Any, Noted] = {}
        """Of what operations have become that JAX has differentiated: what their rules compute has tracebacks of its own."""
        self._of_operations: dict[tuple[int, int], tuple[Any, Sequence[Noted | None], str]] = {}
        """Of the results of an operation, by its traceback and how many there are, with that, which must live as long, and its
        primitive, if it is the only one of that there."""
        self._of_operands: dict[tuple[int, int, int], tuple[Any, Noted]] = {}
        """Of what an operation takes of its program's inputs, by its traceback, where it takes that and how many it takes."""
        self._of_given: dict[Any, list[Noted]] = {}
        """Of what JAX makes of such inputs when it differentiates the program."""
        self._of_tangents_given: dict[Any, list[Noted]] = {}
        """Of the tangents that it pushes beside these."""
        self._operations: dict[int, tuple[Any, Any]] = {}
        """By its traceback, with that, the first of those that were made of the same operation."""
        self._of_origins: dict[Origin, tuple[Any, list[Noted]]] = {}
        """By where results and operands are from, with a traceback, as above; of what a function gives those of each caller."""
        self._traced: dict[Any, None] = {}
        """What equations make that Python has made, as opposed to those that JAX makes of them."""
        self._times: dict[int, tuple[Any, int]] = {}
        """The how manieth operation it was, by its traceback, with that."""
        self._time = 0

    def add(self, tracer: Any, tangent: Any, place: Place, name: str, *, is_last: bool) -> None:
        """A name of what a tracer stands for, whose tangent, if it has one here, is known by it, too.

        Args:
          is_last: whether it is noted before anything else that its line assigns is made.
        """
        with self._lock:
            time = self._time if is_last else 0
            noted = _entry(self._of_variables, tracer.val, None)
            noted.add(place, name, time)
            self._types.setdefault((place, name), set()).add(_type_of(tracer.aval))
            _forget(self._types)
            if tangent is not None:
                _entry(self._of_tangents, tangent.val, noted).add(place, name, time)

    def add_tangent(self, tangent: Any, noted: Noted) -> None:
        with self._lock:
            self._of_tangents[tangent.val] = noted
            _forget(self._of_tangents)

    def add_derived(self, primal: Any, noted: Noted) -> None:
        """What the result of an operation has become where JAX differentiates it."""
        with self._lock:
            self._of_derived[primal.val] = noted
            _forget(self._of_derived)

    def add_given(self, tracer: Any, tangent: Any, noted: Noted) -> None:
        """What a program is given that JAX differentiates, or a program put into that one, and what is pushed beside that."""
        with self._lock:
            for kept, one in ((self._of_given, tracer), (self._of_tangents_given, tangent)):
                if isinstance(one, pe.DynamicJaxprTracer):
                    known = kept.setdefault(one.val, [])
                    if noted not in known:
                        known.append(noted)
                    _forget(kept)

    def add_operation(self, tracebacks: Sequence[Any]) -> None:
        """What has these was made of one operation."""
        with self._lock:
            for one in tracebacks[1:]:
                self._operations[id(one)] = one, tracebacks[0]
                _forget(self._operations)

    def operation_of(self, traceback: Any) -> Hashable:
        """Equal for what JAX has made of one operation."""
        with self._lock:
            _, first = self._operations.get(id(traceback), (None, traceback))
            return id(first)

    def add_program(self, jaxpr: Any) -> None:
        """A program has been traced: by where its results and inputs come from they are known again in what JAX makes of it."""
        with self._lock:
            ordinals = ordinals_of(jaxpr.eqns, map(is_transposed, jaxpr.eqns))
            for equation, ordinal in zip(jaxpr.eqns, ordinals, strict=True):
                results = [self._of_variables.get(variable) for variable in equation.outvars]
                if any(results):
                    only = equation.primitive.name if ordinal is None else ""
                    self._of_operations[id(traceback_in(equation)), len(results)] = (
                        traceback_in(equation),
                        results,
                        only,
                    )
                    _forget(self._of_operations)
                for position in range(len(results)):
                    noted = results[position] or self._derived(equation, position)
                    if noted is not None:
                        for origin in origins_of_result(equation, position, ordinal):
                            self._remember(equation, origin, noted)
            own = {one: noted for one in jaxpr.invars if (noted := self._of_variables.get(one))}
            for equation, ordinal in zip(jaxpr.eqns, ordinals, strict=True) if own else ():
                for position, atom in enumerate(equation.invars) if ordinal is None else ():
                    if isinstance(atom, core.Var) and atom in own:
                        traceback = traceback_in(equation)
                        self._of_operands[id(traceback), position, len(equation.invars)] = traceback, own[atom]
                        _forget(self._of_operands)
                        for origin in origins_of_uses(equation, position, is_traced=True):
                            self._remember(equation, origin, own[atom])

    def _derived(self, equation: Any, position: int) -> Noted | None:
        """Of what a rule has computed, where that is not found by what it was."""
        noted = self._of_derived.get(equation.outvars[position])
        _, known = self._of_origins.get(next(origins_of_result(equation, position, None)), (None, ()))
        return None if noted in known else noted

    def add_equation(self, equation: Any, *, is_traced: bool) -> None:
        """An equation is made: by Python, or by JAX of another one, or for one that Python makes."""
        with self._lock:
            traceback = traceback_in(equation)
            if is_traced or id(traceback) not in self._times:
                self._time += 1
                self._times[id(traceback)] = traceback, self._time
                _forget(self._times)
            if is_traced:
                self._traced.update(dict.fromkeys(equation.outvars))
                _forget(self._traced)

    def time_of(self, equation: Any) -> float:
        """When Python has made an equation, or that of which JAX has made it; endless where that is not known."""
        with self._lock:
            return self._times.get(id(traceback_in(equation)), (None, math.inf))[1]

    def _remember(self, equation: Any, origin: Origin, noted: Noted) -> None:
        _, known = self._of_origins.setdefault(origin, (traceback_in(equation), []))
        if noted not in known:
            known.append(noted)
        _forget(self._of_origins)

    def is_traced(self, variable: Any) -> bool:
        with self._lock:
            return variable in self._traced

    def of_variable(self, variable: Any) -> Noted | None:
        with self._lock:
            return self._of_variables.get(variable)

    def types_of(self, place: Place, name: str) -> frozenset[tuple[Any, int]]:
        with self._lock:
            return frozenset(self._types.get((place, name), ()))

    def of_derived(self, variable: Any) -> Noted | None:
        with self._lock:
            return self._of_derived.get(variable)

    def of_tangent(self, variable: Any) -> Noted | None:
        with self._lock:
            return self._of_tangents.get(variable)

    def of_operation(self, traceback: Any, position: int, count: int, primitive: str = "") -> Noted | None:
        """Of one of so many results of an operation; with its primitive, of none that another one has made there."""
        with self._lock:
            _, results, only = self._of_operations.get((id(traceback), count), (None, (), ""))
            return results[position] if results and primitive in ("", only) else None

    def of_operand(self, traceback: Any, position: int, count: int) -> Noted | None:
        """Of one of so many operands of an operation, if it is an input of the program."""
        with self._lock:
            _, noted = self._of_operands.get((id(traceback), position, count), (None, None))
            return noted

    def of_given(self, variable: Any) -> Sequence[Noted]:
        """Of an input of a program that JAX has differentiated."""
        with self._lock:
            return tuple(self._of_given.get(variable, ()))

    def of_input_tangent(self, variable: Any) -> Sequence[Noted]:
        """Of what is pushed beside an input of a program."""
        with self._lock:
            direct = self._of_tangents.get(variable)
            return (*((direct,) if direct else ()), *self._of_tangents_given.get(variable, ()))

    def of_origin(self, origin: Origin) -> Sequence[Noted]:
        with self._lock:
            _, known = self._of_origins.get(origin, (None, ()))
            return tuple(known)


def _type_of(aval: Any) -> tuple[Any, int]:
    """Also of what is no array: a `Ref`, a token."""
    return getattr(aval, "dtype", None), len(getattr(aval, "shape", ()))


def _entry(kept: dict[Any, Noted], variable: Any, of: Noted | None) -> Noted:
    noted = kept.get(variable)
    if noted is None:
        noted = kept[variable] = Noted(of=of)
        _forget(kept)
    return noted


def _forget(kept: dict[Any, Any]) -> None:
    while len(kept) > _MOST:
        del kept[next(iter(kept))]


book = _Book()


def way_to(equation: Any) -> tuple[Hashable, ...]:
    """What runs an equation inside of its program: the calls that JAX has inlined."""
    return tuple(map(book.operation_of, inlined_from(equation)))


def is_noted(place: Place) -> bool:
    """Whether it is known to what something was assigned that is computed there."""
    return place in book.places


def may_be(variable: Any, place: Place, name: str) -> bool:
    """Whether a variable is of a type that was noted of that name there, if any was; batched it has more axes."""
    known, (own, count) = book.types_of(place, name), _type_of(variable.aval)
    return not known or any(dtype == own and axes <= count for dtype, axes in known)


def are_as_traced(equations: Iterable[Any]) -> bool:
    """Whether Python has made these equations, and JAX has not transformed them since."""
    return all(book.is_traced(variable) for one in equations for variable in one.outvars)


class Told(NamedTuple):
    """What a result of an equation is called, by place: its own names, and those of what it has become of.

    Attributes:
      names: its own.
      before: where it is of a transformed program.
      origin: of what it has become of.
      noted: all of this.
    """

    names: Names
    before: Names
    origin: Origin
    noted: Sequence[Noted]


def names_of_results(equation: Any, ordinal: Ordinal) -> list[Told]:
    """What the results of an equation are called, by place.

    Args:
      ordinal: see `ordinals_of`, in the program that it is in.
    """
    is_new = are_as_traced([equation])
    found: list[Told] = []
    for position, variable in enumerate(equation.outvars):
        origin = next(origins_of_result(equation, position, ordinal))
        before = () if is_new else book.of_origin(origin)
        alone: Sequence[Noted] = ()
        if ordinal and not is_new and not ordinal[-1]:  # It may have been the only one.
            first = next(origins_of_result(equation, position, None))
            alone = book.of_origin(first)
            origin, before = (origin, before) if before else (first, alone)
        if not before and (derived := book.of_derived(variable)) is not None:
            before = [derived]
        own = book.of_variable(variable)
        noted = (*((own,) if own else ()), *before, *alone)
        found.append(Told(own.names if own else {}, _together(before), origin, noted))
    return found


def noted_of_input(variable: Any, uses: Sequence[tuple[Any, int]]) -> Sequence[tuple[tuple[Hashable, ...], Noted]]:
    """What was noted of an input of a program, the latest last, with the way to it; nothing where it is not what it was.

    Args:
      uses: the equations of the forward pass that take it, each with the number of the operand.
    """
    origins = ((one, origin) for one, position in uses for origin in origins_of_uses(one, position, is_traced=False))
    taker, before = next(((one, noted) for one, origin in origins if (noted := book.of_origin(origin))), (None, ()))
    own = book.of_variable(variable)
    known = (*book.of_given(variable), *((own,) if own else ()))
    return (*((way_to(taker), one) for one in before), *(((), one) for one in known))


def _together(noted: Sequence[Noted]) -> Names:
    return ChainMap(*(one.names for one in noted)) if noted else {}
