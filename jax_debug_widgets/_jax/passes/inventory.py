"""List the debugging calls and callbacks of a program without running it: as traced, and as left by the compiler."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat.private import core, debugging, mlir, source_info_util
from jax_debug_widgets._jax.origins.context import uncached
from jax_debug_widgets._jax.origins.equation import DebugCall, Lanes
from jax_debug_widgets._jax.origins.frames import Frame, callers_of, frame_of
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.place import Place, device_names
from jax_debug_widgets._jax.passes.callbacks import by_lane, callback_readers, untapped
from jax_debug_widgets._jax.passes.program import debugging_readers, outermost
from jax_debug_widgets._jax.passes.tap import debug_tap_p

_HOST_CALL = re.compile(r'custom_call_target="xla_\w*python_\w*callback[^"]*".*?\bindex = (\d+)')
"""Matches a call of Python in the text of a compiled program; the group is the index of the program's host function."""

_PARTITIONED_CALL = re.compile(
    r'custom_call_target="xla_\w*partitioned_python_\w*callback[^"]*", '
    r"operand_layout_constraints=\{((?:[^{}]|\{[^{}]*\})*)\}.*?\bindex = (\d+)"
)
"""Matches a call that each device makes with its part (`partitioned=True`): the operands' types, and its index."""

_SHAPE = re.compile(r"\w+\[([\d,]*)\]")


@dataclass(frozen=True)
class Survey:
    """The debugging calls and callbacks found in one program.

    Attributes:
      traced: its calls as traced, in program order; a `vmap` has unrolled a debugging call into one for each lane.
      lowered: the calls that are left after JAX's own dead-code elimination.
      compiled: maps the frame of a call to the number of calls of Python that the compiled program has for it.
    """

    traced: tuple[DebugCall, ...]
    lowered: tuple[DebugCall, ...]
    compiled: Counter[Frame]


def survey(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Survey:
    """Trace `function(*args, **kwargs)` as a jitted function, lower and compile it; it does not run.

    Raises:
      Exception: whatever tracing the function raises.
    """
    program, args, kwargs = jitted(function, args, kwargs)
    name = f"jit({getattr(function, '__name__', 'f')})"
    with uncached(), lowering_seen() as seen:
        traced = program.trace(*args, **kwargs)
        lowered = traced.lower()
    found = tuple(equations_in(traced.jaxpr, name))
    remaining = tuple(equation for program in seen.programs for equation in equations_in(program, name))
    return Survey(found, remaining, host_calls(lowered.compile().as_text() or "", seen.frames))


def host_calls(text: str, frames: Sequence[Frame]) -> Counter[Frame]:
    """Map the frame of each call to the number of calls of Python that the compiled program has for it.

    Args:
      text: the text of the optimised program.
      frames: the frame of each of its host functions, in order.
    """
    return Counter(frames[int(index)] for index in _HOST_CALL.findall(text))


def parts_handed_over(text: str, frames: Sequence[Frame]) -> dict[Frame, list[tuple[tuple[int, ...], ...]]]:
    """Map the frame of each call with `partitioned=True` to the operands' shapes on each device, for each time it occurs.

    Args:
      text, frames: see `host_calls`.
    """
    parts: dict[Frame, list[tuple[tuple[int, ...], ...]]] = {}
    for types, index in sorted(_PARTITIONED_CALL.findall(text), key=lambda found: int(found[1])):
        shapes = tuple(tuple(map(int, filter(None, sizes.split(",")))) for sizes in _SHAPE.findall(types))
        parts.setdefault(frames[int(index)], []).append(shapes)
    return parts


def equations_in(program: ClosedJaxpr, name: str) -> Iterator[DebugCall]:
    """Yield the debugging calls and callbacks of a program and of those inside it, in program order.

    Args:
      program: the program, as traced or as lowered.
      name: the name of its module, `jit(f)`.
    """
    return _walk(program.jaxpr, outermost(name))


def _walk(jaxpr: core.Jaxpr, place: Place) -> Iterator[DebugCall]:
    for original in jaxpr.eqns:
        equation = untapped(original)
        describe = debugging_readers().get(equation.primitive) or callback_readers().get(equation.primitive)
        if describe is not None or equation.primitive is debug_tap_p:
            yield _described(equation, place)
        for key, inner in programs_in(equation):
            yield from _walk(inner, place.inside(equation, key, inner))
        place = place.after(equation)


def _described(equation: core.JaxprEqn, place: Place) -> DebugCall:
    params, inner, operands = dict(equation.params), equation.primitive, equation.invars
    if inner is debug_tap_p:
        operands = operands[: len(operands) - bool(params["guards"])]
        inner, params = params["inner"], dict(params["params"])
    traceback = traceback_of(equation.source_info)
    avals = [core.physical_aval(variable.aval) for variable in operands]
    describe = debugging_readers().get(inner) or callback_readers()[inner]
    path = str(place.stack + equation.source_info.name_stack)
    found = describe(params, frame_of(traceback), path, avals, Lanes((), ((),) * len(avals)))
    return replace(
        found,
        loops=by_lane(params, place.loops),
        conditional=place.conditional,
        in_condition=place.in_condition,
        callers=callers_of(traceback, place.callers),
        axes=place.axes,
        groups=place.groups,
        devices=device_names(place.mesh, place.axes),
    )


def programs_in(equation: core.JaxprEqn) -> Iterator[tuple[str, core.Jaxpr]]:
    """Yield the programs among the parameters, under the keys that `Place.inside` uses."""
    for key, value in equation.params.items():
        for index, part in enumerate(value) if isinstance(value, tuple) else [(None, value)]:
            name = key if index is None else f"branch_{index}_fun"
            if isinstance(part, ClosedJaxpr):
                yield name, part.jaxpr
            elif isinstance(part, core.Jaxpr):
                yield name, part


def jitted(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return a jitted function and its arguments.

    If the function is not jitted, arguments that are not arrays become part of it.
    """
    # A bound method has its function's attributes, but that function lacks the object.
    if isinstance(function, MethodType):
        function, args = function.__func__, (function.__self__, *args)
    if hasattr(function, "trace"):
        return function, args, kwargs
    leaves, tree = jax.tree.flatten((args, kwargs))
    places = [index for index, leaf in enumerate(leaves) if _is_array(leaf)]

    def call(*arrays: Any) -> Any:
        whole = list(leaves)
        for index, array in zip(places, arrays, strict=True):
            whole[index] = array
        args, kwargs = jax.tree.unflatten(tree, whole)
        return function(*args, **kwargs)

    return jax.jit(call), tuple(leaves[index] for index in places), {}


def _is_array(leaf: Any) -> bool:
    """Whether to trace an argument of a function that is not jitted. Integers are not traced, because they may be sizes."""
    if isinstance(leaf, int):
        return False
    try:
        core.shaped_abstractify(leaf)
    except (AssertionError, TypeError):
        return False
    return True


class LoweredPrograms:
    """Notes the programs that JAX lowers, and the frame of the equation behind each host function, in order."""

    def __init__(self) -> None:
        self.programs: list[ClosedJaxpr] = []
        self.frames: list[Frame] = []


@contextmanager
def lowering_seen() -> Iterator[LoweredPrograms]:
    """Note the programs that this thread lowers inside the context."""
    seen, thread = LoweredPrograms(), threading.get_ident()
    lower, add = mlir.lower_jaxpr_to_module, mlir.ModuleContext.add_host_callback
    # JAX lowers equal debugging equations once and drops their origins; here they must stay distinct.
    cached = {debugging.debug_print_p, debugging.debug_callback_p} - mlir._uncacheable_primitives

    def lower_seen(name: str, program: ClosedJaxpr, **options: Any) -> Any:
        if threading.get_ident() == thread:
            seen.programs.append(program)
        return lower(name, program, **options)

    def add_seen(module: Any, function: Any) -> None:
        if threading.get_ident() == thread:
            seen.frames.append(frame_of(source_info_util.current().traceback))
        add(module, function)

    mlir._uncacheable_primitives.update(cached)
    mlir.lower_jaxpr_to_module = lower_seen
    mlir.ModuleContext.add_host_callback = add_seen  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield seen
    finally:
        mlir.lower_jaxpr_to_module, mlir.ModuleContext.add_host_callback = lower, add
        mlir._uncacheable_primitives.difference_update(cached)
