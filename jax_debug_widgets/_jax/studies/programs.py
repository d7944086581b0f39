"""Read a traced program into frozen data: see `jax_debug_widgets.graphs.program`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.compat.collecting import without_collecting
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Frame, frames_inside, joined
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.body_context import BodyContext, around_program
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.passes.program import outermost
from jax_debug_widgets._jax.passes.uses import VariableUses
from jax_debug_widgets._jax.studies.devices import device_of, devices_of
from jax_debug_widgets._jax.studies.expansions import LOOPS_INSIDE, digest_of, expansion_of, runs_functions
from jax_debug_widgets._jax.studies.flops import flops_of, nbytes_of
from jax_debug_widgets._jax.studies.repeats import given_to, is_vecmat, repeats_of, runs_itself
from jax_debug_widgets._jax.studies.texts import digest, name_of, params_of, text_of_array, without_addresses
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets._jax.studies.value_types import type_of
from jax_debug_widgets._jax.tracing.cotangents import is_put_in
from jax_debug_widgets.graphs.program import Amount, Body, Equation, Operand, Program, Role, Source


@dataclass(frozen=True)
class ProgramAnnotations:
    """Functions of other rooms that annotate a program while it is read.

    Attributes:
      names_of: returns the names that the variables of a body, with these uses, have in the source.
      role_of: returns the role of an equation with a name stack.
      is_library: whether a file is not the user's own; `name_file`: returns the short name of a file.
      sources: the sources of frames that were read before.
    """

    names_of: Callable[[core.Jaxpr, Place, BodyContext, VariableUses], Mapping[Any, str]]
    role_of: Callable[[str], Role]
    is_library: Callable[[str], bool]
    name_file: Callable[[str], str]
    sources: dict[Frame, Source] = field(default_factory=dict[Frame, Source])

    def source_of(self, frame: Frame) -> Source:
        """The place of a frame."""
        if frame not in self.sources:
            self.sources[frame] = _source_of(frame, self.name_file)
        return self.sources[frame]


@without_collecting()
def program_of(traced: Traced, reading: ProgramAnnotations) -> Program:
    """The program of a call. One that is a call of another (a jitted function) is gone straight into."""
    whole, place = traced.marked or traced.jaxpr, outermost(traced.name)
    names = whole.debug_info.arg_names or ()
    known = names if len(names) == len(whole.invars) else ()
    inputs = tuple(
        Operand("input", type_of(one), _plain(known[number] if known else None) or f"in_{number}", number)
        for number, one in enumerate(whole.invars)
    )
    known = dict(zip(whole.invars, inputs, strict=True)) | _arrays(whole, traced.consts)
    jaxpr, inner, call = whole, known, next(iter(whole.eqns), None)
    if call is not None and runs_one_call(whole):
        jaxpr, consts = opened(call.params["jaxpr"])
        inner = dict(zip(jaxpr.invars, (_read(one, known) for one in call.invars), strict=True))
        inner |= _arrays(jaxpr, consts)
    around = around_program(jaxpr, place, 1, is_jitted=True, own=None)
    equations = _Body(reading, jaxpr, place, around, inner, ()).read()
    if call is not None and jaxpr is not whole:
        known |= zip(call.outvars, (_read(one, inner) for one in jaxpr.outvars), strict=True)
    results = tuple(_read(one, known) for one in whole.outvars)
    body = Body("", inputs, (None,) * len(inputs), equations, results)
    return Program(traced.name, body, without_addresses(str(traced.result)), devices_of(traced.operands))


def body_of(jaxpr: core.Jaxpr, consts: Sequence[Any], name: str, reading: ProgramAnnotations) -> Body:
    """An outermost program as one body."""
    place = outermost(name)
    inputs = tuple(Operand("input", type_of(one), f"in_{at}", at) for at, one in enumerate(jaxpr.invars))
    known = dict(zip(jaxpr.invars, inputs, strict=True)) | _arrays(jaxpr, consts)
    around = around_program(jaxpr, place, 1, is_jitted=True, own=None)
    equations = _Body(reading, jaxpr, place, around, known, ()).read()
    return Body("", inputs, (None,) * len(inputs), equations, tuple(_read(one, known) for one in jaxpr.outvars))


class _Body:
    """Reads one body; keeps an operand for each variable read so far."""

    def __init__(
        self,
        reading: ProgramAnnotations,
        jaxpr: core.Jaxpr,
        place: Place,
        around: BodyContext,
        known: dict[Any, Operand],
        path: tuple[tuple[int, str], ...],
        *,
        runs: bool = True,
    ) -> None:
        self._reading, self._jaxpr, self._place, self._known, self._path = reading, jaxpr, place, known, path
        self._uses = VariableUses(jaxpr, place, around)
        self._names = dict(self._names_in(jaxpr, place, around))
        for one in reversed(jaxpr.eqns):
            if is_put_in(one) and one.outvars[0] in self._names and not isinstance(one.invars[0], core.Literal):
                self._names.setdefault(one.invars[0], self._names[one.outvars[0]])
        self._count: Counter[str] = Counter()
        self._scope_of = cached_by_identity(partial(_scope, reading, place))
        self._sources = cached_by_identity(partial(_sources, reading, place))
        lengths = [loop.length for loop in place.loops]
        self._times = None if None in lengths else math.prod(length or 0 for length in lengths)
        if not runs:
            self._times = 0

    def _names_in(self, jaxpr: core.Jaxpr, place: Place, around: BodyContext) -> Mapping[Any, str]:
        try:
            return self._reading.names_of(jaxpr, place, around, self._uses)
        except Exception:  # noqa: BLE001 - whatever goes wrong with the names, the program can be read.
            return {}

    def _around(self, at: int, equation: core.JaxprEqn, key: str) -> BodyContext:
        try:
            return self._uses.around(at, equation, key)
        except Exception:  # noqa: BLE001 - it serves the names, and may not know the programs of this primitive.
            return BodyContext(equation=equation)

    def read(self) -> tuple[Equation, ...]:
        """The equations of the body, in order."""
        for variable, name in self._names.items():
            if (operand := self._known.get(variable)) and operand.kind == "input":
                self._known[variable] = Operand("input", operand.type, name, operand.number)
        equations: list[Equation] = []
        instead: dict[Any, Any] = {}
        for at, one in enumerate(self._jaxpr.eqns):
            if instead:
                taken = [atom if isinstance(atom, core.Literal) else instead.get(atom, atom) for atom in one.invars]
                one = one.replace(invars=taken)  # noqa: PLW2901 - the same equation.
            if is_put_in(one):  # Ours: see `_jax/tracing/cotangents.py`.
                instead[one.outvars[0]] = one.invars[0]
                self._known[one.outvars[0]] = _read(one.invars[0], self._known)
            else:
                equations.append(self._equation(len(equations), at, one))
        return tuple(equations)

    def _equation(self, number: int, at: int, equation: core.JaxprEqn) -> Equation:
        operands = tuple(_read(atom, self._known) for atom in equation.invars)
        types = tuple(map(type_of, equation.outvars))
        names = tuple(self._name(equation, one) for one in equation.outvars)
        for position, (variable, kind, name) in enumerate(zip(equation.outvars, types, names, strict=True)):
            self._known[variable] = Operand("result", kind, name, number, position)
        stack, phase = self._scope_of(equation.source_info.name_stack)
        bodies = tuple(self._inside(number, at, equation, operands))
        flops, params = Amount(0 if bodies else flops_of(equation)), params_of(equation)
        if (expanded := self._expanded(equation)) is not None:
            flops = expanded.amount("flops")
            params |= {"runs": digest_of(expanded)} if runs_functions(equation) else {}
        source, *callers = self._sources(traceback_of(equation.source_info)) or (None,)
        return Equation(
            number=number,
            path=self._path,
            primitive=name_of(equation),
            operands=operands,
            types=types,
            names=names,
            noted=tuple(one in self._names for one in equation.outvars),
            params=params,
            source=source,
            callers=tuple(one for one in callers if one is not None),
            scope=stack,
            role="backward" if phase == "forward" and self._uses.transposed[at] else phase,
            times=self._times,
            conditional=self._place.conditional,
            flops=flops.known,
            nbytes=0 if bodies else nbytes_of(equation),
            bodies=bodies,
            repeats=repeats_of(equation),
            has_effects=any(type(one).__name__ != "NamedAxisEffect" for one in equation.effects),
            device=device_of(equation, self._place),
            is_open=flops.is_open or equation.primitive.name in LOOPS_INSIDE,
        )

    def _expanded(self, equation: core.JaxprEqn) -> Body | None:
        """What JAX makes of a high-level operation; None for another one."""
        program = expansion_of(equation)
        return None if program is None else body_of(*opened(program), name_of(equation), self._reading)

    def _name(self, equation: core.JaxprEqn, variable: Any) -> str:
        if isinstance(variable, core.DropVar):
            return "_"
        name = self._names.get(variable)
        base = name or name_of(equation)
        self._count[base] += 1
        if name is None:
            return f"{base}_{self._count[base]}"
        return base if self._count[base] == 1 else f"{base}#{self._count[base]}"

    def _inside(self, number: int, at: int, equation: core.JaxprEqn, operands: Sequence[Operand]) -> Iterator[Body]:
        for key, jaxpr in programs_in(equation):
            if key == "update_jaxpr" and equation.primitive.name != "scatter":  # `scatter-add` says what it computes.
                continue
            if is_vecmat(equation, key):  # JAX makes it of the product with the matrix.
                continue
            given = given_to(equation, key, jaxpr)
            inputs = tuple(
                Operand("input", type_of(one), f"in_{place}" if outer is None else operands[outer].text, place)
                for place, (one, outer) in enumerate(zip(jaxpr.invars, given, strict=True))
            )
            known = dict(zip(jaxpr.invars, inputs, strict=True)) | _arrays(jaxpr, _consts_of(equation, jaxpr))
            place, around = self._place.inside(equation, key, jaxpr), self._around(at, equation, key)
            runs = runs_itself(equation, key)
            inner = _Body(
                self._reading, jaxpr, place, around, known, (*self._path, (number, key)), runs=runs and self._times != 0
            )
            equations = inner.read()
            own = tuple(known[one] for one in jaxpr.invars)
            results = tuple(_read(one, known) for one in jaxpr.outvars)
            yield Body(key, own, given, equations, results, runs=runs)


def _scope(reading: ProgramAnnotations, place: Place, own: Any) -> tuple[str, Role]:
    """The name stack of an equation in the whole program, and the role that it tells; `own`: that in its body."""
    stack = str(place.stack + own)
    return stack, reading.role_of(stack)


def _sources(reading: ProgramAnnotations, place: Place, traceback: Any) -> list[Source]:
    """The user's line, and the lines that have called its function, innermost first."""
    frames = joined(frames_inside(traceback), place.callers)
    of_user = [one for one in frames if not reading.is_library(one.file)]
    return [reading.source_of(one) for one in of_user or frames[:1]]


def _read(atom: Any, known: Mapping[Any, Operand]) -> Operand:
    if not isinstance(atom, core.Literal):
        return known[atom]
    value = as_typed(atom)
    return Operand("number", type_of(atom), text_of_array(value), digest=digest(value))


def as_typed(literal: core.Literal) -> Any:
    """A number of a program in the dtype that it has there: Python's own numbers have none."""
    aval: Any = literal.aval
    dtype = aval.dtype
    is_plain = jax.dtypes.issubdtype(dtype, np.generic) and not isinstance(literal.val, jax.Array)
    return np.asarray(literal.val, dtype) if is_plain else literal.val


def _plain(name: str | None) -> str:
    return (name or "").replace('"', "'")


def runs_one_call(jaxpr: core.Jaxpr) -> bool:
    """Whether a program only calls a jitted function."""
    return [one.primitive.name for one in jaxpr.eqns] in (["jit"], ["pjit"])


def opened(program: Any) -> tuple[core.Jaxpr, Sequence[Any]]:
    """A program and the values of its constants."""
    return getattr(program, "jaxpr", program), getattr(program, "consts", ())  # jax 0.12 has one class for both.


def _consts_of(equation: core.JaxprEqn, jaxpr: core.Jaxpr) -> Sequence[Any]:
    """The arrays that are part of one of the programs that an equation runs."""
    for value in equation.params.values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, ClosedJaxpr) and part.jaxpr is jaxpr:
                return part.consts
    return ()


def _arrays(jaxpr: core.Jaxpr, consts: Sequence[Any]) -> dict[Any, Operand]:
    return {
        variable: Operand("array", type_of(variable), text_of_array(value), digest=digest(value))
        for variable, value in zip(jaxpr.constvars, consts, strict=False)
    }


def _source_of(frame: Frame, name_file: Callable[[str], str]) -> Source:
    span = frame.line, frame.column, frame.end_line, frame.end_column
    return Source(frame.file, name_file(frame.file), *span, frame.function)
