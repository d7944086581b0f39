"""Find the cotangents of named values in a backward pass.

JAX pushes a tangent beside each value that is differentiated. While a function is differentiated both are at hand, so the
name of the one is known of the other (`bindings`); in what JAX makes of a program later, by the traceback that operations keep.
An identity with that name is put behind the tangent. Transposed it takes the cotangent, whole, as nothing else in the
program does: what is handed on as it is, or added up from several uses, has no equation of its own. It is lowered to nothing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from jax.extend.core import Primitive

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.parameters import argument, parameters_of
from jax_debug_widgets._jax.compat.private import ad, batching, core, lax, mlir, pe, source_info_util
from jax_debug_widgets._jax.compat.registrations import registers
from jax_debug_widgets._jax.compat.replacements import Replacements
from jax_debug_widgets._jax.origins.name_registry import Place, VariableNote, book, is_of_arguments
from jax_debug_widgets._jax.origins.origins import Operation, operation_of
from jax_debug_widgets._jax.origins.residuals import is_marked_copy, is_residual_now, mark_residuals, marked_as_copy
from jax_debug_widgets._jax.tracing import rule_equations
from jax_debug_widgets._jax.tracing.copies import is_array, is_copied, is_copied_in, is_marking


@dataclass(frozen=True, eq=False)
class Mark:
    """What a tangent, or a cotangent, is of.

    Attributes:
      places: where it has the names that were noted: what a function returns is the same for its caller, where the function
        may have used it itself before. None of what a derivative is taken for.
      is_of_input: whether the program begins with it.
    """

    noted: VariableNote
    places: frozenset[Place]
    is_cotangent: bool = False
    is_of_input: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether the derivative that pushes the tangent has met the value, as opposed to an operation of that."""
        return self.noted.of is not None

    def __repr__(self) -> str:
        return next(name for place in self.places or self.noted.names for name in self.noted.names[place])


class _Named(Primitive):
    """An identity: what does not know it, as an interpreter of somebody's own, takes what it is given."""

    def bind_with_trace(self, trace: Any, args: Any, *rest: Any) -> Any:
        is_jaxs = type(trace).__module__.startswith("jax._src.")
        return super().bind_with_trace(trace, args, *rest) if is_jaxs else args[0]


named_p = _Named("named")
named_p.def_impl(lambda x, **_: x)
named_p.def_abstract_eval(lambda x, **_: x)


def _transpose(cotangent: Any, _: Any, of: Mark) -> list[Any]:
    # Transposed twice it is no cotangent of the value.
    is_zero = isinstance(cotangent, ad.Zero) or of.is_cotangent
    return [cotangent if is_zero else named_p.bind(cotangent, of=replace(of, is_cotangent=True))]


def _derive(primals: Any, tangents: Any, of: Mark) -> Any:
    return named_p.bind(*primals, of=of), *tangents


@registers(features.BINDINGS)
def _register() -> None:
    mlir.register_lowering(named_p, lambda _, x, **__: [x])
    batching.defvectorized(named_p)
    ad.primitive_jvps[named_p] = _derive
    ad.primitive_transposes[named_p] = _transpose


def is_named(equation: Any) -> bool:
    """Whether an equation gives what it is given."""
    return equation.primitive is named_p


def is_put_in(equation: Any) -> bool:
    """Whether a program has an equation only because its values are watched: a name, or a copy of a derivative."""
    return is_mark(equation) or is_copied(equation) or is_copied_in(equation, _copied.__code__)


def is_mark(equation: Any) -> bool:
    """Whether it is an identity behind a tangent, or behind a cotangent, or a copy of one, whatever JAX has made of it."""
    return is_named(equation) or (equation.primitive is lax.copy_p and is_marked_copy(equation))


def is_of_input(equation: Any) -> bool:
    """Whether an equation gives what is pushed beside an input of the program, or its cotangent: it belongs to no line."""
    return is_named(equation) and equation.params["of"].is_of_input


def cotangent_of(equation: Any) -> Mark | None:
    """The value whose cotangent an equation gives, if it is one of these."""
    mark: Mark | None = equation.params["of"] if is_named(equation) else None
    return mark if mark is not None and mark.is_cotangent else None


def put_in(replace: Replacements) -> None:
    """Replace JAX's functions by ours."""
    for trace in (ad.LinearizeTrace, ad.JVPTrace):
        for name in _PROCESSING:
            if hasattr(trace, name):  # Since jax 0.12 calls are primitives like all others.
                replace.attribute(trace, name, _processing(parameters_of(getattr(trace, name))))
    replace.attribute(ad, "linearize", _linearize)


_PROCESSING = ("process_primitive", "process_call", "process_custom_jvp_call", "process_custom_vjp_call")
"""JAX's methods that differentiate an operation."""


def _processing(parameters: Sequence[str]) -> Callable[..., Any]:
    operands = "tracers" if "tracers" in parameters else "args"

    def process(theirs: Callable[..., Any], trace: Any, *args: Any, **options: Any) -> Any:
        if not is_marking():
            return theirs(trace, *args, **options)
        traceback, around = source_info_util._source_info_context.context.traceback, _here.traceback
        programs, _here.traceback = _here.programs, traceback
        if traceback is None and programs is None:
            _here.programs = []
        # What a rule computes comes from where its operation does.
        is_one = traceback is not None and traceback is not around and not is_residual_now()
        own = Operation(traceback) if is_one else None
        try:
            with rule_equations.noted() if own else nullcontext() as made:
                results = theirs(trace, *args, **options)
        finally:
            _here.traceback = around
            if programs is None:
                book.add_made_of_one(_here.programs or ())
            _here.programs = programs
        taken = argument(operands, parameters, (trace, *args), options)
        return _told(trace, taken, results, own, args[0].name, made or ())

    return process


def _linearize(theirs: Callable[..., Any], function: Any, *args: Any, **options: Any) -> Any:
    """What `jax.grad` and `jax.vjp` call: what a derivative is taken for has a gradient, too."""
    given = theirs(function, *args, **options)
    if not is_marking():
        return given
    values, known, program, *rest = given
    return values, known, _with_inputs_marked(program, versions.values_in(args)), *rest


def _with_inputs_marked(jaxpr: core.Jaxpr, primals: Sequence[Any]) -> core.Jaxpr:
    taken = {atom: eqn for eqn in reversed(jaxpr.eqns) for atom in eqn.invars if not isinstance(atom, core.Literal)}
    instead: dict[Any, Any] = {}
    equations: list[Any] = []
    # Since jax 0.12 its constants are before them.
    for variable, primal in zip(jaxpr.invars[len(jaxpr.invars) - len(primals) :], primals, strict=True):
        tracer = staged(primal)
        is_taken = variable in taken and is_array(variable.aval)
        noted = book.of_variable(tracer.val) if tracer is not None and is_taken else None
        if noted is not None:
            own = source_info_util.current().replace(name_stack=_stack_of_input(is_direct=True))
            instead[variable] = core.Var(variable.aval)
            equations.append(_named(variable, instead[variable], Mark(noted, frozenset()), own, taken[variable].ctx))

    def new(atom: Any) -> Any:
        return atom if isinstance(atom, core.Literal) else instead.get(atom, atom)

    equations += [one.replace(invars=[new(atom) for atom in one.invars]) for one in jaxpr.eqns]
    return jaxpr.replace(eqns=equations, outvars=[new(atom) for atom in jaxpr.outvars]) if instead else jaxpr


def _named(variable: Any, result: Any, mark: Mark, source_info: Any, context: Any) -> core.JaxprEqn:
    return core.new_jaxpr_eqn([variable], [result], named_p, {"of": mark}, core.no_effects, source_info, context)


class _Here(threading.local):
    """What the current thread differentiates.

    Attributes:
      traceback: of the operation, where it is one of a program.
      programs: what has been made of an operation so far and runs a program, where Python has called it.
    """

    traceback: Any = None
    programs: list[Operation] | None = None


_here = _Here()


def staged(leaf: Any) -> Any:
    """The tracer of a program that a value is, or that is inside of what differentiates or batches; None of others."""
    while isinstance(leaf, core.Tracer) and not isinstance(leaf, pe.DynamicJaxprTracer):
        leaf = getattr(leaf, "val", getattr(leaf, "primal", None))
    return leaf if isinstance(leaf, pe.DynamicJaxprTracer) and isinstance(leaf.val, core.Var) else None


def add(equation: Any) -> None:
    """Python, and not a transformation, has made an equation."""
    if _here.programs is not None and any(True for _ in core.jaxprs_in_params(equation.params)):
        _here.programs.append(operation_of(equation))


def _told(
    trace: Any, operands: Sequence[Any], results: Any, operation: Operation | None, primitive: str, made: Sequence[Any]
) -> Any:
    given = {id(one.tangent): one.primal for one in operands if isinstance(one, (ad.LinearizeTracer, ad.JVPTracer))}
    for position, one in enumerate(operands):
        noted = book.of_operand(operation, position, len(operands)) if operation is not None else None
        if noted is not None:
            book.add_given(
                staged(one), one.tangent if isinstance(one, (ad.LinearizeTracer, ad.JVPTracer)) else None, noted
            )
    several = results if isinstance(results, list | tuple) else [results]
    is_derived_of = [
        isinstance(one, (ad.LinearizeTracer, ad.JVPTracer)) and one._trace.tag is trace.tag for one in several
    ]
    primals = [
        staged(one.primal if is_derived else one) for one, is_derived in zip(several, is_derived_of, strict=True)
    ]
    mark_residuals(
        (one for one in made if operation_of(one) == operation), {one.val for one in primals if one is not None}
    )
    for position, (one, primal, is_derived) in enumerate(zip(several, primals, is_derived_of, strict=True)):
        if primal is None:  # Un-jitted a copy would be one.
            continue
        if is_derived and id(one.tangent) in given and one.primal is not given[id(one.tangent)]:
            one.tangent = _copied(trace, one.tangent)
        if operation is None:
            continue
        if noted := book.of_operation(operation, position, len(several), primitive):
            book.add_derived(primal, noted)
        noted = book.of_operation(operation, position, len(several))
        if noted is not None and is_derived and isinstance(one.tangent, pe.DynamicJaxprTracer):
            book.add_tangent(one.tangent, noted)
    return results


def _copied(trace: Any, tangent: Any) -> Any:
    """A tangent that is handed on as it is, which is to be told from what it comes from."""
    if not is_array(core.typeof(tangent)):
        return tangent
    if isinstance(trace, ad.JVPTrace):
        own, stack = trace.parent_trace, source_info_util.current_name_stack()
    else:
        own, stack = trace.tangent_trace, trace._name_stack_suffix()
    with core.set_current_trace(own), source_info_util.set_name_stack(marked_as_copy(stack)):
        return lax.copy_p.bind(tangent)


def with_marks(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """A program with such an identity behind each named tangent; the very same if there is none."""
    taken = {atom for eqn in jaxpr.eqns for atom in eqn.invars if not isinstance(atom, core.Literal)}
    noted: dict[Any, Sequence[VariableNote]] = {
        one: known
        for one in jaxpr.invars
        if one in taken and is_array(one.aval) and (known := book.of_input_tangent(one))
    }
    results = {one: known for eqn in jaxpr.eqns for one in eqn.outvars if (known := book.of_tangent(one)) is not None}
    # Of several that an operation has become it is the last.
    noted |= {
        one: [known] for known, one in {known: one for one, known in results.items()}.items() if is_array(one.aval)
    }
    return _Marked(jaxpr, noted).program() if noted else jaxpr


class _Marked:
    """A program to which marks come: `noted` is of its tangents."""

    def __init__(self, jaxpr: core.Jaxpr, noted: dict[Any, Sequence[VariableNote]]) -> None:
        self._jaxpr = jaxpr
        self._times = {id(equation): book.time_of(equation) for equation in jaxpr.eqns}
        self._takers: dict[Any, list[core.JaxprEqn]] = {one: [] for one in noted}
        for equation in jaxpr.eqns:
            for atom in equation.invars:
                if not isinstance(atom, core.Literal) and atom in noted:
                    self._takers[atom].append(equation)
        self._inputs = [one for one in jaxpr.invars if one in noted]
        self._steps: dict[Any, list[_Step]] = {}
        for one, known in noted.items():
            taken = [*(self._times[id(taker)] for taker in self._takers[one]), math.inf]
            self._steps[one] = list(_steps(one, known, taken, is_input=one in self._inputs))

    def program(self) -> core.Jaxpr:
        """The program with its marks: those of its inputs first, those of what an equation makes behind that."""
        equations: list[core.JaxprEqn] = []
        for one in self._inputs:
            first = self._takers[one][0]
            is_direct = any(step.mark.is_sure for step in self._steps[one])
            equations += self._marks(
                one, first.source_info.replace(name_stack=_stack_of_input(is_direct=is_direct)), first.ctx
            )
        for equation in self._jaxpr.eqns:
            time = self._times[id(equation)]
            equations.append(equation.replace(invars=[self._at(time, atom) for atom in equation.invars]))
            for one in equation.outvars:
                equations += self._marks(one, equation.source_info, equation.ctx)
        return self._jaxpr.replace(eqns=equations, outvars=[self._at(math.inf, atom) for atom in self._jaxpr.outvars])

    def _at(self, time: float, atom: Any) -> Any:
        known = () if isinstance(atom, core.Literal) else self._steps.get(atom, ())
        return next((one.variable for one in reversed(known) if one.time < time), atom)

    def _marks(self, variable: Any, source_info: Any, context: Any) -> Iterator[core.JaxprEqn]:
        before = variable
        for step in self._steps.get(variable, ()):
            yield _named(before, step.variable, step.mark, source_info, context)
            before = step.variable


def _stack_of_input(*, is_direct: bool) -> Any:
    """The name stack of what is pushed beside an input: a derivative that Python runs adds its own to all that it pushes."""
    stack = source_info_util.new_name_stack()
    return stack.transform("jvp") if is_direct else stack


class _Step(NamedTuple):
    """From when on a tangent has names, and the variable that it is then."""

    time: float
    variable: Any
    mark: Mark


def _steps(variable: Any, noted: Sequence[VariableNote], taken: Sequence[float], *, is_input: bool) -> Iterator[_Step]:
    """What is used between two of its names is not of the second; names between which nothing is used are of one."""
    since = [(time, of, place) for of in noted for place, time in of.times.items()]
    if not is_input:  # A program notes the names of its arguments itself.
        since = [one for one in since if not is_of_arguments(one[2])]
    places: dict[VariableNote, set[Place]] = {}
    for time, after in pairwise([*sorted({time for time, _, _ in since}), math.inf]):
        for _, of, place in (one for one in since if one[0] == time):
            places.setdefault(of, set()).add(place)
        if any(time < one <= after for one in taken):
            for of, known in places.items():
                yield _Step(time, core.Var(variable.aval), Mark(of, frozenset(known), is_of_input=is_input))
            places.clear()
