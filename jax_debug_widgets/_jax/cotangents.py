"""Which cotangents in a backward pass are those of which named values.

JAX pushes a tangent beside each value that is differentiated. While a function is differentiated both are at hand, so the
name of the one is known of the other (`bindings`); in what JAX makes of a program later, by the traceback that operations keep.
An identity with that name is put behind the tangent. Transposed it takes the cotangent, whole, as nothing else in the
program does: what is handed on as it is, or added up from several uses, has no equation of its own. It is lowered to nothing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from jax._src import core, source_info_util
from jax._src.interpreters import ad, batching, mlir
from jax._src.interpreters import partial_eval as pe
from jax._src.lax import lax

from jax_debug_widgets._jax import versions
from jax_debug_widgets._jax.copies import is_watching
from jax_debug_widgets._jax.names_noted import Noted, Place, book, is_of_arguments
from jax_debug_widgets._jax.origins import traceback_in
from jax_debug_widgets._jax.replacements import Replacements, as_method


@dataclass(frozen=True, eq=False)
class Mark:
    """What a tangent, or a cotangent, is of.

    Attributes:
      places: where it has the names that were noted: what a function returns is the same for its caller, where the function
        may have used it itself before. None of what a derivative is taken for; of an argument that of its function.
    """

    noted: Noted
    places: frozenset[Place]
    is_cotangent: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether the derivative that pushes the tangent has met the value, as opposed to an operation of that."""
        return self.noted.of is not None

    @property
    def is_of_argument(self) -> bool:
        """Whether the program that has it begins with it."""
        return any(map(is_of_arguments, self.places))

    def __repr__(self) -> str:
        return next(name for place in self.places or self.noted.names for name in self.noted.names[place])


named_p = core.Primitive("named")
named_p.def_impl(lambda x, **_: x)
named_p.def_abstract_eval(lambda x, **_: x)
mlir.register_lowering(named_p, lambda _, x, **__: [x])
batching.defvectorized(named_p)


def _transpose(cotangent: Any, _: Any, of: Mark) -> list[Any]:
    # Transposed twice it is no cotangent of the value.
    is_zero = isinstance(cotangent, ad.Zero) or of.is_cotangent
    return [cotangent if is_zero else named_p.bind(cotangent, of=replace(of, is_cotangent=True))]


def _derive(primals: Any, tangents: Any, of: Mark) -> Any:
    return named_p.bind(*primals, of=of), *tangents


ad.primitive_jvps[named_p] = _derive
ad.primitive_transposes[named_p] = _transpose


def is_named(equation: Any) -> bool:
    """Whether an equation gives what it is given."""
    return equation.primitive is named_p


def is_of_argument(equation: Any) -> bool:
    """Whether an equation gives what is pushed beside an argument, or its cotangent: it belongs to no line."""
    return is_named(equation) and equation.params["of"].is_of_argument


def cotangent_of(equation: Any) -> Mark | None:
    """Of which value an equation gives the cotangent, if it is one of these."""
    mark: Mark | None = equation.params["of"] if is_named(equation) else None
    return mark if mark is not None and mark.is_cotangent else None


def put_in(replace: Replacements) -> None:
    """Put our functions in the place of JAX's."""
    for trace in (ad.LinearizeTrace, ad.JVPTrace):
        for name, position in _PROCESSING.items():
            replace.attribute(trace, name, _processing(position), wrap=as_method)
    replace.attribute(ad, "linearize", _linearize)


_PROCESSING = {"process_primitive": 1, "process_call": 2, "process_custom_jvp_call": 3, "process_custom_vjp_call": 4}
"""JAX's methods that differentiate an operation, each with the number of the argument that is its operands."""


def _processing(position: int) -> Callable[..., Any]:
    def process(theirs: Callable[..., Any], trace: Any, *args: Any, **options: Any) -> Any:
        if not is_watching():
            return theirs(trace, *args, **options)
        traceback, around = source_info_util._source_info_context.context.traceback, _here.traceback
        programs, _here.traceback = _here.programs, traceback
        if traceback is None and programs is None:
            _here.programs = []
        try:
            results = theirs(trace, *args, **options)
        finally:
            _here.traceback = around
            if programs is None:
                book.add_operation(_here.programs or ())
            _here.programs = programs
        # What a rule computes comes from where its operation does.
        own = traceback if traceback is not around else None
        return _told(trace, args[position], results, own)

    return process


def _linearize(theirs: Callable[..., Any], function: Any, *args: Any, **options: Any) -> Any:
    """What `jax.grad` and `jax.vjp` call: what a derivative is taken for has a gradient, too."""
    given = theirs(function, *args, **options)
    if not is_watching():
        return given
    values, known, program, *rest = given
    return values, known, _with_inputs_marked(program, versions.values_in(args)), *rest


def _with_inputs_marked(jaxpr: core.Jaxpr, primals: Sequence[Any]) -> core.Jaxpr:
    marks: dict[Any, list[Mark]] = {}
    for variable, primal in zip(jaxpr.invars, primals, strict=True):
        tracer = staged(primal)
        noted = book.of_variable(tracer.val) if tracer is not None else None
        if noted is not None:
            marks[variable] = [Mark(noted, frozenset())]
    own = source_info_util.current().replace(name_stack=source_info_util.new_name_stack().transform("jvp"))
    return _with_inputs_named(jaxpr, marks, lambda _: own)


def _with_inputs_named(
    jaxpr: core.Jaxpr, marks: Mapping[Any, Sequence[Mark]], source_info: Callable[[core.JaxprEqn], Any]
) -> core.Jaxpr:
    """A program that begins with identities behind these of its inputs, as far as it uses them.

    Args:
      source_info: of an identity, by the first equation that takes the input.
    """
    taken = {atom: eqn for eqn in reversed(jaxpr.eqns) for atom in eqn.invars if not isinstance(atom, core.Literal)}
    instead: dict[Any, Any] = {}
    equations: list[Any] = []
    for variable, mark in ((one, mark) for one in marks if one in taken for mark in marks[one]):
        before = instead.get(variable, variable)
        instead[variable] = core.Var(variable.aval)
        taker = taken[variable]
        equations.append(_named(before, instead[variable], mark, source_info(taker), taker.ctx))

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
      programs: the tracebacks of what has been made of an operation so far and runs a program, where Python has called it.
    """

    traceback: Any = None
    programs: list[Any] | None = None


_here = _Here()


def staged(leaf: Any) -> Any:
    """The tracer of a program that a value is, or that is inside of what differentiates or batches; None of others."""
    while isinstance(leaf, core.Tracer) and not isinstance(leaf, pe.DynamicJaxprTracer):
        leaf = getattr(leaf, "val", getattr(leaf, "primal", None))
    return leaf if isinstance(leaf, pe.DynamicJaxprTracer) and isinstance(leaf.val, core.Var) else None


def add(equation: Any) -> None:
    """Python, and not a transformation, has made an equation."""
    if _here.programs is not None and any(True for _ in core.jaxprs_in_params(equation.params)):
        _here.programs.append(traceback_in(equation))


def _told(trace: Any, operands: Sequence[Any], results: Any, traceback: Any) -> Any:
    given = {id(one.tangent): one.primal for one in operands if isinstance(one, _DERIVED)}
    for position, one in enumerate(operands) if traceback is not None else ():
        noted = book.of_operand(traceback, position, len(operands))
        if noted is not None:
            book.add_given(staged(one), one.tangent if isinstance(one, _DERIVED) else None, noted)
    several = results if isinstance(results, list | tuple) else [results]
    for position, one in enumerate(several):
        is_told = isinstance(one, _DERIVED) and one._trace.tag is trace.tag
        if is_told and staged(one.primal) is not None:  # Un-jitted a copy would be one.
            if id(one.tangent) in given and one.primal is not given[id(one.tangent)]:
                one.tangent = _copied(trace, one.tangent)
            noted = book.of_operation(traceback, position, len(several)) if traceback is not None else None
            if noted is not None and isinstance(one.tangent, pe.DynamicJaxprTracer):
                book.add_tangent(one.tangent, noted)
    return results


_DERIVED = (ad.LinearizeTracer, ad.JVPTracer)


def _copied(trace: Any, tangent: Any) -> Any:
    """A tangent that is handed on as it is, which is to be told from what it comes from."""
    if isinstance(trace, ad.JVPTrace):
        with core.set_current_trace(trace.parent_trace):
            return lax.copy_p.bind(tangent)
    with core.set_current_trace(trace.tangent_trace), source_info_util.set_name_stack(trace._name_stack_suffix()):
        return lax.copy_p.bind(tangent)


def with_marks(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """A program with such an identity behind each named tangent; the very same if there is none."""
    return _with_arguments_marked(_with_results_marked(jaxpr))


def _with_arguments_marked(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """What is pushed beside the arguments of the function that it is the program of."""
    marks: dict[Any, list[Mark]] = {}
    for variable in jaxpr.invars:
        for noted in book.of_input_tangent(variable):
            places = frozenset(filter(is_of_arguments, noted.names))
            if places:
                marks.setdefault(variable, []).append(Mark(noted, places))
    return _with_inputs_named(jaxpr, marks, lambda taker: taker.source_info.replace(name_stack=_NO_STACK))


_NO_STACK = source_info_util.new_name_stack()


def _with_results_marked(jaxpr: core.Jaxpr) -> core.Jaxpr:
    named = {one: noted for eqn in jaxpr.eqns for one in eqn.outvars if (noted := book.of_tangent(one)) is not None}
    # Of several that an operation has become it is the last.
    named = {one: noted for noted, one in {noted: one for one, noted in named.items()}.items()}
    if not named:
        return jaxpr
    times = {id(equation): book.time_of(equation) for equation in jaxpr.eqns}
    taken: dict[Any, list[float]] = {one: [math.inf] for one in named}
    for equation in jaxpr.eqns:
        for atom in equation.invars:
            if not isinstance(atom, core.Literal) and atom in named:
                taken[atom].append(times[id(equation)])
    steps = {one: list(_steps(one, noted, taken[one])) for one, noted in named.items()}

    def at(time: float, atom: Any) -> Any:
        known = () if isinstance(atom, core.Literal) else steps.get(atom, ())
        return next((one.variable for one in reversed(known) if one.time < time), atom)

    equations: list[Any] = []
    for equation in jaxpr.eqns:
        time = times[id(equation)]
        equations.append(equation.replace(invars=[at(time, atom) for atom in equation.invars]))
        for one in equation.outvars:
            for before, step in pairwise([_Step(0, one, frozenset()), *steps.get(one, ())]):
                mark = Mark(named[one], step.places)
                equations.append(_named(before.variable, step.variable, mark, equation.source_info, equation.ctx))
    return jaxpr.replace(eqns=equations, outvars=[at(math.inf, atom) for atom in jaxpr.outvars])


class _Step(NamedTuple):
    """From when on a tangent is that of names in these places, and the variable that it is then."""

    time: float
    variable: Any
    places: frozenset[Place]


def _steps(variable: Any, noted: Noted, taken: Sequence[float]) -> Iterator[_Step]:
    """What is used between two of its names is not of the second; names between which nothing is used are of one."""
    places: set[Place] = set()
    since = {place: time for place, time in noted.times.items() if not is_of_arguments(place)}
    for time, after in pairwise([*sorted({*since.values()}), math.inf]):
        places.update(place for place, own in since.items() if own == time)
        if any(time < one <= after for one in taken):
            yield _Step(time, core.Var(variable.aval), frozenset(places))
            places.clear()
