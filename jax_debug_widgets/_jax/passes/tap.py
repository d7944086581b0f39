"""Define the `debug_tap` primitive: a debugging equation with its `vmap` lanes and, when it is lowered, its recorder.

JAX unrolls a vmapped callback into one call a lane: 1024 lanes take seconds to compile and a third of a second to run.
Inside a capture the batching rule binds `debug_tap` instead: the operands with their `vmap` axes leading, and the
primitive and parameters that it represents. `store.lanes` splits a firing into the events that JAX would have made.
`program.py` gives it a recorder when the program is lowered; without one (a program that outlived its capture, such as
the function that `jax.vjp` returns) it does what JAX does.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax.extend import core as jax_core

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import ad, batching, core, debugging, discharge, mlir, pe
from jax_debug_widgets._jax.compat.registrations import registers
from jax_debug_widgets._jax.origins.equation import Lanes
from jax_debug_widgets._jax.passes.emit import emit_recorder_call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

debug_tap_p = jax_core.Primitive("debug_tap")
"""Parameters: `inner`, the primitive that it represents, with its `params` (as items); `lanes`; `record` or None;
`guards`: which transformations may make it fire where the user's program would not (`cond`, `while`, `condition`).
If there are any, its last operand is a boolean for each lane: whether the event is real (see `phantoms`). `home`:
the lengths of the loops around it when one of them was differentiated, outermost first (see `hoisting`).
"""
debug_tap_p.multiple_results = True


def debugging_primitives() -> tuple[Any, ...]:
    """Return the primitives of debugging equations: JAX's, and `debug_tap`."""
    return debugging.debug_print_p, debugging.debug_callback_p, debug_tap_p


def bind_batched(
    inner: Any,
    params: Mapping[str, Any],
    operands: Sequence[Any],
    dims: Sequence[int | None],
    lanes: Lanes,
    guards: tuple[str, ...] = (),
    home: tuple[int | None, ...] = (),
) -> tuple[list[Any], tuple[Any, ...]]:
    """Batch a debugging equation: move the new axis of each mapped operand to the front and add it to `lanes`."""
    size = next(x.shape[dim] for x, dim in zip(operands, dims, strict=True) if dim is not None)
    if size == 0:
        return [], ()
    moved = [x if dim is None else jnp.moveaxis(x, dim, 0) for x, dim in zip(operands, dims, strict=True)]
    if guards and all(dim is None for dim in dims[:-1]):
        # If no operand is mapped, JAX fires once for all lanes: the event is real if it is real in any lane.
        moved = [*operands[:-1], moved[-1].any(0)]
    else:
        mapped = tuple((dim is not None, *axes) for dim, axes in zip(dims, lanes.mapped, strict=True))
        lanes = Lanes((size, *lanes.sizes), mapped)
    others = {"lanes": lanes, "guards": guards, "home": home, "record": None}
    debug_tap_p.bind(*moved, inner=inner, params=tuple(params.items()), **others)
    return [], ()


def as_tap(equation: core.JaxprEqn) -> core.JaxprEqn:
    """Return a debugging equation as a `debug_tap`; the equation itself if it is one."""
    if equation.primitive is debug_tap_p:
        return equation
    params = {
        "inner": equation.primitive,
        "params": tuple(equation.params.items()),
        "lanes": equation.params.get("lanes", Lanes((), ((),) * len(equation.invars))),
        "guards": (),
        "home": (),
        "record": None,
    }
    return equation.replace(primitive=debug_tap_p, params=params)


def is_ordered(params: Mapping[str, Any]) -> bool:
    """Whether a debugging equation with these parameters (of either of JAX's primitives) is ordered."""
    return params["ordered"] if "ordered" in params else isinstance(params["effect"], debugging.OrderedDebugEffect)


@debug_tap_p.def_effectful_abstract_eval
def _abstract_eval(*_avals: Any, params: Any, **_rest: Any) -> tuple[list[Any], set[Any]]:
    return [], {debugging.ordered_debug_effect if is_ordered(dict(params)) else debugging.debug_effect}


@debug_tap_p.def_impl
def unroll(*operands: Any, inner: Any, params: Any, lanes: Lanes, guards: tuple[str, ...], **_rest: Any) -> list[Any]:
    """Bind one equation for each lane, as JAX does, the innermost axis unrolled first."""
    values = operands[:-1] if guards else operands
    for lane in in_order(lanes):
        one = [
            operand[tuple(i for i, present in zip(lane, axes, strict=True) if present)]
            for operand, axes in zip(values, lanes.mapped, strict=False)
        ]
        inner.bind(*one, **dict(params))
    return []


def in_order(lanes: Lanes) -> list[tuple[int, ...]]:
    """Return the lanes in JAX's order: the innermost axis is unrolled first."""
    return [reversed_lane[::-1] for reversed_lane in np.ndindex(*reversed(lanes.sizes))]


def _batch(
    operands: Sequence[Any], dims: Sequence[int | None], *, inner: Any, params: Any, record: Any, **others: Any
) -> Any:
    del record
    return bind_batched(inner, dict(params), operands, dims, **others)


def _lower(ctx: Any, *operands: Any, inner: Any, params: Any, record: Any, **rest: Any) -> Any:
    if record is None:
        unrolled = partial(unroll, inner=inner, params=params, record=None, **rest)
        return mlir.lower_fun(unrolled, multiple_results=True)(ctx, *operands)
    options = dict(params)
    return emit_recorder_call(ctx, record, operands, ordered=is_ordered(options), partitioned=options["partitioned"])


def _discharge(_avals_in: Any, _avals_out: Any, *operands: Any, **params: Any) -> Any:
    return operands, debug_tap_p.bind(*operands, **params)


@registers(features.CAPTURE)
def _register() -> None:
    batching.primitive_batchers[debug_tap_p] = _batch
    ad.primitive_jvps[debug_tap_p] = lambda primals, _tangents, **params: (debug_tap_p.bind(*primals, **params), [])
    ad.primitive_transposes[debug_tap_p] = lambda _cotangents, *operands, **_params: [None] * len(operands)
    pe.partial_eval_jaxpr_custom_rules[debug_tap_p] = partial(
        debugging._debug_partial_eval_custom, primitive=debug_tap_p
    )
    discharge.register_discharge_rule(debug_tap_p)(_discharge)  # pyright: ignore[reportArgumentType]
    mlir.register_lowering(debug_tap_p, _lower, cacheable=False)
