"""Find the cotangents of named values in a backward pass.

JAX pushes a tangent beside each value that is differentiated. While Python differentiates a function, the value's
tracer holds its tangent, so the value's name is noted for both (`bindings`). In programs that JAX makes later, both
have the same traceback. An identity with that name is put behind the tangent. When it is transposed, its operand is the
whole cotangent. Otherwise there may be no equation for it: a cotangent that is passed on unchanged, or summed from
several uses, has no equation of its own. The identity is lowered to nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.parameters import argument, parameters_of
from jax_debug_widgets._jax.compat.private import ad, core, lax, pe, source_info_util
from jax_debug_widgets._jax.compat.replacements import Replacements
from jax_debug_widgets._jax.origins.name_registry import book
from jax_debug_widgets._jax.origins.origins import Operation, operation_of
from jax_debug_widgets._jax.origins.residuals import is_residual_now, mark_residuals, marked_as_copy
from jax_debug_widgets._jax.tracing import rule_equations
from jax_debug_widgets._jax.tracing.copies import is_array, is_copied, is_copied_in, is_marking
from jax_debug_widgets._jax.tracing.marks import Mark, is_mark, named_equation, stack_of_input


def is_put_in(equation: Any) -> bool:
    """Whether an equation is in a program only because values are watched: a naming identity, or a copy for a derivative."""
    return is_mark(equation) or is_copied(equation) or is_copied_in(equation, _copied)


def put_in(replace: Replacements) -> None:
    """Replace JAX's functions by ours."""
    for trace in (ad.LinearizeTrace, ad.JVPTrace):
        for name in _PROCESSING:
            if hasattr(trace, name):  # Since jax 0.12 calls are ordinary primitives.
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
        # A derivative rule's equations have the traceback of its operation.
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
        return _noted_results(trace, taken, results, own, args[0].name, made() if made else ())

    return process


def _linearize(theirs: Callable[..., Any], function: Any, *args: Any, **options: Any) -> Any:
    """Linearize for `jax.grad` and `jax.vjp`; mark the tangents of the inputs, so that inputs have gradients too."""
    given = theirs(function, *args, **options)
    if not is_marking():
        return given
    values, known, program, *rest = given
    return values, known, _with_inputs_marked(program, versions.values_in(args)), *rest


def _with_inputs_marked(jaxpr: core.Jaxpr, primals: Sequence[Any]) -> core.Jaxpr:
    taken = {atom: eqn for eqn in reversed(jaxpr.eqns) for atom in eqn.invars if not isinstance(atom, core.Literal)}
    instead: dict[Any, Any] = {}
    equations: list[Any] = []
    # Since jax 0.12 the constants come before the inputs.
    for variable, primal in zip(jaxpr.invars[len(jaxpr.invars) - len(primals) :], primals, strict=True):
        tracer = staged(primal)
        is_taken = variable in taken and is_array(variable.aval)
        noted = book.of_variable(tracer.val) if tracer is not None and is_taken else None
        if noted is not None:
            own = source_info_util.current().replace(name_stack=stack_of_input(is_direct=True))
            instead[variable] = core.Var(variable.aval)
            equations.append(
                named_equation(variable, instead[variable], Mark(noted, frozenset()), own, taken[variable].ctx)
            )

    def new(atom: Any) -> Any:
        return atom if isinstance(atom, core.Literal) else instead.get(atom, atom)

    equations += [one.replace(invars=[new(atom) for atom in one.invars]) for one in jaxpr.eqns]
    return jaxpr.replace(eqns=equations, outvars=[new(atom) for atom in jaxpr.outvars]) if instead else jaxpr


class _Here(threading.local):
    """The state of the current thread while it differentiates.

    Attributes:
      traceback: the traceback of the operation that is differentiated, if it is in a program.
      programs: the operations with a jaxpr of their own that were made so far for the operation that Python called.
    """

    traceback: Any = None
    programs: list[Operation] | None = None


_here = _Here()


def staged(leaf: Any) -> Any:
    """Return the tracer of a value in the program being traced, also inside tracers of derivatives; None without one."""
    while isinstance(leaf, core.Tracer) and not isinstance(leaf, pe.DynamicJaxprTracer):
        leaf = getattr(leaf, "val", getattr(leaf, "primal", None))
    return leaf if isinstance(leaf, pe.DynamicJaxprTracer) and isinstance(leaf.val, core.Var) else None


def tangent_of(leaf: Any) -> Any:
    """Return the tracer of the tangent that the innermost derivative pushes beside a value; None if it is not pulled back."""
    while isinstance(leaf, core.Tracer) and not isinstance(leaf, ad.LinearizeTracer):
        leaf = getattr(leaf, "val", getattr(leaf, "primal", None))
    tangent = leaf.tangent if isinstance(leaf, ad.LinearizeTracer) else None
    return tangent if isinstance(tangent, pe.DynamicJaxprTracer) else None


def add(equation: Any) -> None:
    """Note an equation that Python has made, and not a transformation."""
    if _here.programs is not None and any(True for _ in core.jaxprs_in_params(equation.params)):
        _here.programs.append(operation_of(equation))


def _noted_results(
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
        if primal is None:  # In un-jitted code a copy would be an operation.
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
    """Copy a tangent that an operation passes on unchanged, so that its result is another variable."""
    if not is_array(core.typeof(tangent)):
        return tangent
    if isinstance(trace, ad.JVPTrace):
        own, stack = trace.parent_trace, source_info_util.current_name_stack()
    else:
        own, stack = trace.tangent_trace, trace._name_stack_suffix()
    with core.set_current_trace(own), source_info_util.set_name_stack(marked_as_copy(stack)):
        return lax.copy_p.bind(tangent)
