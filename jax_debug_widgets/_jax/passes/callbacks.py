"""Describe and tap the equations of `pure_callback`, `io_callback` and `inspect_array_sharding`.

A tapped callback is the same custom call, with the same flags, at the same place of the program: XLA removes, hoists
and merges it as it would JAX's own. Only its host function is ours: it passes the operands to the user's function
without JAX's wait (see `arrays`), and records the call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from jax.extend import core as jax_core

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.caching import cached_fact
from jax_debug_widgets._jax.compat.private import callback as jax_callback
from jax_debug_widgets._jax.compat.private import core, debugging, dispatch, mlir
from jax_debug_widgets._jax.compat.registrations import registers
from jax_debug_widgets._jax.origins.describe import function_name, is_breakpoint, stop_point
from jax_debug_widgets._jax.origins.equation import DebugCall, Lanes, Loop
from jax_debug_widgets._jax.origins.frames import Frame

if TYPE_CHECKING:
    from jax_debug_widgets.events import Kind

pure_tap_p = jax_core.Primitive("pure_callback")
io_tap_p = jax_core.Primitive("io_callback")
pure_tap_p.multiple_results = io_tap_p.multiple_results = True
"""The primitives of tapped callbacks: JAX's parameters and `record`. They have JAX's names, because XLA's metadata
contains them.
"""


@functools.cache
def taps_of_callbacks() -> Mapping[Any, Any]:
    """Map JAX's primitives that call user functions for results to the primitives of tapped callbacks."""
    if not features.available(features.CALLBACKS):
        return {}
    return {jax_callback.pure_callback_p: pure_tap_p, jax_callback.io_callback_p: io_tap_p}


def describe_pure(
    params: Mapping[str, Any], frame: Frame, name_stack: str, avals: Sequence[Any], lanes: Lanes
) -> DebugCall:
    """Describe the equation of a `pure_callback` primitive with these parameters."""
    kind: Kind = "breakpoint" if is_breakpoint(params["callback"].callback_func) else "pure"
    return _describe(kind, False, jax_callback.pure_callback_impl, params, frame, name_stack, avals, lanes)


def describe_io(
    params: Mapping[str, Any], frame: Frame, name_stack: str, avals: Sequence[Any], lanes: Lanes
) -> DebugCall:
    """Describe the equation of an `io_callback` primitive with these parameters."""
    return _describe("io", params["ordered"], jax_callback.io_callback_impl, params, frame, name_stack, avals, lanes)


def describe_sharding(
    params: Mapping[str, Any], frame: Frame, name_stack: str, avals: Sequence[Any], lanes: Lanes
) -> DebugCall:
    """Describe the equation of an `inspect_sharding` primitive; its user function is called once, by the compiler."""
    del avals, lanes
    return DebugCall(
        kind="sharding",
        ordered=False,
        frame=frame,
        name_stack=name_stack,
        shapes=(),
        dtypes=(),
        lanes=Lanes((), ()),
        in_tree=None,
        format=function_name(params["callback"]),
        run=params["callback"],
    )


def _describe(
    kind: Kind,
    ordered: bool,
    implementation: Callable[..., Any],
    params: Mapping[str, Any],
    frame: Frame,
    name_stack: str,
    avals: Sequence[Any],
    lanes: Lanes,
) -> DebugCall:
    params, _ = without_lanes(params)
    flat_callback = params["callback"]

    def run(*operands: Any) -> Any:
        return implementation(*operands, **params)

    return DebugCall(
        kind=kind,
        ordered=ordered,
        frame=frame,
        name_stack=name_stack,
        shapes=tuple(tuple(aval.shape) for aval in avals),
        dtypes=tuple(aval.dtype for aval in avals),
        lanes=lanes,
        in_tree=flat_callback.in_tree,
        format=function_name(flat_callback.callback_func),
        run=run,
        results=tuple(str(aval) for aval in params["result_avals"]),
        returns=tuple((tuple(aval.shape), aval.dtype) for aval in params["result_avals"]),
        stop=stop_point(flat_callback.callback_func),
        vmap_method=params.get("vmap_method"),
    )


@functools.cache
def callback_readers() -> Mapping[Any, Callable[..., DebugCall]]:
    """Map JAX's primitives that call user functions on the host, except debugging prints, to functions that describe them."""
    if not features.available(features.CALLBACKS):
        return {}
    return {
        jax_callback.pure_callback_p: describe_pure,
        jax_callback.io_callback_p: describe_io,
        **dict.fromkeys(inspections(), describe_sharding),
    }


def inspections() -> tuple[Any, ...]:
    """Return JAX's primitive of `jax.debug.inspect_array_sharding`; empty if it is unknown."""
    return (debugging.inspect_sharding_p,) if features.available(features.CALLBACKS) else ()


@dataclass(frozen=True)
class LanewiseCallback:
    """A host function that JAX calls in loops over the lanes of a `vmap`; it replaces JAX's `_FlatCallback`.

    Attributes:
      plain: JAX's `_FlatCallback`.
      axes: the number of innermost loops over lanes.
    """

    plain: Any
    axes: int

    @property
    def callback_func(self) -> Callable[..., Any]:
        """Return the user's function."""
        return self.plain.callback_func

    @property
    def in_tree(self) -> Any:
        """Return the structure of its arguments."""
        return self.plain.in_tree

    def __call__(self, *operands: Any) -> Any:
        return self.plain(*operands)


def lanewise(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a callback that is about to be batched; they record whether JAX makes a loop over its lanes."""
    callback = params["callback"]
    if params.get("vmap_method", "sequential") not in ("sequential", "sequential_unrolled"):
        return dict(params)
    return {**params, "callback": LanewiseCallback(_plain(callback), _axes_of(callback) + 1)}


def without_lanes(params: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the parameters of an un-jitted callback, which runs once for each lane, and the number of loops over lanes."""
    callback = params["callback"]
    return {**params, "callback": _plain(callback)}, _axes_of(callback)


def by_lane(params: Mapping[str, Any], loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """Return the loops around a callback, with those over lanes marked."""
    steps = len(loops) - _axes_of(params.get("callback"))
    return (*loops[:steps], *(replace(loop, lanes=True) for loop in loops[steps:]))


def _plain(callback: Any) -> Any:
    return callback.plain if isinstance(callback, LanewiseCallback) else callback


def _axes_of(callback: object) -> int:
    return callback.axes if isinstance(callback, LanewiseCallback) else 0


@cached_fact
def has_callbacks(jaxpr: core.Jaxpr) -> bool:
    """Whether the program, or one inside it, calls the host for a result: such calls need not have an effect."""
    return any(
        untapped(equation).primitive in callback_readers()
        or any(map(has_callbacks, core.jaxprs_in_params(equation.params)))
        for equation in jaxpr.eqns
    )


@dataclass(frozen=True)
class UnjittedCall:
    """The place in Python where a callback runs un-jitted.

    Attributes:
      place: identifies the place.
      loops: the Python loops around it; its last operands are their iterations.
    """

    place: Any
    loops: tuple[Loop, ...]


def untapped(equation: core.JaxprEqn) -> core.JaxprEqn:
    """Return the equation with JAX's own primitive, if `CallbackHooks` bound it un-jitted; else unchanged."""
    for primitive, tap in taps_of_callbacks().items():
        if equation.primitive is tap:
            params = dict(equation.params)
            own = len(equation.invars) - len(params.pop("at").loops)
            return equation.replace(primitive=primitive, invars=equation.invars[:own], params=params)
    return equation


def python_loops(equation: core.JaxprEqn) -> tuple[tuple[Loop, ...], tuple[Any, ...]]:
    """Return the Python loops around an un-jitted equation of `CallbackHooks`, and the variables that hold their iterations."""
    loops = equation.params["at"].loops
    return loops, tuple(equation.invars[len(equation.invars) - len(loops) :])


def tapped_callback(equation: core.JaxprEqn, operands: Sequence[Any], record: Callable[..., Any]) -> core.JaxprEqn:
    """Make a callback's equation call `record` with `operands` as NumPy arrays (`inspect_sharding`: with a sharding)."""
    if equation.primitive in inspections():
        return equation.replace(params={**equation.params, "callback": record})
    params = {**equation.params, "record": record}
    return equation.replace(primitive=taps_of_callbacks()[equation.primitive], invars=list(operands), params=params)


@pure_tap_p.def_abstract_eval
def _pure_abstract_eval(*_avals: Any, result_avals: Any, **_params: Any) -> Any:
    return result_avals


@io_tap_p.def_effectful_abstract_eval
def _io_abstract_eval(*_avals: Any, result_avals: Any, ordered: bool, **_params: Any) -> Any:
    return result_avals, {jax_callback._OrderedIOEffect if ordered else jax_callback._IOEffect}


def _lower_tap(has_side_effect: bool, ctx: Any, *operands: Any, record: Callable[..., Any], **params: Any) -> Any:
    """Lower a tapped callback as `pure_callback_lowering` and `io_callback_lowering` do, with a call of `record`."""
    sharding = jax_callback._callback_op_sharding(ctx.module_context.axis_context, params["sharding"], ctx.avals_out)
    ordered = params.get("ordered", False)
    effect = jax_callback._OrderedIOEffect
    results, token, _ = versions.emit_python_callback(
        ctx,
        record,
        ctx.tokens_in.get(effect) if ordered else None,
        list(operands),
        ctx.avals_in,
        ctx.avals_out,
        has_side_effect=has_side_effect,
        returns_token=ordered,
        sharding=sharding,
    )
    if ordered:
        ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({effect: token})))
    return results


@registers(features.CALLBACKS)
def _register() -> None:
    for tap, has_side_effect in ((pure_tap_p, False), (io_tap_p, True)):
        dispatch.prim_requires_devices_during_lowering.add(tap)
        mlir.register_lowering(tap, partial(_lower_tap, has_side_effect), cacheable=False)
