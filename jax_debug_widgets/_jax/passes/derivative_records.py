"""Compute and read the records of an un-jitted derivative, see `running/derivative_calls`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.birth_primitives import is_elementwise
from jax_debug_widgets._jax.passes.birth_records import record_of
from jax_debug_widgets._jax.passes.births import RESULTS, Births
from jax_debug_widgets._jax.passes.check_arithmetic import worst
from jax_debug_widgets._jax.passes.checked import Checked, Records
from jax_debug_widgets._jax.passes.words import recorded_type

DERIVATIVE = "derivative"
"""The name of the record of a pass with results that are not finite, though no operation in it made them so.

Its facts are whether it is the backward pass.
"""

_BIRTHS = Births()


@dataclass(frozen=True)
class Operation:
    """An operation, or a jitted function of JAX, that a pass has run.

    Attributes:
      primitive: the name of its primitive.
      body: the program of the function; None for an operation.
      shapes: the shapes of the operands.
    """

    primitive: str
    body: core.Jaxpr | None
    shapes: Sequence[tuple[int, ...]]

    def primitive_of(self, at: int) -> str:
        """Return the name of the primitive that computes the result with this number."""
        body, name = self.body, self.primitive
        while body is not None:
            out: Any = body.outvars[at]
            maker = next((one for one in body.eqns if out in one.outvars), None)
            if maker is None:
                return "copy"  # The function returns an argument.
            name, at = maker.primitive.name, maker.outvars.index(out)
            body = next(iter(core.jaxprs_in_params(maker.params)), None) if name in ("jit", "pjit") else None
        return name

    def is_elementwise(self, shape: tuple[int, ...]) -> bool:
        """Whether the elements of a result of this shape are computed from the operands by one elementwise operation."""
        if len(self.shapes) > 2:  # noqa: PLR2004
            return False
        if self.body is None:
            return is_elementwise(self.primitive, self.shapes, shape)
        names = [one.primitive.name for one in self.body.eqns]
        return len(names) == 1 and is_elementwise(names[0], self.shapes, shape)


def birth_record(out: Any, inputs: Sequence[Any], *, elementwise: bool) -> tuple[tuple[str, ...], Any]:
    """Compute the record of a birth for the result of an operation.

    Args:
      out: the result.
      inputs: the real operands.
      elementwise: whether each element of the result depends only on the elements at the same position.

    Returns:
      (kinds, record): the `recorded_type`s of the numbers in the record (`Birth.kinds`), and the record, int32[n].
    """
    numbers = [out, *inputs] if elementwise else [out]
    return tuple(recorded_type(one.dtype) for one in numbers), _record(elementwise, out, *inputs)


@functools.partial(jax.jit, static_argnums=0)
def _record(elementwise: bool, *arrays: Any) -> Any:
    (record,) = record_of(elementwise, False, *arrays)
    return record


def worst_of_each(arrays: Sequence[Any]) -> list[Any]:
    """Return the worst number of each array, see `worst`. The arrays may be on different devices."""
    groups: dict[Any, list[int]] = {}
    for at, one in enumerate(arrays):
        groups.setdefault(frozenset(one.devices()) if isinstance(one, jax.Array) else None, []).append(at)
    found: list[Any] = [None] * len(arrays)
    for places in groups.values():
        for at, number in zip(places, _worst_of_each([arrays[at] for at in places]), strict=True):
            found[at] = number
    return found


@jax.jit
def _worst_of_each(arrays: Sequence[Any]) -> list[Any]:
    return [lax.reshape(worst(one), ()) for one in arrays]


@dataclass(frozen=True, eq=False)
class DerivativeCall:
    """One forward or backward pass of an un-jitted derivative; see `Recorded`.

    Attributes:
      records: its operations.
      callers: the user frames that call it, innermost first.
      counts: how many results and inputs it has.
      is_backward: whether it is the backward pass.
      has_programs: whether programs ran in it that are checked by themselves.
    """

    records: tuple[Checked, ...]
    callers: tuple[Frame, ...]
    counts: tuple[int, int]
    is_backward: bool
    has_programs: bool
    is_of_call: bool = True

    @property
    def key(self) -> Any:
        """See `Recorded`: calls at one line are calls of one program."""
        return self.callers[0], self.is_backward

    def read(self, results: Sequence[np.ndarray]) -> Records:
        """See `Recorded`. The first numbers are the worst ones of the pass's results and of its inputs."""
        made, inputs = self.counts
        whole = [bool(np.isfinite(one)) for one in results[: made + inputs]]
        if all(whole[:made]) or not all(whole[made:]):
            return []
        rows = results[made + inputs :]
        found: Records = [(one, tuple(map(int, row))) for one, row in zip(self.records, rows, strict=True) if row[0]]
        settled = _BIRTHS.settled([*found, (Checked("nonfinite", RESULTS, self.callers, None), (1,))])
        if settled or self.has_programs:
            return settled
        return [(Checked("nonfinite", DERIVATIVE, self.callers, self.is_backward), (1,))]
