"""Make the equations, appended to a body, that read its watched values and hand them over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import numpy as np
from jax import lax
from jax.extend import core as jax_core

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.private import config, core, debugging, mlir, source_info_util
from jax_debug_widgets._jax.compat.private import mesh as mesh_lib
from jax_debug_widgets._jax.compat.registrations import registers
from jax_debug_widgets._jax.origins.equation import Loop, Recorder
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.emit import emit_conditional_call, emit_recorder_call
from jax_debug_widgets._jax.passes.operands import computed_for
from jax_debug_widgets._jax.passes.program import coordinate_equations

watch_tap_p = jax_core.Primitive("watch_tap")
"""Hands its operands to its parameter `record`; with `has_condition`, only where its first operand, a bool[], is true."""
watch_tap_p.multiple_results = True


@dataclass(frozen=True, eq=False)
class TakenValues:
    """The values to take from one body, each time it runs.

    Attributes:
      variables: the variables that are read.
      compute: takes their arrays; returns the arrays that are handed to `record`.
      record: the recorder that gets these arrays.
      when: the values are taken only if this condition holds; None means always.
      stop: the further values that are handed over where the program may stop; None for none.
      compute_if: as `compute`, with a bool[] before the arrays; where it is false, the results are not defined, and
        computing them costs next to nothing. None if that is not possible.
    """

    variables: Sequence[Any]
    compute: Callable[..., Sequence[Any]]
    record: Recorder
    when: WatchCondition | None = None
    stop: StopValues | None = None
    compute_if: Callable[..., Sequence[Any]] | None = None


@dataclass(frozen=True, eq=False)
class StopValues:
    """The further values that are handed over where the program may stop.

    Attributes:
      variables: the variables that are read.
      holds: takes the arrays handed to `TakenValues.record`, and those of `variables`; returns whether it may stop,
        bool[].
      compute: takes the arrays of `variables`; returns arrays that are handed to `record` after all others.
      record: called instead of `TakenValues.record` if it may stop.
    """

    variables: Sequence[Any]
    holds: Callable[[Sequence[Any], Sequence[Any]], jax.Array]
    compute: Callable[..., Sequence[Any]]
    record: Recorder


class WatchCondition(Protocol):
    """A condition over variables of a body."""

    @property
    def variables(self) -> Sequence[Any]:
        """The variables that the condition reads."""
        ...

    @property
    def of(self) -> Callable[..., jax.Array]:
        """Takes the arrays of `variables`; returns whether the condition holds, bool[]."""
        ...


@dataclass(frozen=True)
class Sampled:
    """A loop around a body; each `every`-th iteration is taken, counted from the start."""

    every: int
    loop: int


def tap_equations(taken: TakenValues, jaxpr: core.Jaxpr, place: Place, sampled: Sampled | None) -> list[Any]:
    """Make the equations that read the values, and the tap; inside a switch if only some iterations are taken."""
    beside = jaxpr.eqns[-1] if jaxpr.eqns else None
    if beside is None:
        return _tap_equations(taken, None, place, sampled)
    varies = any(versions.varying_over(one.aval) for one in (*taken.variables, *_looked_at(taken)))
    # In a mesh with both manual and automatic axes, JAX lowers a host call by the current mesh.
    with (
        mesh_lib.use_abstract_mesh(beside.ctx.cur_abstract_mesh),
        _with_varying_axes(place) if varies else nullcontext(),
    ):
        return _tap_equations(taken, beside, place, sampled)


@contextmanager
def _with_varying_axes(place: Place) -> Iterator[None]:
    """Trace with types that contain how values vary over the mesh.

    JAX needs such types if a `shard_map` is traced again (`--every`).
    """
    with core.extend_axis_env_nd(list(place.mesh.shape.items())), config._check_vma(True):
        yield


def _tap_equations(taken: TakenValues, beside: Any, place: Place, sampled: Sampled | None) -> list[Any]:
    source = source_info_util.current() if beside is None else beside.source_info
    if taken.when is not None or taken.stop is not None or sampled is not None:
        return _switched_tap_equations(taken, place, sampled, source)
    equations, handed = computed_for(lambda *arrays: list(taken.compute(*arrays)), taken.variables)
    coordinates = coordinate_equations(place, beside or equations[-1])
    handed += [*_iterations(place), *(one.outvars[0] for one in coordinates)]
    tap = core.new_jaxpr_eqn(handed, [], watch_tap_p, {"record": taken.record}, {debugging.debug_effect}, source)
    return [*equations, *coordinates, tap]


def _switched_tap_equations(taken: TakenValues, place: Place, sampled: Sampled | None, source: Any) -> list[Any]:
    """Return the equations of a switch beside the values, which computes from them only in the selected iterations."""
    counters, looked_at = _iterations(place), _looked_at(taken)
    count, asked = len(taken.variables), len(taken.when.variables) if taken.when else 0

    def switched(*operands: Any) -> list[Any]:
        arrays, more = operands[:count], operands[count : count + len(looked_at)]
        at, more, where = more[:asked], more[asked:], operands[count + len(looked_at) :]
        holds = taken.when.of(*at) if taken.when else True
        if sampled and counters:
            number = _from_start(where[sampled.loop], place.loops[sampled.loop])
            holds &= lax.rem(number, np.int32(sampled.every)) == 0

        def take(arrays: Sequence[Any], more: Sequence[Any], where: Sequence[Any]) -> None:
            _hand_over(taken, taken.compute(*arrays), more, where)

        if holds is True:
            take(arrays, more, where)
        elif taken.compute_if and taken.stop is None and place.loops:
            handed = taken.compute_if(holds, *arrays)
            watch_tap_p.bind(holds, *handed, *where, record=taken.record, has_condition=True)
        else:
            lax.cond(holds, take, lambda _arrays, _more, _where: None, arrays, more, where)
        return []

    coordinates = coordinate_equations(place, core.new_jaxpr_eqn([], [], watch_tap_p, {}, set(), source))
    where = [*counters, *(one.outvars[0] for one in coordinates)]
    equations, _ = computed_for(switched, [*taken.variables, *looked_at, *where])
    return [*coordinates, *(one.replace(source_info=source) for one in equations)]


def _looked_at(taken: TakenValues) -> list[Any]:
    """Return the variables that are read for a switch, and for a stop behind it."""
    return [*(taken.when.variables if taken.when else ()), *(taken.stop.variables if taken.stop else ())]


def _hand_over(taken: TakenValues, handed: Sequence[Any], more: Sequence[Any], where: Sequence[Any]) -> None:
    """Bind the tap; where the program may stop, bind the tap with more values instead."""
    stop = taken.stop
    if stop is None:
        watch_tap_p.bind(*handed, *where, record=taken.record)
        return

    def with_more(handed: Sequence[Any], more: Sequence[Any], where: Sequence[Any]) -> None:
        watch_tap_p.bind(*handed, *where, *stop.compute(*more), record=stop.record)

    def plain(handed: Sequence[Any], _more: Sequence[Any], where: Sequence[Any]) -> None:
        watch_tap_p.bind(*handed, *where, record=taken.record)

    lax.cond(stop.holds(handed, more), with_more, plain, list(handed), list(more), list(where))


def _iterations(place: Place) -> Sequence[Any]:
    """Return the variables that hold the iteration of each loop; () if some loop has none."""
    return place.counters if len(place.counters) == len(place.loops) else ()


def _from_start(number: Any, loop: Loop) -> Any:
    """Return the iteration of a loop whose body has run `number` times before, see `Nesting.from_start`."""
    return (loop.length or 0) - 1 - number if loop.reverse else number


def recorders_in(jaxpr: core.Jaxpr) -> Iterator[Recorder]:
    """Yield the recorders of a program's watched values, without those that record the same firings with whole values."""
    for equation in jaxpr.eqns:
        if equation.primitive is watch_tap_p and not hasattr(equation.params["record"], "stands_for"):
            yield equation.params["record"]
        for inner in core.jaxprs_in_params(equation.params):
            yield from recorders_in(inner)


@watch_tap_p.def_effectful_abstract_eval
def _abstract_eval(*_avals: Any, record: Any, has_condition: bool = False) -> tuple[list[Any], set[Any]]:
    del record, has_condition
    return [], {debugging.debug_effect}


def _lower_tap(ctx: Any, *operands: Any, record: Recorder, has_condition: bool = False) -> Any:
    if has_condition:
        return emit_conditional_call(ctx, record, operands)
    return emit_recorder_call(ctx, record, operands, ordered=False, partitioned=False)


@registers(features.WATCH)
def _register() -> None:
    mlir.register_lowering(watch_tap_p, _lower_tap, cacheable=False)
