"""Measure the cost of a program's debugging calls and callbacks: compile the program with them, and without some of them."""

from __future__ import annotations

import copy
import functools
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import callback as jax_callback
from jax_debug_widgets._jax.compat.private import core, debugging
from jax_debug_widgets._jax.origins.context import uncached
from jax_debug_widgets._jax.origins.describe import describe_callback
from jax_debug_widgets._jax.origins.equation import DebugCall, Lanes, Recorder
from jax_debug_widgets._jax.origins.frames import UNKNOWN_FRAME, Frame
from jax_debug_widgets._jax.passes.callbacks import callback_readers, untapped
from jax_debug_widgets._jax.passes.inventory import (
    equations_in,
    host_calls,
    jitted,
    lowering_seen,
    parts_handed_over,
)
from jax_debug_widgets._jax.passes.program import debugging_readers
from jax_debug_widgets._jax.passes.tap import debug_tap_p
from jax_debug_widgets._jax.studies.kernels import Kernels, kernels_of


@functools.cache
def _host_effects() -> tuple[type, ...]:
    effects = (
        debugging.debug_effect,
        debugging.ordered_debug_effect,
        jax_callback._IOEffect,
        jax_callback._OrderedIOEffect,
    )
    return tuple(map(type, effects))


@dataclass(frozen=True)
class Compilation:
    """One compilation of the program.

    Attributes:
      kernels: the kernels that it runs.
      temporaries: bytes that it needs besides arguments and results, on each device; None if XLA does not say.
      is_cacheable: whether JAX may write it to its persistent cache: before 0.11 it writes no program that calls Python.
      called: see `inventory.host_calls`; calls that XLA has removed do not count.
      devices: how many devices run it.
      parts: see `inventory.parts_handed_over`.
      run: calls it with the arguments that it was traced for.
    """

    kernels: Kernels
    temporaries: int | None
    is_cacheable: bool
    called: Counter[Frame]
    devices: int
    parts: Mapping[Frame, Sequence[tuple[tuple[int, ...], ...]]]
    run: Callable[[], Any]


class Variations:
    """A program, traced once, to be compiled without some of its calls.

    Attributes:
      equations: its debugging calls and callbacks as traced, in program order; a `vmap` of a debugging call has unrolled
        it into one a lane.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Trace `function(*args, **kwargs)` as a jitted function.

        Raises:
          Exception: whatever tracing the function raises.
        """
        program, self._args, self._kwargs = jitted(function, args, kwargs)
        with uncached():
            self._traced = program.trace(*self._args, **self._kwargs)
        name = f"jit({getattr(function, '__name__', 'f')})"
        self.equations: Sequence[DebugCall] = tuple(equations_in(self._traced.jaxpr, name))

    def without(self, dropped: AbstractSet[int]) -> Compilation:
        """Compile the program less the calls with these indices into `equations`. It does not run."""
        traced = copy.copy(self._traced)
        rewritten = without(traced.jaxpr, dropped)
        traced._params = {**traced._params, "jaxpr": rewritten}
        if hasattr(traced, "_lojax"):
            traced._lojax = None
        with uncached(), lowering_seen() as seen:
            compiled = traced.lower().compile()
        memory: Any = compiled.memory_analysis()
        text = compiled.as_text() or ""
        return Compilation(
            kernels=kernels_of(text),
            temporaries=getattr(memory, "temp_size_in_bytes", None),
            is_cacheable=versions.CACHES_HOST_CALLBACKS or not seen.frames,
            called=host_calls(text, seen.frames),
            devices=len(compiled.runtime_executable().local_devices()),
            parts=parts_handed_over(text, seen.frames),
            run=lambda: compiled(*_copied(self._args), **_copied(self._kwargs)),
        )


def without(program: ClosedJaxpr, dropped: AbstractSet[int]) -> ClosedJaxpr:
    """Remove the calls with the numbers `dropped` from a program, counted as `equations_in` does."""
    return program.replace(jaxpr=_without(program.jaxpr, dropped, itertools.count()))


def _without(jaxpr: core.Jaxpr, dropped: AbstractSet[int], numbers: Iterator[int]) -> core.Jaxpr:
    kept: list[core.JaxprEqn] = []
    for equation in jaxpr.eqns:
        primitive = untapped(equation).primitive
        is_call = primitive in debugging_readers() or primitive in callback_readers() or primitive is debug_tap_p
        if is_call and next(numbers) in dropped:
            continue
        params = {key: _entered(value, dropped, numbers) for key, value in equation.params.items()}
        inner = [part for part in core.jaxprs_in_params(params) if isinstance(part, core.Jaxpr)]
        effects = _left(equation.effects, [part.effects for part in inner]) if inner else equation.effects
        kept.append(equation.replace(params=params, effects=effects))
    return jaxpr.replace(eqns=kept, effects=_left(jaxpr.effects, [equation.effects for equation in kept]))


def _entered(value: Any, dropped: AbstractSet[int], numbers: Iterator[int]) -> Any:
    if isinstance(value, tuple):
        parts = [_entered(part, dropped, numbers) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, ClosedJaxpr):
        return value.replace(jaxpr=_without(value.jaxpr, dropped, numbers))
    return _without(value, dropped, numbers) if isinstance(value, core.Jaxpr) else value


def _left(effects: AbstractSet[Any], remaining: Sequence[AbstractSet[Any]]) -> frozenset[Any]:
    """Drop the effects on the host that none of the `remaining` sets has; keep all others."""
    return frozenset(one for one in effects if not isinstance(one, _host_effects()) or any(one in s for s in remaining))


def _copied(tree: Any) -> Any:
    """Arguments that the program may take over (donation) without the caller losing theirs."""
    return jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, tree)


def loop_of(emit: Callable[..., object], shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any], times: int) -> Any:
    """A compiled function without arguments that says zeros of these types `times` times, changing at every step."""

    def body(step: Any, values: list[Any]) -> list[Any]:
        emit(*values)
        return [jnp.where(step < 0, jnp.ones_like(value), value) for value in values]

    def program() -> Any:
        return lax.fori_loop(0, times, body, [jnp.zeros(*one) for one in zip(shapes, dtypes, strict=True)])

    return jax.jit(program)


def tap(record: Recorder, *values: Any) -> None:
    """Bind a debugging call that hands its values to `record`, as captured programs do."""
    lanes = Lanes((), ((),) * len(values))
    params = (("ordered", False), ("partitioned", False))
    debug_tap_p.bind(*values, inner=None, params=params, lanes=lanes, record=record)


def equation_of(function: Callable[..., Any], shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any]) -> DebugCall:
    """A debugging call of `function` with values of these types, in no program."""
    avals = [core.ShapedArray(*one) for one in zip(shapes, dtypes, strict=True)]
    params = {"callback": function, "effect": debugging.debug_effect}
    return describe_callback(params, UNKNOWN_FRAME, "", avals, Lanes((), ((),) * len(avals)))


def seconds_of(program: Callable[[], Any]) -> float:
    """One run, to the end of its outputs and effects."""
    start = time.perf_counter()
    jax.block_until_ready(program())
    jax.effects_barrier()
    return time.perf_counter() - start
