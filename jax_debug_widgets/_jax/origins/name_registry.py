"""Keep the names of variables that were noted while programs were traced, and find them in the programs that JAX makes.

`bindings.py` and `cotangents.py` write the notes, `names_noted.py` reads them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from jax_debug_widgets._jax.compat.private import core, pe
from jax_debug_widgets._jax.origins.name_places import NamePlace
from jax_debug_widgets._jax.origins.origins import (
    Operation,
    Ordinal,
    Origin,
    is_transposed,
    operation_of,
    ordinals_of,
    origins_of_result,
    origins_of_uses,
)

Names = Mapping[NamePlace, Sequence[str]]


@dataclass(eq=False)
class VariableNote:
    """The names of a variable.

    Attributes:
      names: its names at each place.
      times: when it got its first name at each place, as `Book.time_of` counts; 0 if it got it when it was made.
      of: for the tangent of a value, the note of the value; else None.
    """

    names: dict[NamePlace, list[str]] = field(default_factory=dict[NamePlace, list[str]])
    times: dict[NamePlace, int] = field(default_factory=dict[NamePlace, int])
    of: VariableNote | None = None

    @property
    def value(self) -> VariableNote:
        """The note of the value: this note, or for a tangent the note of its value."""
        return self.of or self

    def add(self, place: NamePlace, name: str, time: int) -> None:
        known = self.names.setdefault(place, [])
        self.times.setdefault(place, time)
        if name not in known:
            known.append(name)


_MOST = 2**16
"""How many keys a table keeps; the oldest ones are dropped."""

K = TypeVar("K")
V = TypeVar("V")


class _Newest(dict[K, V]):
    """A dictionary that keeps the `_MOST` newest keys."""

    def put(self, key: K, value: V) -> V:
        self.pop(key, None)  # Makes a known key the newest.
        self[key] = value
        while len(self) > _MOST:
            del self[next(iter(self))]
        return value


class _Several(_Newest[K, list[V]]):
    """A `_Newest` with a list of different values for each key."""

    def add(self, key: K, value: V) -> None:
        known = self[key] if key in self else self.put(key, [])
        if value not in known:
            known.append(value)


Type = tuple[Any, int]
"""A dtype, and the number of axes."""


class Book:
    """The notes of variables, by the keys under which they are found in traced and in transformed programs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.places: set[NamePlace] = set()
        """The places at which names were noted, whether or not a tracer was found there."""
        self._types = _Several[tuple[NamePlace, str], Type]()
        """The types of the values with a name at a place."""
        self._names_at = _Several[NamePlace, str]()
        self._of_variables = _Newest[Any, VariableNote]()
        self._of_tangents = _Newest[Any, VariableNote]()
        self._of_derived = _Newest[Any, VariableNote]()
        """By variable, for results of a differentiated operation: equations of its rule have tracebacks of their own."""
        self._of_operations = _Newest[tuple[Operation, int], tuple[Sequence[VariableNote | None], str]]()
        """By operation and number of results: the notes of the results, and the primitive if the equation is the only one."""
        self._named = _Newest[Operation, None]()
        """The operations with a result that has a name."""
        self._of_operands = _Newest[tuple[Operation, int, int], VariableNote]()
        """By operation, position and number of operands: operands that are inputs of the program."""
        self._of_given = _Several[Any, VariableNote]()
        """By variable: such inputs in the program that JAX has differentiated."""
        self._of_tangents_given = _Several[Any, VariableNote]()
        """By variable: the tangents pushed beside these inputs."""
        self._of_origins = _Several[Origin, VariableNote]()
        """By the origin of a result or operand; a function's result has the notes of each caller."""
        self._made_of = _Newest[Operation, Operation]()
        """Maps operations that JAX has made from one operation to the first of them."""
        self._traced = _Newest[Any, None]()
        """The results of equations that Python has made, rather than a transformation."""
        self._times = _Newest[Operation, int]()
        """The number of each operation, in the order in which they were made."""
        self._time = 0

    def add(self, tracer: Any, tangent: Any, place: NamePlace, name: str, *, is_last: bool) -> None:
        """Note a name of a tracer's variable at a place, and the same name for its tangent, if there is one.

        Args:
          tracer: the tracer of the value.
          tangent: the tracer of its tangent, or None.
          place: the place in the source where the value has the name.
          name: the name.
          is_last: see `Expression.is_last` in `tracing/bindings.py`.
        """
        with self._lock:
            time = self._time if is_last else 0
            noted = self._of_variables.get(tracer.val) or self._of_variables.put(tracer.val, VariableNote())
            noted.add(place, name, time)
            self._types.add((place, name), type_of(tracer.aval))
            self._names_at.add(place, name)
            if tangent is not None:
                known = self._of_tangents.get(tangent.val) or self._of_tangents.put(tangent.val, VariableNote(of=noted))
                known.add(place, name, time)

    def add_tangent(self, tangent: Any, noted: VariableNote) -> None:
        with self._lock:
            self._of_tangents.put(tangent.val, noted)

    def add_derived(self, primal: Any, noted: VariableNote) -> None:
        """Note the variable that the result of an operation becomes when JAX differentiates the operation."""
        with self._lock:
            self._of_derived.put(primal.val, noted)

    def add_given(self, tracer: Any, tangent: Any, noted: VariableNote) -> None:
        """Note an input of a program that JAX differentiates, and the tangent pushed beside it.

        The program may also be one that is inlined in the differentiated one.
        """
        with self._lock:
            for kept, one in ((self._of_given, tracer), (self._of_tangents_given, tangent)):
                if isinstance(one, pe.DynamicJaxprTracer):
                    kept.add(one.val, noted)

    def add_made_of_one(self, operations: Sequence[Operation]) -> None:
        """Note that JAX has made these operations from one operation."""
        with self._lock:
            for one in operations[1:]:
                self._made_of.put(one, operations[0])

    def made_of(self, operation: Operation) -> Operation:
        """Return the key of an operation, which is the same for all operations that JAX has made from one."""
        with self._lock:
            return self._made_of.get(operation, operation)

    def add_program(self, jaxpr: Any) -> None:
        """Add a traced program.

        The origins of its results and inputs are noted, by which they are found in transformed programs.
        """
        with self._lock:
            own = {one: noted for one in jaxpr.invars if (noted := self._of_variables.get(one))}
            made = (one for equation in jaxpr.eqns for one in equation.outvars)
            if not own and not any(one in self._of_variables or one in self._of_derived for one in made):
                return
            ordinals = ordinals_of(jaxpr.eqns, map(is_transposed, jaxpr.eqns))
            for equation, ordinal in zip(jaxpr.eqns, ordinals, strict=True):
                self._add_results(equation, ordinal)
                if own and ordinal is None:
                    self._add_operands(equation, own)

    def _add_results(self, equation: Any, ordinal: Ordinal) -> None:
        results = [self._of_variables.get(variable) for variable in equation.outvars]
        if any(results):
            self._named.put(operation_of(equation), None)
            only = equation.primitive.name if ordinal is None else ""
            self._of_operations.put((operation_of(equation), len(results)), (results, only))
        for position in range(len(results)):
            noted = results[position] or self._derived(equation, position)
            if noted is not None:
                for origin in origins_of_result(equation, position, ordinal):
                    self._of_origins.add(origin, noted)

    def _add_operands(self, equation: Any, own: Mapping[Any, VariableNote]) -> None:
        for position, atom in enumerate(equation.invars):
            if isinstance(atom, core.Var) and atom in own:
                self._of_operands.put((operation_of(equation), position, len(equation.invars)), own[atom])
                for origin in origins_of_uses(equation, position, is_traced=True):
                    self._of_origins.add(origin, own[atom])

    def _derived(self, equation: Any, position: int) -> VariableNote | None:
        """Return the note of a result that a derivative's rule has computed.

        Return None if there is none, or if the origin has the same note.
        """
        noted = self._of_derived.get(equation.outvars[position])
        known = self._of_origins.get(next(origins_of_result(equation, position, None)), ())
        return None if noted in known else noted

    def add_equation(self, equation: Any, *, is_traced: bool) -> None:
        """Add an equation that Python (`is_traced`) or a transformation has made; number its operation."""
        with self._lock:
            operation = operation_of(equation)
            if is_traced or operation not in self._times:
                self._time += 1
                self._times.put(operation, self._time)
            if is_traced:
                for variable in equation.outvars:
                    self._traced.put(variable, None)

    def time_of(self, equation: Any) -> float:
        """Return when Python made an equation, or its original, as the number of its operation; infinity if unknown."""
        with self._lock:
            return self._times.get(operation_of(equation), math.inf)

    def is_traced(self, variable: Any) -> bool:
        with self._lock:
            return variable in self._traced

    def is_known_otherwise(self, equation: Any) -> bool:
        """Return whether the equation's operation had a result with a name, and another number of results."""
        operation = operation_of(equation)
        with self._lock:
            return operation in self._named and (operation, len(equation.outvars)) not in self._of_operations

    def names_at(self, place: NamePlace) -> Sequence[str]:
        with self._lock:
            return tuple(self._names_at.get(place, ()))

    def types_of(self, place: NamePlace, name: str) -> Sequence[Type]:
        with self._lock:
            return tuple(self._types.get((place, name), ()))

    def of_variable(self, variable: Any) -> VariableNote | None:
        with self._lock:
            return self._of_variables.get(variable)

    def of_derived(self, variable: Any) -> VariableNote | None:
        with self._lock:
            return self._of_derived.get(variable)

    def of_tangent(self, variable: Any) -> VariableNote | None:
        with self._lock:
            return self._of_tangents.get(variable)

    def of_operation(self, operation: Operation, position: int, count: int, primitive: str = "") -> VariableNote | None:
        """Return the note for result `position` of an operation with `count` results.

        If `primitive` is given, return it only if that primitive has made the result.
        """
        with self._lock:
            results, only = self._of_operations.get((operation, count), ((), ""))
            return results[position] if results and primitive in ("", only) else None

    def of_operand(self, operation: Operation, position: int, count: int) -> VariableNote | None:
        """Return the note for operand `position` of an operation with `count` operands, if it is a program's input."""
        with self._lock:
            return self._of_operands.get((operation, position, count))

    def of_given(self, variable: Any) -> Sequence[VariableNote]:
        """Return the notes of an input of a program that JAX has differentiated."""
        with self._lock:
            return tuple(self._of_given.get(variable, ()))

    def of_input_tangent(self, variable: Any) -> Sequence[VariableNote]:
        """Return the notes of a tangent that is pushed beside an input of a program."""
        with self._lock:
            direct = self._of_tangents.get(variable)
            return (*((direct,) if direct else ()), *self._of_tangents_given.get(variable, ()))

    def of_origin(self, origin: Origin) -> Sequence[VariableNote]:
        with self._lock:
            return tuple(self._of_origins.get(origin, ()))


def type_of(aval: Any) -> Type:
    """Return dtype and number of axes of an abstract value; (None, 0) if it has neither, such as a token."""
    return getattr(aval, "dtype", None), len(getattr(aval, "shape", ()))


book = Book()
