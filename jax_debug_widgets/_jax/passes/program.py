"""Pass over a whole program, just before it is lowered, and give each debugging equation its recorder.

Only at this moment is an equation's path known: JAX lowers bodies of loops and inner functions separately, each with a
new name stack.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import core, debugging, source_info_util
from jax_debug_widgets._jax.origins.context import is_captured_alone
from jax_debug_widgets._jax.origins.describe import describe_callback, describe_print
from jax_debug_widgets._jax.origins.equation import DebugCall, Guard, Lanes, Recorder, record_every
from jax_debug_widgets._jax.origins.frames import callers_of, frame_of
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.kernel_prints import has_debugging, has_printing_kernels
from jax_debug_widgets._jax.origins.place import Place, device_names
from jax_debug_widgets._jax.passes.callbacks import (
    by_lane,
    callback_readers,
    has_callbacks,
    inspections,
    python_loops,
    tapped_callback,
    taps_of_callbacks,
    untapped,
)
from jax_debug_widgets._jax.passes.conditions import is_asked_twice, with_one_predicate
from jax_debug_widgets._jax.passes.hoisting import left
from jax_debug_widgets._jax.passes.joining import with_joined_prints
from jax_debug_widgets._jax.passes.operands import (
    can_close,
    close_over,
    computed,
    new_number,
    used_in,
    with_counter,
    with_programs,
)
from jax_debug_widgets._jax.passes.partitioned import is_in_parts, number_of_lane, one_a_lane
from jax_debug_widgets._jax.passes.phantoms import nowhere
from jax_debug_widgets._jax.passes.stop import debug_stop_p, describe_stop, with_recorder
from jax_debug_widgets._jax.passes.tap import as_tap, debug_tap_p


@functools.cache
def debugging_readers() -> Mapping[Any, Callable[..., DebugCall]]:
    """Map JAX's debugging primitives to the functions that describe their equations."""
    return {debugging.debug_print_p: describe_print, debugging.debug_callback_p: describe_callback}


@functools.cache
def _readers() -> Mapping[Any, Callable[..., DebugCall]]:
    return {**debugging_readers(), **callback_readers(), debug_stop_p: describe_stop}


_NEVER_RUN = {("custom_linear_solve", f"branch_{part}_fun") for part in (0, 1, 3)}
"""Programs that an equation has only for its derivatives: `matvec`, `vecmat` and `transpose_solve` beside `solve`."""

MakeRecorder = Callable[[DebugCall], Recorder]


def with_recorders(program: ClosedJaxpr, name: str, replicas: int, make_recorder: MakeRecorder) -> ClosedJaxpr:
    """Replace every debugging equation of a program by a `debug_tap` that calls `make_recorder(equation)`.

    Args:
      program: the program as traced; it is not changed.
      name: the name of its module, `jit(f)`.
      replicas: how many devices run the program.
    """
    if not _has_taps(program.jaxpr):
        return program
    numbers = itertools.count()

    def numbered(equation: DebugCall) -> Recorder:
        return make_recorder(replace(equation, order=next(numbers), replicas=replicas))

    place = outermost(name)
    if _calls_unrolled_lanes(program.jaxpr):
        place = replace(place, apart=frozenset(program.jaxpr.invars))
    return program.replace(jaxpr=_rewrite(program.jaxpr, place, numbered))


def _calls_unrolled_lanes(jaxpr: core.Jaxpr) -> bool:
    return any(
        equation.params.get("vmap_method") == "sequential_unrolled"
        or any(map(_calls_unrolled_lanes, core.jaxprs_in_params(equation.params)))
        for equation in jaxpr.eqns
    )


def without_debugging(program: ClosedJaxpr) -> ClosedJaxpr:
    """Remove the debugging equations that a program has because it was traced before `debug=False` was set."""
    left_out = (*debugging_readers(), debug_tap_p, *inspections())
    return program.replace(jaxpr=without(program.jaxpr, left_out))


def without(jaxpr: core.Jaxpr, left_out: Collection[Any]) -> core.Jaxpr:
    """Remove the equations of the primitives `left_out`, which have no results; the same object if there are none."""
    if not has(jaxpr, left_out):
        return jaxpr
    kept = [equation for equation in jaxpr.eqns if equation.primitive not in left_out]
    inside = [with_programs(equation, lambda _key, program: without(program, left_out)) for equation in kept]
    return jaxpr.replace(eqns=inside)


def has(jaxpr: core.Jaxpr, primitives: Collection[Any]) -> bool:
    """Whether a program has an equation of one of these primitives, however deep."""
    return any(
        equation.primitive in primitives
        or any(has(program, primitives) for program in core.jaxprs_in_params(equation.params))
        for equation in jaxpr.eqns
    )


def outermost(name: str) -> Place:
    """Return the place of a program that JAX lowers as the module `name`."""
    # Un-jitted transformations run each equation as a separate program; the current stack contains the transformations.
    return Place(source_info_util.current().name_stack.extend(scope_of_module(name)))


def scope_of_module(name: str) -> str:
    """Return the scope of a module: `jit(f)`, which some versions of JAX write `jit_f`."""
    if "(" in name:
        return name
    transform, _, function = name.partition("_")
    return f"{transform}({function})"


def _rewrite(jaxpr: core.Jaxpr, place: Place, make_recorder: MakeRecorder) -> core.Jaxpr:
    equations: list[core.JaxprEqn] = []
    for equation in itertools.chain.from_iterable(one_a_lane(one, place) for one in jaxpr.eqns):
        if equation.primitive is debug_stop_p and is_captured_alone():  # Without a recorder it compiles to nothing.
            equations.append(equation)
        elif equation.primitive in taps_of_callbacks().values():
            equations += _tapped(untapped(equation), _in_python(equation, place), make_recorder)
        elif equation.primitive in (
            *debugging_readers(),
            *callback_readers(),
            debug_tap_p,
            debug_stop_p,
        ):
            equations += _tapped(equation, place, make_recorder)
        elif any(map(_has_taps, core.jaxprs_in_params(equation.params))):
            equations.append(_entered(equation, place, make_recorder))
        else:
            equations.append(equation)
        place = place.after(equation)
    return jaxpr.replace(eqns=with_joined_prints(equations, place))


def _in_python(equation: core.JaxprEqn, place: Place) -> Place:
    """Return the place of a callback that runs un-jitted, with the Python loops around it."""
    loops, counters = python_loops(equation)
    return replace(place, loops=loops, counters=counters, pinned=True, in_python=True) if loops else place


def _entered(equation: core.JaxprEqn, place: Place, make_recorder: MakeRecorder) -> core.JaxprEqn:
    """Return an equation with programs among its parameters, with these programs rewritten."""
    counter = new_number() if equation.primitive.name in ("scan", "while") else None
    known = place.counters if can_close(equation, in_mesh=True) else ()

    def rewrite(key: str, program: core.Jaxpr, **differing: Any) -> core.Jaxpr:
        if not _has_taps(program) or (equation.primitive.name, key) in _NEVER_RUN:
            return program
        counters = (*known, *([counter] if counter else ()))
        inside = replace(place.inside(equation, key, program), counters=counters, **differing)
        return _rewrite(program, inside, make_recorder)

    rewritten = with_programs(equation, rewrite)
    if features.available(features.PHANTOMS) and is_asked_twice(equation) and not is_captured_alone():
        again = nowhere(equation.params["cond_jaxpr"].jaxpr)
        rewritten = with_one_predicate(rewritten, rewrite("cond_jaxpr", again, conditional=True))
    if counter is not None and used_in(rewritten, [counter]):
        rewritten = with_counter(rewritten, counter)
    return close_over(rewritten, used_in(rewritten, known))


def _tapped(original: core.JaxprEqn, place: Place, make_recorder: MakeRecorder) -> list[core.JaxprEqn]:
    """Return a debugging equation as a `debug_tap`, after the equations that compute its coordinates and counters."""
    equation, guard = without_guard(as_tap(original), place)
    inner = equation.params["inner"]
    described = describe(equation, guard, place)
    record = make_recorder(described)
    every = record_every(record)
    by_step = [one for one, loop in zip(place.counters, described.loops, strict=False) if not loop.lanes]
    counters = by_step if described.counted or every is not None else ()
    coordinates = coordinate_equations(place, equation)
    numbering, number = number_of_lane(described, place) if described.numbered else ([], None)
    operands = [
        *equation.invars,
        *([guard.operand] if guard else ()),
        *counters,
        *(one.outvars[0] for one in coordinates),
        *([number] if described.numbered else ()),
    ]
    coordinates += numbering
    if inner is debug_stop_p:
        return [*coordinates, with_recorder(original, operands, record)]
    if inner in callback_readers():
        return [*coordinates, tapped_callback(original, operands, record)]
    tapped = equation.replace(invars=operands, params={**equation.params, "record": record})
    if every is not None and every > 1:
        return [*coordinates, *_sampled(tapped, place, every)]
    return [*coordinates, tapped]


def describe(equation: core.JaxprEqn, guard: Guard | None, place: Place, order: int = -1) -> DebugCall:
    """Describe the debugging equation that a `debug_tap` at this place represents; `order` is that of `DebugCall`."""
    avals = [core.physical_aval(variable.aval) for variable in equation.invars]
    inner, params, lanes = (equation.params[key] for key in ("inner", "params", "lanes"))
    traceback, name_stack = traceback_of(equation.source_info), equation.source_info.name_stack
    steady = not place.pinned and bool(place.loops) and all(map(place.is_steady, equation.invars))
    loops = by_lane(dict(params), place.loops)
    by_itself = [loop for loop in loops if loop.lanes and loop.unrolled]
    can_count = bool(place.loops) and len(place.counters) == len(place.loops)
    return replace(
        _readers()[inner](dict(params), frame_of(traceback), str(place.stack + name_stack), avals, lanes),
        order=order,
        callers=callers_of(traceback, place.callers),
        loops=loops,
        conditional=place.conditional or (inner is debug_stop_p and dict(params)["spec"].conditional),
        in_condition=place.in_condition,
        steady=steady,
        # A counter among the operands would keep XLA from hoisting the call, and from merging pure callbacks.
        countable=not steady and can_count and inner.name != "pure_callback",
        numbered=bool(by_itself) and all(loop.apart for loop in by_itself) and len(place.counters) == len(loops),
        in_python=place.in_python,
        version=place.version,
        guard=guard,
        hoisted=left(equation.params["home"], tuple(loop.length for loop in place.loops)),
        axes=place.axes,
        devices=device_names(place.mesh, place.axes),
        groups=place.groups,
        in_parts=is_in_parts(dict(params), place),
    )


def without_guard(equation: core.JaxprEqn, place: Place) -> tuple[core.JaxprEqn, Guard | None]:
    """Return the equation with only the user's values as operands, and the guard for phantoms; None without one."""
    if not equation.params["guards"]:
        return equation, None
    *values, operand = equation.invars
    params = dict(equation.params)
    lanes, causes = params["lanes"], params["guards"]
    params |= {"lanes": Lanes(lanes.sizes, lanes.mapped[:-1]), "guards": ()}
    bare = equation.replace(invars=values, params=params)
    if place.loops and not place.is_steady(operand) and all(map(place.is_steady, values)):
        return bare, None  # In plain JAX, XLA hoists it; it must be free to do so here.
    return bare, Guard(operand, lanes.mapped[-1], causes)


def _sampled(tapped: core.JaxprEqn, place: Place, every: int) -> list[core.JaxprEqn]:
    """Return the equation in a `cond` that runs it only in every n-th iteration, counted over the loops around it."""

    def chosen(*counters: Any) -> Any:
        ordinal = counters[0]
        for counter, loop in zip(counters[1:], place.loops[1:], strict=True):
            # The length of an inner loop may be unknown; then only the loop's own iterations are counted.
            ordinal = counter if loop.length is None else ordinal * np.int32(loop.length) + counter
        return lax.convert_element_type(lax.eq(lax.rem(ordinal, np.int32(every)), np.int32(0)), np.int32)

    equations, index = computed(chosen, place.counters)
    inputs: list[Any] = [core.Var(operand.aval) for operand in tapped.invars]
    debug_info = core.DebugInfo("sampling", "sampled", None, None)
    skip = core.Jaxpr([], inputs, [], [], core.no_effects, debug_info)
    take = core.Jaxpr([], inputs, [], [tapped.replace(invars=inputs)], tapped.effects, debug_info)
    branches = (ClosedJaxpr(skip, ()), ClosedJaxpr(take, ()))
    return [
        *equations,
        tapped.replace(primitive=lax.cond_p, invars=[index, *tapped.invars], params={"branches": branches}),
    ]


def coordinate_equations(place: Place, beside: core.JaxprEqn) -> list[core.JaxprEqn]:
    """Return the equations of `axis_index` for each mapped axis of the mesh, with new variables."""
    if not place.axes:
        return []
    with core.extend_axis_env_nd([(name, place.mesh.shape[name]) for name in place.axes]):
        traced = jax.make_jaxpr(lambda: [lax.axis_index(name) for name in place.axes])()
    # The effect marks that an axis is read. The axis is bound around this program, so the program has no such effect.
    return [
        one.replace(source_info=beside.source_info, ctx=beside.ctx, effects=core.no_effects)
        for one in traced.jaxpr.eqns
    ]


def _has_taps(jaxpr: core.Jaxpr) -> bool:
    return has_debugging(jaxpr) or has_callbacks(jaxpr) or has_printing_kernels(jaxpr)
