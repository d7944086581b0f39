"""A pass over a whole program, just before it is lowered, that gives each debugging equation its recorder.

Only here is the path of an equation known: JAX lowers the bodies of loops and inner functions apart, with a name stack
that starts anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax import lax
from jax._src import core, debugging, source_info_util

from jax_debug_widgets._jax.callbacks import DESCRIBE_CALLBACK, has_callbacks, tapped_callback, untapped
from jax_debug_widgets._jax.equation import (
    Equation,
    Lanes,
    Recorder,
    describe_callback,
    describe_print,
    frame_of,
    frames_of,
    joined,
)
from jax_debug_widgets._jax.place import Place
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
    outer = source_info_util.current().name_stack.extend(scope_of_module(name))
    numbers = itertools.count()

    def numbered(equation: Equation) -> Recorder:
        return make_recorder(replace(equation, order=next(numbers)))

    return program.replace(jaxpr=_rewrite(program.jaxpr, Place(outer), numbered))


def scope_of_module(name: str) -> str:
    """`jit(f)`, which some versions of JAX write `jit_f`."""
    if "(" in name:
        return name
    transform, _, function = name.partition("_")
    return f"{transform}({function})"


def _rewrite(jaxpr: core.Jaxpr, place: Place, make_recorder: MakeRecorder) -> core.Jaxpr:
    equations: list[core.JaxprEqn] = []
    for equation in map(untapped, jaxpr.eqns):
        if equation.primitive in (*DESCRIBE, *DESCRIBE_CALLBACK, debug_tap_p):
            equations += _tapped(equation, place, make_recorder)
        elif any(map(_has_debugging, core.jaxprs_in_params(equation.params))):
            equations.append(_entered(equation, place, make_recorder))
        else:
            equations.append(equation)
        place = place.after(equation)
    return jaxpr.replace(eqns=equations)


def _entered(equation: core.JaxprEqn, place: Place, make_recorder: MakeRecorder) -> core.JaxprEqn:
    """An equation that has programs among its parameters, with these rewritten."""

    def rewritten(key: str, value: Any) -> Any:
        if isinstance(value, tuple):
            parts = (rewritten(f"branch_{index}_fun", part) for index, part in enumerate(value))
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, core.ClosedJaxpr):
            return value.replace(jaxpr=rewritten(key, value.jaxpr))
        if isinstance(value, core.Jaxpr) and _has_debugging(value):
            return _rewrite(value, place.inside(equation, key, value), make_recorder)
        return value

    return equation.replace(params={key: rewritten(key, value) for key, value in equation.params.items()})


def _tapped(equation: core.JaxprEqn, place: Place, make_recorder: MakeRecorder) -> list[core.JaxprEqn]:
    """A debugging equation as a `debug_tap`, after the equations that compute where on the mesh it runs."""
    avals = [core.physical_aval(variable.aval) for variable in equation.invars]
    if equation.primitive is debug_tap_p:
        inner, params, lanes = (equation.params[key] for key in ("inner", "params", "lanes"))
    else:
        inner, params = equation.primitive, tuple(equation.params.items())
        lanes = Lanes((), ((),) * len(avals))
    path = str(place.stack + equation.source_info.name_stack)
    described = replace(
        {**DESCRIBE, **DESCRIBE_CALLBACK}[inner](
            dict(params), frame_of(equation.source_info.traceback), path, avals, lanes
        ),
        callers=joined(frames_of(equation.source_info.traceback), place.callers)[1:],
        loops=place.loops,
        conditional=place.conditional,
        in_condition=place.in_condition,
        steady=bool(place.loops) and all(map(place.is_steady, equation.invars)),
        axes=place.axes,
        devices=_device_names(place),
    )
    coordinates = _coordinate_equations(place, equation)
    tap: Mapping[str, Any] = {"inner": inner, "params": params, "lanes": lanes, "record": make_recorder(described)}
    operands = [*equation.invars, *(one.outvars[0] for one in coordinates)]
    if inner in DESCRIBE_CALLBACK:
        return [*coordinates, tapped_callback(equation, operands, tap["record"])]
    return [*coordinates, equation.replace(primitive=debug_tap_p, invars=operands, params=tap)]


def _coordinate_equations(place: Place, beside: core.JaxprEqn) -> list[core.JaxprEqn]:
    """`axis_index` of each axis of the mesh, with fresh variables."""
    if not place.axes:
        return []
    with core.extend_axis_env_nd([(name, place.mesh.shape[name]) for name in place.axes]):
        traced = jax.make_jaxpr(lambda: [lax.axis_index(name) for name in place.axes])()
    # The effect says that an axis is read; it is bound around this program, so it is not an effect of it.
    return [
        one.replace(source_info=beside.source_info, ctx=beside.ctx, effects=core.no_effects)
        for one in traced.jaxpr.eqns
    ]


def _device_names(place: Place) -> Any:
    devices = getattr(place.mesh, "devices", None)
    if devices is None or len(place.axes) != devices.ndim:
        return None
    return np.vectorize(lambda device: f"{device.platform}:{device.id}", otypes=[object])(devices).tolist()


def _has_debugging(jaxpr: core.Jaxpr) -> bool:
    effects = (debugging.DebugEffect, debugging.OrderedDebugEffect)
    return any(isinstance(effect, effects) for effect in jaxpr.effects) or has_callbacks(jaxpr)
