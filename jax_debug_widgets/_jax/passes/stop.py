"""Define the `debug_stop` primitive: `jax_debug_widgets.breakpoint` in a program.

Like `debug_tap`, it has `vmap` lanes and, when lowered, a recorder. It also returns the values that the program
continues with. Its condition is evaluated on the device: values are moved to the host only if it holds. The branch for
that is made when the program is lowered, after all transformations, because `vmap` would turn a `cond` into a `select`,
which runs both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jax_core

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.private import ad, batching, core, debugging, discharge, mlir
from jax_debug_widgets._jax.compat.private import callback as jax_callback
from jax_debug_widgets._jax.compat.registrations import register_all, registers
from jax_debug_widgets._jax.origins.equation import DebugCall, Lanes, OperandType, StopPoint, restore_types, type_of
from jax_debug_widgets._jax.origins.frames import Frame, called_from_here
from jax_debug_widgets._jax.origins.stack import Stack, StackFrame, calling_stack, jax_prompt
from jax_debug_widgets._jax.passes.emit import emit_recorder_call

debug_stop_p = jax_core.Primitive("debug_stop")
"""Operands: the condition if there is one, the values that the program goes on with, the variables of the frames.
Results: these values.

Parameters: `spec`, a `_Spec`; `lanes`; `record` or None.
"""
debug_stop_p.multiple_results = True

_stop_call_p = jax_core.Primitive("debug_stop_call")
"""The call of the host, without the branch for the condition; otherwise as `debug_stop`."""
_stop_call_p.multiple_results = True


@dataclass(frozen=True, eq=False)
class _Spec:
    """The parts of a breakpoint that transformations of its program do not change.

    Attributes:
      name: the name to show; may be empty.
      conditional: whether the first operand is the condition.
      tree: the treedef of the values that the program goes on with.
      stack: the frames.
      types: the types of the operands after the condition: typed keys are handed over as their numbers.
    """

    name: str
    conditional: bool
    tree: Any
    stack: Stack
    types: tuple[OperandType, ...]

    @property
    def going_on(self) -> slice:
        """Return the operands that the program goes on with, as a slice."""
        return slice(int(self.conditional), int(self.conditional) + self.tree.num_leaves)


def stop_here(value: Any, when: Any, name: str, num_frames: int) -> Any:
    """Bind a breakpoint for the frame that called us, and return `value`.

    Raises:
      TypeError: `when` is not one boolean, or another argument has the wrong type.
    """
    _require_types(name, num_frames)
    if not features.available(features.STOPS):
        return value
    register_all()
    leaves, tree = jax.tree.flatten(value)
    leaves = [jnp.asarray(leaf) if not _is_key(leaf) else leaf for leaf in leaves]
    condition = [] if when is None else [_boolean(when)]
    stack = calling_stack(num_frames)
    operands = [*leaves, *stack.operands]
    types = tuple(type_of(operand) if _is_key(operand) else OperandType(None, False) for operand in operands)
    plain = [jax.random.key_data(operand) if _is_key(operand) else operand for operand in operands]
    stack.release()
    spec = _Spec(name, bool(condition), tree, stack, types)
    lanes = Lanes((), ((),) * (len(condition) + len(plain)))
    with called_from_here():
        given = debug_stop_p.bind(*condition, *plain, spec=spec, lanes=lanes, record=None)
    return jax.tree.unflatten(tree, [_again(one, kind) for one, kind in zip(given, types[: len(leaves)], strict=True)])


def _require_types(name: Any, num_frames: Any) -> None:
    if not isinstance(name, str):
        msg = f"breakpoint(name=...) wants a string, got {name!r}"
        raise TypeError(msg)
    if not isinstance(num_frames, int):
        msg = f"breakpoint(num_frames=...) wants a whole number, got {num_frames!r}"
        raise TypeError(msg)


def _boolean(when: Any) -> Any:
    if isinstance(when, str):
        msg = f"breakpoint(when=...) wants one boolean, got the text {when!r}; write it as Python: when={when}"
        raise TypeError(msg)
    condition = jnp.asarray(when)
    if condition.shape != () or condition.dtype != bool:
        how = "compare it" if condition.dtype != bool else "reduce it with .any() or .all()"
        how += ", and reduce that with .any() or .all()" if condition.dtype != bool and condition.shape != () else ""
        msg = f"breakpoint(when=...) wants one boolean, got {condition.dtype.name}{list(condition.shape)}; {how}"
        raise TypeError(msg)
    return condition


def _is_key(value: Any) -> bool:
    return jax.dtypes.issubdtype(getattr(value, "dtype", np.dtype(bool)), jax.dtypes.prng_key)


def _again(value: Any, kind: OperandType) -> Any:
    return value if kind.key is None else jax.random.wrap_key_data(value, impl=kind.key)


def describe_stop(
    params: Mapping[str, Any], frame: Frame, name_stack: str, avals: Sequence[Any], lanes: Lanes
) -> DebugCall:
    """Describe the equation of a `debug_stop` primitive with these parameters."""
    spec: _Spec = params["spec"]
    going_on = spec.going_on
    names = [
        f"value{jax.tree_util.keystr(path)}"
        for path, _ in jax.tree_util.tree_leaves_with_path(jax.tree.unflatten(spec.tree, range(spec.tree.num_leaves)))
    ]

    def frames(values: Sequence[Any]) -> list[StackFrame]:
        restored = restore_types(values[int(spec.conditional) :], spec.types)
        return spec.stack.filled(restored[spec.tree.num_leaves :])

    def run(*operands: Any) -> Any:
        if features.available(features.BREAKPOINTS):
            jax_prompt(frames(operands))
        return tuple(operands[going_on])

    return DebugCall(
        kind="breakpoint",
        ordered=False,
        frame=frame,
        name_stack=name_stack,
        shapes=tuple(tuple(aval.shape) for aval in avals),
        dtypes=tuple(aval.dtype for aval in avals),
        lanes=lanes,
        in_tree=None,
        format=spec.name or "breakpoint",
        run=run,
        results=tuple(str(aval) for aval in avals[going_on]),
        stop=StopPoint(
            name=spec.name,
            conditional=spec.conditional,
            going_on=going_on,
            tree=spec.tree,
            names=("when",) * spec.conditional + tuple(names) + tuple(spec.stack.names),
            frames=frames,
        ),
    )


def with_recorder(equation: core.JaxprEqn, operands: Sequence[Any], record: Callable[..., Any]) -> core.JaxprEqn:
    """Make a breakpoint's equation call `record` with `operands` as NumPy arrays."""
    return equation.replace(invars=list(operands), params={**equation.params, "record": record})


@debug_stop_p.def_effectful_abstract_eval
def _abstract_eval(*avals: Any, spec: _Spec, **_rest: Any) -> tuple[list[Any], set[Any]]:
    return list(avals[spec.going_on]), {debugging.debug_effect}


@_stop_call_p.def_effectful_abstract_eval
def _call_abstract_eval(*avals: Any, spec: _Spec, **_rest: Any) -> tuple[list[Any], set[Any]]:
    return list(avals[spec.going_on]), {debugging.debug_effect}


@debug_stop_p.def_impl
def _pass(*operands: Any, spec: _Spec, **_rest: Any) -> list[Any]:
    """Return the values: outside a capture the program does not stop."""
    return list(operands[spec.going_on])


def _batch(operands: Sequence[Any], dims: Sequence[int | None], *, spec: _Spec, lanes: Lanes, record: Any) -> Any:
    del record
    size = next(x.shape[dim] for x, dim in zip(operands, dims, strict=True) if dim is not None)
    going_on = spec.going_on
    if size == 0:
        return list(operands[going_on]), list(dims[going_on])
    moved = [x if dim is None else jnp.moveaxis(x, dim, 0) for x, dim in zip(operands, dims, strict=True)]
    mapped = tuple((dim is not None, *axes) for dim, axes in zip(dims, lanes.mapped, strict=True))
    given = debug_stop_p.bind(*moved, spec=spec, lanes=Lanes((size, *lanes.sizes), mapped), record=None)
    return given, [None if dim is None else 0 for dim in dims[going_on]]


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, spec: _Spec, **params: Any) -> Any:
    # The derivative is that of the identity, whatever value was set.
    return debug_stop_p.bind(*primals, spec=spec, **params), list(tangents[spec.going_on])


def _lower(ctx: Any, *operands: Any, spec: _Spec, record: Any, **_lanes: Any) -> Any:
    if record is None:
        return operands[spec.going_on]

    def staged(*values: Any) -> Any:
        def stop() -> list[Any]:
            return _stop_call_p.bind(*values, spec=spec, record=record)

        if not spec.conditional:
            return stop()
        return jax.lax.cond(jnp.any(values[0]), stop, lambda: list(values[spec.going_on]))

    return mlir.lower_fun(staged, multiple_results=True)(ctx, *operands)


def _lower_call(ctx: Any, *operands: Any, spec: _Spec, record: Any) -> Any:
    if not spec.tree.num_leaves:
        return emit_recorder_call(ctx, record, operands, ordered=False, partitioned=False)
    sharding = jax_callback._callback_op_sharding(ctx.module_context.axis_context, None, ctx.avals_out)
    results, _, _ = versions.emit_python_callback(
        ctx,
        record,
        None,
        list(operands),
        ctx.avals_in,
        ctx.avals_out,
        has_side_effect=True,
        returns_token=False,
        sharding=sharding,
    )
    return results


def _discharge(_avals_in: Any, _avals_out: Any, *operands: Any, **params: Any) -> Any:
    return (None,) * len(operands), debug_stop_p.bind(*operands, **params)


@registers(features.STOPS)
def _register() -> None:
    batching.primitive_batchers[debug_stop_p] = _batch
    ad.primitive_jvps[debug_stop_p] = _jvp
    discharge.register_discharge_rule(debug_stop_p)(_discharge)  # pyright: ignore[reportArgumentType]
    mlir.register_lowering(debug_stop_p, _lower, cacheable=False)
    mlir.register_lowering(_stop_call_p, _lower_call, cacheable=False)
