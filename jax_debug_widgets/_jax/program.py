"""A pass over a whole program, just before it is lowered, that gives each debugging equation its recorder.

Only here is the path of an equation known: JAX lowers the bodies of loops and inner functions apart, with a name stack
that starts anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from jax._src import core, debugging, source_info_util

from jax_debug_widgets._jax.equation import Equation, Lanes, Recorder, describe_callback, describe_print, frame_of
from jax_debug_widgets._jax.tap import debug_tap_p

DESCRIBE = {debugging.debug_print_p: describe_print, debugging.debug_callback_p: describe_callback}
"""JAX's debugging primitives, and how each is read."""

MakeRecorder = Callable[[Equation], Recorder]


def with_recorders(program: core.ClosedJaxpr, name: str, make_recorder: MakeRecorder) -> core.ClosedJaxpr:
    """The same program with every debugging equation replaced by a `debug_tap` that calls `make_recorder(equation)`.

    Args:
      program: as traced; not changed.
      name: of its module, `jit(f)`.
    """
    if not _has_debugging(program.jaxpr):
        return program
    # Un-jitted transformations run each equation as a program of its own; what they are is in the current stack.
    outer = source_info_util.current().name_stack.extend(_scope_of_module(name))
    numbers = itertools.count()

    def numbered(equation: Equation) -> Recorder:
        return make_recorder(replace(equation, order=next(numbers)))

    return program.replace(jaxpr=_rewrite(program.jaxpr, outer, numbered))


def _scope_of_module(name: str) -> str:
    """`jit(f)`, which some versions of JAX write `jit_f`."""
    if "(" in name:
        return name
    transform, _, function = name.partition("_")
    return f"{transform}({function})"


def _rewrite(jaxpr: core.Jaxpr, outer: Any, make_recorder: MakeRecorder) -> core.Jaxpr:
    def rewritten(equation: core.JaxprEqn) -> core.JaxprEqn:
        stack = outer + equation.source_info.name_stack
        if equation.primitive in DESCRIBE or equation.primitive is debug_tap_p:
            return _tapped(equation, str(stack), make_recorder)
        if not any(map(_has_debugging, core.jaxprs_in_params(equation.params))):
            return equation
        params = {
            key: _rewrite_parameter(value, equation, key, stack, make_recorder)
            for key, value in equation.params.items()
        }
        return equation.replace(params=params)

    return jaxpr.replace(eqns=[rewritten(equation) for equation in jaxpr.eqns])


def _rewrite_parameter(value: Any, equation: core.JaxprEqn, key: str, outer: Any, make_recorder: MakeRecorder) -> Any:
    if isinstance(value, tuple):
        parts = (
            _rewrite_parameter(part, equation, f"branch_{index}_fun", outer, make_recorder)
            for index, part in enumerate(value)
        )
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, core.ClosedJaxpr):
        return value.replace(jaxpr=_rewrite_parameter(value.jaxpr, equation, key, outer, make_recorder))
    if isinstance(value, core.Jaxpr) and _has_debugging(value):
        stack = outer
        for scope in _scopes(equation, key):
            stack = stack.extend(scope)
        return _rewrite(value, stack, make_recorder)
    return value


def _scopes(equation: core.JaxprEqn, key: str) -> Iterator[str]:
    """What JAX's name stack would say of a program inside this equation."""
    primitive, params = equation.primitive.name, equation.params
    if primitive in ("jit", "pjit", "closed_call", "core_call"):
        if params.get("name"):
            yield f"jit({params['name']})"
    elif primitive == "while":
        yield "while"
        yield "cond" if key == "cond_jaxpr" else "body"
    elif primitive == "scan":
        yield "scan"
    elif primitive == "cond":
        yield "cond"
        yield key
    elif primitive in ("checkpoint", "remat", "remat2"):
        # Differentiated, it is the recomputation of the backward pass, and its equations' own stacks say so.
        if not params.get("differentiated"):
            yield "checkpoint"
    else:
        yield primitive


def _tapped(equation: core.JaxprEqn, path: str, make_recorder: MakeRecorder) -> core.JaxprEqn:
    avals = [core.physical_aval(variable.aval) for variable in equation.invars]
    if equation.primitive is debug_tap_p:
        inner, params, lanes = (equation.params[key] for key in ("inner", "params", "lanes"))
    else:
        inner, params = equation.primitive, tuple(equation.params.items())
        lanes = Lanes((), ((),) * len(avals))
    described = DESCRIBE[inner](dict(params), frame_of(equation.source_info.traceback), path, avals, lanes)
    tap: Mapping[str, Any] = {"inner": inner, "params": params, "lanes": lanes, "record": make_recorder(described)}
    return equation.replace(primitive=debug_tap_p, params=tap)


def _has_debugging(jaxpr: core.Jaxpr) -> bool:
    return any(isinstance(effect, (debugging.DebugEffect, debugging.OrderedDebugEffect)) for effect in jaxpr.effects)
