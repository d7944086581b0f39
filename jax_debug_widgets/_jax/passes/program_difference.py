"""Find the first difference between two traces of one function, apart from the equations that a capture adds.

The equations and their constants are compared. Each trace may make new function objects for callbacks, so only the
values that these hold are compared.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import takewhile, zip_longest
from traceback import FrameSummary
from types import FunctionType, MethodType
from typing import Any

import jax
import numpy as np
from jax.experimental import checkify
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat.private import core, lax, linear_util
from jax_debug_widgets._jax.origins.context import capturing
from jax_debug_widgets._jax.origins.frames import is_users
from jax_debug_widgets._jax.passes.callbacks import has_callbacks
from jax_debug_widgets._jax.passes.numbers import address_of, on_host
from jax_debug_widgets._jax.passes.operands import done
from jax_debug_widgets._jax.passes.stop import debug_stop_p
from jax_debug_widgets._jax.passes.tap import debug_tap_p
from jax_debug_widgets._jax.tracing.marks import is_named

_CHECKIFY = checkify.check.__code__.co_filename

UNKNOWN: Any = object()
"""A value that is not known while a function is traced."""


@dataclass(frozen=True)
class ProgramDifference:
    """The first equation that is not the same in both programs.

    Attributes:
      equation: the equation of the new program; None if the new program has no further equation, or differs only in its
        results.
      before, after: a number that differs between the programs; UNKNOWN if something else differs.
    """

    equation: Any
    before: Any = UNKNOWN
    after: Any = UNKNOWN


def difference(
    before: ClosedJaxpr, after: ClosedJaxpr, changed: AbstractSet[int] = frozenset()
) -> ProgramDifference | None:
    """Return the first difference between a compiled program and a new trace; None if they compute the same.

    `changed` are the addresses of NumPy arrays that were changed in place since. Both programs refer to them, but the
    compiled one has their former numbers.
    """
    return next((found for found in _Comparison(changed).closed(before, after) if not _is_of_checkify(found)), None)


def _is_of_checkify(found: ProgramDifference) -> bool:
    """Whether `checkify` made the equation: it numbers the checks of a process, so each trace has other numbers."""
    traceback = None if found.equation is None else found.equation.source_info.traceback
    files = (frame.file_name for frame in traceback.frames) if traceback is not None else ()
    return _CHECKIFY in takewhile(lambda file: not is_users(file), files)


class _Comparison:
    """Compares two programs; maps variables that have the same value in both to the same object."""

    def __init__(self, changed: AbstractSet[int]) -> None:
        self._changed = changed
        self._values: dict[Any, Any] = {}
        self._constants: dict[Any, Any] = {}

    def closed(self, before: ClosedJaxpr, after: ClosedJaxpr) -> Iterator[ProgramDifference]:
        """Yield the differences between two programs, also between their constants."""
        if before.jaxpr is after.jaxpr and not is_same(before.consts, after.consts):
            yield ProgramDifference(next(iter(after.eqns), None))
        for program in (before, after):
            self._constants |= zip(program.jaxpr.constvars, program.consts, strict=True)
        yield from self.programs(before.jaxpr, after.jaxpr)

    def programs(self, before: core.Jaxpr, after: core.Jaxpr) -> Iterator[ProgramDifference]:
        """Yield the differences between two programs, whose constants and inputs correspond by position."""
        if before is after:
            return
        self._are_same(before.invars, after.invars)
        if not any(one in self._constants for one in (*before.constvars, *after.constvars)):
            self._are_same(before.constvars, after.constvars)
        if [one.aval for one in before.invars] != [one.aval for one in after.invars]:
            yield ProgramDifference(next(iter(after.eqns), None))
        for one, other in zip_longest(self._equations(before), self._equations(after)):
            if one is None or other is None:
                yield ProgramDifference(other)
                return
            yield from self._in_equations(one, other)
            self._are_same(one.outvars, other.outvars)
        if len(before.outvars) != len(after.outvars):
            yield ProgramDifference(None)
        last = next(reversed(after.eqns), None)
        for one, other in zip(before.outvars, after.outvars, strict=False):
            yield from self._in_atoms(one, other, last)

    def _equations(self, jaxpr: core.Jaxpr) -> Iterator[core.JaxprEqn]:
        """Yield the equations that compute something, as JAX makes them: no copies, names or breakpoints."""
        for equation in jaxpr.eqns:
            if is_identity(equation):
                self._hand_on(equation.invars, equation.outvars)
            elif equation.primitive is debug_stop_p:
                self._hand_on(equation.invars[equation.params["spec"].going_on], equation.outvars)
            elif equation.primitive is debug_tap_p and not equation.params["guards"]:
                yield from _as_jax_has_it(equation)
            else:
                yield equation

    def _hand_on(self, operands: Sequence[Any], results: Sequence[Any]) -> None:
        for operand, result in zip(operands, results, strict=True):
            self._values[result] = self._value(operand)
            if (constant := self._constant(operand)) is not UNKNOWN:
                self._constants[result] = constant

    def _in_equations(self, before: core.JaxprEqn, after: core.JaxprEqn) -> Iterator[ProgramDifference]:
        if before.primitive is not after.primitive or len(before.invars) != len(after.invars):
            yield ProgramDifference(after)
            return
        for position, (one, other) in enumerate(zip(before.invars, after.invars, strict=True)):
            yield from self._in_atoms(one, other, _user_of(after, position))
        if [one.aval for one in before.outvars] != [one.aval for one in after.outvars]:
            yield ProgramDifference(after)
        for key in after.params:
            yield from self._in_params(before.params.get(key), after.params[key], after)

    def _in_params(self, before: Any, after: Any, equation: core.JaxprEqn) -> Iterator[ProgramDifference]:
        if before is after:
            return
        if isinstance(before, ClosedJaxpr) and isinstance(after, ClosedJaxpr):
            yield from self.closed(before, after)
        elif isinstance(before, core.Jaxpr) and isinstance(after, core.Jaxpr):
            yield from self.programs(before, after)
        elif isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
            for one, other in zip(before, after, strict=True):
                yield from self._in_params(one, other, equation)
        elif not is_same(before, after):
            numbers = (before, after) if isinstance(after, bool | int | float | complex | np.ndarray) else ()
            yield ProgramDifference(equation, *numbers)

    def _in_atoms(self, before: Any, after: Any, equation: core.JaxprEqn | None) -> Iterator[ProgramDifference]:
        one, other = self._constant(before), self._constant(after)
        if one is UNKNOWN and other is UNKNOWN:
            if self._value(before) is not self._value(after):
                yield ProgramDifference(equation)
        elif one is UNKNOWN or other is UNKNOWN or not is_same(one, other):
            yield ProgramDifference(equation, one, other)
        elif self._changed and _is_array(other) and address_of(other) in self._changed:
            yield ProgramDifference(equation)

    def _are_same(self, before: Sequence[Any], after: Sequence[Any]) -> None:
        for one, other in zip(before, after, strict=False):
            self._values[one] = self._values[other] = object()

    def _value(self, atom: Any) -> Any:
        return atom if isinstance(atom, core.Literal) else self._values.get(atom, atom)

    def _constant(self, atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else self._constants.get(atom, UNKNOWN)


def is_plain_tap(equation: core.JaxprEqn) -> bool:
    """Whether a tap has just the operands of the debugging equation that it represents: no lanes, no guards."""
    params = equation.params
    return equation.primitive is debug_tap_p and not params["lanes"].sizes and not params["guards"]


def has_marks(jaxpr: core.Jaxpr) -> bool:
    """Whether a traced program has callbacks, or equations of ours other than names and plain taps."""
    return has_callbacks(jaxpr) or _has(jaxpr, lambda one: one.primitive in _OURS and not is_plain_tap(one))


def is_as_without_us(jaxpr: core.Jaxpr) -> bool:
    """Whether a program traced in a capture has no equation that may be ours, and no callback."""
    return not (has_callbacks(jaxpr) or _has(jaxpr, lambda one: is_identity(one) or one.primitive in _OURS))


_OURS = (debug_tap_p, debug_stop_p)


def _has(jaxpr: core.Jaxpr, chosen: Callable[[core.JaxprEqn], bool]) -> bool:
    inside = (program for equation in jaxpr.eqns for program in core.jaxprs_in_params(equation.params))
    return any(map(chosen, jaxpr.eqns)) or any(_has(program, chosen) for program in inside)


def is_identity(equation: core.JaxprEqn) -> bool:
    """Whether an equation returns its operand: a `named` of ours, or a copy, which may be ours."""
    return is_named(equation) or equation.primitive is lax.copy_p


def _as_jax_has_it(tap: core.JaxprEqn) -> list[core.JaxprEqn]:
    """Return the equations that JAX makes instead of a tap: one for each lane of a `vmap`."""
    inner, params, lanes = tap.params["inner"], dict(tap.params["params"]), tap.params["lanes"]
    if is_plain_tap(tap):
        return [tap.replace(primitive=inner, params=params)]

    def reported(*values: Any) -> list[Any]:
        return inner.bind(*values, **params)

    for level in reversed(range(len(lanes.sizes))):
        reported = jax.vmap(reported, in_axes=[0 if mapped[level] else None for mapped in lanes.mapped])
    with capturing(None):
        return [one.replace(source_info=tap.source_info) for one in done(reported, tap.invars)]


def _user_of(equation: core.JaxprEqn, position: int) -> core.JaxprEqn:
    """Return the first equation that computes with an operand; if the equation runs a program, search in that program."""
    for program in core.jaxprs_in_params(equation.params):
        place = position - len(equation.invars) + len(program.invars)
        if place >= 0:
            taken = program.invars[place]
            for one in program.eqns:
                if taken in one.invars:
                    return _user_of(one, one.invars.index(taken))
    return equation


def is_same(before: Any, after: Any, depth: int = 0) -> bool:
    """Whether two values are the same, as far as they can be compared; else whether their types are the same."""
    if before is after or depth > _DEPTH or (_has_frames(before) and _has_frames(after)):
        return True
    if any(_is_array(one) or isinstance(one, float | complex) for one in (before, after)):
        return _are_same_numbers(before, after)
    parts = _parts(before)
    if type(before) is not type(after):
        return False
    if parts is not None:
        own, others = list(parts), list(_parts(after) or ())
        return len(own) == len(others) and all(map(partial(is_same, depth=depth + 1), own, others))
    is_made_anew = callable(before) or isinstance(before, core.Tracer | linear_util.WrappedFun)
    is_comparable = not is_made_anew and type(before).__eq__ is not object.__eq__
    try:
        return not is_comparable or bool(before == after)
    except Exception:  # noqa: BLE001 - whatever it is, it does not say that it is another.
        return True


_DEPTH = 6


def _parts(value: Any) -> Iterable[Any] | None:
    """Return the parts of a container, a function or a dataclass; None for other objects."""
    match value:
        case list() | tuple():
            return value
        case dict():
            return value.items()
        case partial():
            return value.func, value.args, value.keywords
        case MethodType():
            return value.__func__, value.__self__
        case FunctionType():
            cells = [_content(cell) for cell in value.__closure__ or ()]
            return value.__code__, value.__defaults__, value.__kwdefaults__, cells
    is_dataclass = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return [getattr(value, one.name, None) for one in dataclasses.fields(value)] if is_dataclass else None


_FRAME = re.compile(r'File ".*", line \d+')


def _has_frames(value: Any) -> bool:
    """Whether a value contains a frame of Python's stack, as from `traceback`: another trace has other frames."""
    parts = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(one, FrameSummary) or (isinstance(one, str) and _FRAME.search(one)) for one in parts)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNKNOWN


def _is_array(value: Any) -> bool:
    # Before jax 0.9 the constants of a program have a type of their own.
    return hasattr(value, "__array__") and not isinstance(value, core.Tracer | type)


def _are_same_numbers(before: Any, after: Any) -> bool:
    try:
        one, other = on_host(before), on_host(after)
    except Exception:  # noqa: BLE001 - of processes elsewhere, given away, or no numbers: these are not the same array.
        return False
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
