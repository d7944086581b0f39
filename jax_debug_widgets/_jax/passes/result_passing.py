"""Make the operands of prints, and watched values, further results of a program without long loops.

XLA runs a program with callbacks on the thread that calls it, which waits; it runs other programs while that thread goes on.
So the small values that a training step prints are returned as results, which costs almost nothing. They are available when
the call is over. A print before a long loop would be late, so a program with such a loop keeps its callbacks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np

from jax_debug_widgets._jax.compat.caching import cached_fact
from jax_debug_widgets._jax.compat.private import core, debugging, pe, sharding_impls
from jax_debug_widgets._jax.origins.equation import DebugCall, Guard
from jax_debug_widgets._jax.origins.kernel_prints import has_debugging, has_printing_kernels
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.callbacks import has_callbacks
from jax_debug_widgets._jax.passes.packing import Packing, packed
from jax_debug_widgets._jax.passes.program import describe, outermost, without_guard
from jax_debug_widgets._jax.passes.tap import as_tap, debug_tap_p, is_ordered
from jax_debug_widgets._jax.passes.watch_tap import watch_tap_p

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr

MOST_BYTES = 1 << 16
"""The most bytes of all further results of a call: they stay on the device for each call in flight."""

MOST_ITERATIONS = 64
"""The most iterations of all loops of a program together: enough for some layers, not for a simulation."""


class ResultReporter(Protocol):
    """Reports one print, or the watched values of one body, when a call is over. It is a recorder for `Recorders`."""

    def __call__(self, times_ns: Sequence[int], thread: int, columns: Sequence[Sequence[np.ndarray]]) -> None:
        """Called with several calls that are over.

        Args:
          times_ns: a time for each call, in ns of `perf_counter_ns`.
          thread: the ident of the thread that made the calls.
          columns: for each operand, one NumPy array for each call.
        """
        ...


@dataclass(frozen=True)
class PassedLine:
    """One print, or the watched values of one body, in a program with further results.

    Attributes:
      reporter: reports it, for several calls at once, because one by one takes ten times as long.
      constants: for each operand its constant value; None if the operand is a result of the program.
      count: how many operands are results.
    """

    reporter: ResultReporter
    constants: tuple[np.ndarray | None, ...]
    count: int

    def report(self, times_ns: Sequence[int], thread: int, results: Sequence[Sequence[np.ndarray]]) -> None:
        """Report it; see `ResultReporter`. `results` are the columns of the operands that are not constants."""
        rest, calls = iter(results), len(times_ns)
        columns = [next(rest) if constant is None else [constant] * calls for constant in self.constants]
        self.reporter(times_ns, thread, columns)


Offer = Callable[[DebugCall], ResultReporter | None]
"""Takes a print's equation; returns its reporter, or None if the print must be a callback."""


@dataclass(frozen=True)
class ReportingProgram:
    """A program with further results after its own.

    Attributes:
      program: the program; it has `count` results more than the user's.
      lines: the prints and watched bodies, in the order of the program.
      packing: where the operands of the lines are among the further results.
      watches: if values are watched, the program without taps, which must stay alive as long; else None.
    """

    program: ClosedJaxpr
    lines: tuple[PassedLine, ...]
    packing: Packing
    watches: Any = None

    @property
    def count(self) -> int:
        """How many further results the program has."""
        return self.packing.count

    def reports(
        self, times_ns: Sequence[int], thread: int, results: Sequence[Sequence[np.ndarray]]
    ) -> Iterator[Callable[[], None]]:
        """Yield a function for each line, which reports it for several calls; `times_ns` are those of the first line."""
        columns = iter(self.packing.columns(results))
        for number, line in enumerate(self.lines):
            times = [time_ns + number for time_ns in times_ns]
            yield partial(line.report, times, thread, [*itertools.islice(columns, line.count)])


@cached_fact
def is_quick(program: ClosedJaxpr) -> bool:
    """Whether a program has no loop that takes long and does nothing else than compute and print."""
    jaxpr = program.jaxpr
    has_other_effects = jaxpr.effects - {debugging.debug_effect} or has_callbacks(jaxpr) or has_printing_kernels(jaxpr)
    return not has_other_effects and _iterations(jaxpr) <= MOST_ITERATIONS


@cached_fact
def is_straight(program: ClosedJaxpr) -> bool:
    """Whether a quick program has only small unordered prints or watched values, in no loop or branch."""
    if not program.jaxpr.effects or not is_quick(program):
        return False
    found = list(_reportable(program.jaxpr))
    operands: list[Any] = [operand for one in found if one is not None for operand in one.invars]
    return (
        None not in found
        and any(isinstance(operand, core.Var) for operand in operands)
        and all(map(_is_plain, operands))
        and sum(operand.aval.size * operand.aval.dtype.itemsize for operand in operands) <= MOST_BYTES
    )


def with_results(program: ClosedJaxpr, name: str, offer: Offer) -> ReportingProgram | None:
    """Make the operands of a program's prints further results; None if one of the prints must be a callback.

    Args:
      program: a program for which `is_straight` holds.
      name: the name of its module, `jit(f)`.
      offer: returns the reporter of a print.
    """
    lines: list[PassedLine] = []
    numbers = itertools.count()

    def reporter_of(equation: core.JaxprEqn, guard: Guard | None, place: Place) -> ResultReporter:
        reporter = offer(describe(equation, guard, place, order=next(numbers)))
        if reporter is None:
            raise _RefusedError
        return reporter

    try:
        changed, operands = _rewrite(program.jaxpr, outermost(name), reporter_of, lines)
    except _RefusedError:
        return None
    # The names of its arguments stay: JAX's errors about arguments contain them.
    also, results, packing = packed(operands)
    changed = changed.replace(
        eqns=[*changed.eqns, *also],
        outvars=[*changed.outvars, *results],
        debug_info=program.jaxpr.debug_info._replace(result_paths=None),
    )
    return ReportingProgram(program.replace(jaxpr=changed), tuple(lines), packing)


class _RefusedError(Exception):
    """A print must be a call of the host."""


def _rewrite(
    jaxpr: core.Jaxpr,
    place: Place,
    reporter_of: Callable[[core.JaxprEqn, Guard | None, Place], ResultReporter],
    lines: list[PassedLine],
) -> tuple[core.Jaxpr, list[Any]]:
    """Return the program without its prints, and the variables that these print; add a line for each print to `lines`."""
    equations: list[core.JaxprEqn] = []
    printed: list[Any] = []

    def add(reporter: ResultReporter, operands: Sequence[Any]) -> None:
        variables = [operand for operand in operands if isinstance(operand, core.Var)]
        lines.append(PassedLine(reporter, tuple(map(_constant, operands)), len(variables)))
        printed.extend(variables)

    for equation in jaxpr.eqns:
        if _is_print(equation):
            bare, guard = without_guard(as_tap(equation), place)
            add(reporter_of(bare, guard, place), [*bare.invars, *([guard.operand] if guard else ())])
        elif equation.primitive is watch_tap_p:
            add(equation.params["record"].reporter, equation.invars)
        elif _is_jit(equation) and has_debugging(equation.params["jaxpr"].jaxpr):
            program = equation.params["jaxpr"]
            inside = place.inside(equation, "jaxpr", program.jaxpr)
            inner, from_inside = _rewrite(program.jaxpr, inside, reporter_of, lines)
            inner = inner.replace(
                outvars=[*inner.outvars, *from_inside], debug_info=inner.debug_info.with_unknown_names()
            )
            results = [core.Var(atom.aval) for atom in from_inside]
            equations.append(_with_more_results(equation, program.replace(jaxpr=inner), results))
            printed += results
        else:
            equations.append(equation)
    return jaxpr.replace(eqns=equations, effects=jaxpr.effects - {debugging.debug_effect}), printed


def _constant(operand: Any) -> np.ndarray | None:
    aval: Any = operand.aval
    return np.asarray(operand.val, aval.dtype) if isinstance(operand, core.Literal) else None


def without_unused(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program without unused equations, which JAX removes later anyway; all its arguments stay."""
    needed, _ = pe.dce_jaxpr(program.jaxpr, [True] * len(program.jaxpr.outvars), instantiate=True)
    return program.replace(jaxpr=needed)


def _with_more_results(equation: core.JaxprEqn, program: ClosedJaxpr, results: list[Any]) -> core.JaxprEqn:
    params, count = dict(equation.params), len(results)
    params["jaxpr"] = program
    params["out_shardings"] = (*params["out_shardings"], *[sharding_impls.UNSPECIFIED] * count)
    params["out_layouts"] = (*params["out_layouts"], *[None] * count)
    effects = equation.effects - {debugging.debug_effect}
    return equation.replace(params=params, outvars=[*equation.outvars, *results], effects=effects)


def _reportable(jaxpr: core.Jaxpr) -> Iterator[core.JaxprEqn | None]:
    """Yield the prints that can be results of the program, and the taps of watched values; None for each other effect."""
    for equation in jaxpr.eqns:
        if _is_print(equation) or equation.primitive is watch_tap_p:
            yield equation
        elif _is_jit(equation):
            yield from _reportable(equation.params["jaxpr"].jaxpr)
        elif equation.effects:
            yield None


def _is_print(equation: core.JaxprEqn) -> bool:
    tap = as_tap(equation) if equation.primitive in (debugging.debug_print_p, debug_tap_p) else None
    if tap is None or tap.params["inner"] is not debugging.debug_print_p:
        return False
    options = dict(tap.params["params"])
    return not is_ordered(options) and not options["partitioned"]


def _is_jit(equation: core.JaxprEqn) -> bool:
    return equation.primitive.name in ("jit", "pjit")


def _is_plain(operand: Any) -> bool:
    dtype = operand.aval.dtype
    return jax.dtypes.issubdtype(dtype, np.number) or jax.dtypes.issubdtype(dtype, np.bool_)


def _iterations(jaxpr: core.Jaxpr) -> float:
    """Return how often the loops of a program run their bodies, together."""
    return sum(map(_iterations_of, jaxpr.eqns))


def _iterations_of(equation: core.JaxprEqn) -> float:
    inside = sum(map(_iterations, core.jaxprs_in_params(equation.params)))
    match equation.primitive.name:
        case "while":
            return math.inf
        case "scan":
            return equation.params["length"] * max(1, inside)
    return inside
