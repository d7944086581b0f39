"""Define the types of checks: what a check computes, its records, and the program that returns them; see `checking`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from jax import lax

from jax_debug_widgets._jax.origins.callers import of_caller

if TYPE_CHECKING:
    import numpy as np
    from jax.extend.core import ClosedJaxpr

    from jax_debug_widgets._jax.compat.private import core
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets._jax.origins.lanes import Axes
    from jax_debug_widgets._jax.passes.kept_writes import Definitions
    from jax_debug_widgets._jax.passes.record_rows import Rows

LanesOf = Callable[[Any, tuple[int, ...], int, "Frame"], "Axes"]
"""Takes traceback and shape of a result, the number of `vmap`s around it, and the user's frame; returns which axes are
lanes.
"""


@dataclass(frozen=True, eq=False)
class Checked:
    """One equation that is checked.

    Attributes:
      option: the name of the check, as in `--check`.
      primitive: the name of the equation's primitive.
      frames: the user's frames, innermost first.
      facts: the facts that the checker needs to explain a record.
      order: the position of the equation in the program.
      around: numbers of the loops around it, outermost first; its record has an iteration for each.
      varies: the mesh axes over which its operands vary, as far as their types show it.
      devices: the number of each device of the `shard_map` around it; its record has the position of one of them, after
        the count. None if all devices compute the same.
      device: the device with the first fault, after a record is read; None without a `shard_map`.
    """

    option: str
    primitive: str
    frames: tuple[Frame, ...]
    facts: Any
    order: int = 0
    around: tuple[int, ...] = ()
    varies: frozenset[str] = frozenset()
    devices: tuple[int | None, ...] = ()
    device: int | None = None

    @property
    def loops(self) -> int:
        """The number of loops around the equation."""
        return len(self.around)


Records = list[tuple[Checked, tuple[int, ...]]]
"""Each checked equation with the numbers of its record in one call."""


def zeros_elsewhere(taken: Any, first: Any, *others: Any) -> Sequence[Any]:
    """Return the arrays, the first one with zeros where no element is taken."""
    return [lax.select(taken, first, lax.full_like(first, 0)), *others]


@dataclass(frozen=True, eq=False)
class Check:
    """The check of one equation.

    Attributes:
      facts: see `Checked`.
      operands: the variables that the check reads.
      compute: takes their arrays; returns a count and other numbers, all int32.
      primitive: the name to report, if it is not the name of the equation's primitive.
      can_be_hoisted: whether all iterations of a loop can be checked together, before it.
      taken: takes a mask of the elements of the equation's result that count, and the arrays; returns arrays without
        faults elsewhere.
    """

    facts: Any
    operands: Sequence[Any]
    compute: Callable[..., Sequence[Any]]
    primitive: str = ""
    can_be_hoisted: bool = True
    taken: Callable[..., Sequence[Any]] = zeros_elsewhere


@dataclass(frozen=True)
class DerivativePart:
    """A part of a derivative: the backward pass, the differentiated function, or its recomputation.

    `vmaps` is the number of `vmap`s around it. `is_unjitted` is whether the derivative is un-jitted, so that each of its
    passes is a program of its own.
    """

    is_backward: bool
    is_differentiated: bool = False
    is_recomputed: bool = False
    vmaps: int = 0
    is_unjitted: bool = False

    def of(self, equation: core.JaxprEqn) -> DerivativePart:
        """Return the part of a derivative that the programs inside this equation belong to."""
        scopes = str(equation.source_info.name_stack)
        return DerivativePart(
            self.is_backward or "transpose(" in scopes,
            self.is_differentiated or "jvp(" in scopes,
            self.is_recomputed or "rematted_computation" in scopes,
            self.vmaps + scopes.count("vmap("),
            self.is_unjitted,
        )


@dataclass(frozen=True)
class BodyFacts:
    """The facts about the body that a checked equation is in.

    Attributes:
      certain: the variables that certainly reach the results.
      computed: the same, without those that only a test for NaN uses, see `certain_values`.
      forward: the source ranges with a checked equation outside of backward passes.
      lanes_of: see `LanesOf`.
      part: which part of a derivative the body is.
      beside: line of the user -> the primitives of its equations in the body.
      definitions: see `Definitions`.
      inputs: the inputs of the body.
      scope: all variables of the body.
      folded: matrix product -> its transpose, if XLA writes only the transpose, see `folded_transposes`.
    """

    certain: set[Any]
    computed: set[Any]
    forward: frozenset[tuple[str, Frame]]
    lanes_of: LanesOf
    part: DerivativePart
    beside: Mapping[Frame, AbstractSet[str]]
    definitions: Definitions
    inputs: frozenset[Any]
    scope: frozenset[Any]
    folded: Mapping[Any, Any]

    def lanes(self, equation: core.JaxprEqn, frames: tuple[Frame, ...], shape: tuple[int, ...]) -> Axes:
        """Return which axes are lanes, in a result of this shape of an equation with these user frames."""
        return self.lanes_of(equation.source_info.traceback, shape, self.part.vmaps, frames[0])


class Checker(Protocol):
    """A kind of check."""

    def is_for(self, equation: core.JaxprEqn) -> bool:
        """Whether the checker checks such equations."""
        ...

    def check(self, equation: core.JaxprEqn, frames: tuple[Frame, ...], body: BodyFacts) -> Check | None:
        """Return the check of an equation; None for none."""
        ...

    def of_results(self, jaxpr: core.Jaxpr) -> Check | None:
        """Return the check of the whole program; None for none."""
        ...

    def settled(self, records: Records) -> Records:
        """Return the records to report, out of the records of one call that found a fault; both in the order of time."""
        ...


class Recorded(Protocol):
    """What has records: a program, or a pass of an un-jitted derivative."""

    @property
    def records(self) -> Sequence[Checked]:
        """The equation or operation of each record."""
        ...

    @property
    def is_of_call(self) -> bool:
        """Whether it is not a program of the user, but of JAX, for this call."""
        ...

    @property
    def key(self) -> Any:
        """The key that all calls of it have in common."""
        ...

    def read(self, results: Sequence[np.ndarray]) -> Records:
        """Read the records to report out of the results of one call, in the order of time as far as that is known."""
        ...


@dataclass(frozen=True, eq=False)
class CheckedProgram:
    """A program with records after its own results, see `Recorded`.

    Attributes:
      program: the program.
      records: the checked equation of each record.
      rows: which results hold the records.
      checkers: the checkers by their names.
      is_of_call: whether it is JAX's own, such as an un-jitted operation: its records have the frames of each call, for
        which `CALLER` stands.
    """

    program: ClosedJaxpr
    records: tuple[Checked, ...]
    rows: Rows
    checkers: Mapping[str, Checker]
    is_of_call: bool = False

    @property
    def key(self) -> Any:
        """See `Recorded`."""
        return self

    def called_from(self, callers: tuple[Frame, ...]) -> CheckedProgram:
        """Return the program with the frames of a call."""
        records = tuple(replace(one, frames=of_caller(one.frames, callers)) for one in self.records)
        return replace(self, records=records)

    def read(self, results: Sequence[np.ndarray]) -> Records:
        """See `Recorded`."""
        found = sorted(self._found(results), key=_moment)
        return [
            one
            for option, checker in self.checkers.items()
            for one in checker.settled([record for record in found if record[0].option == option])
        ]

    def _found(self, results: Sequence[np.ndarray]) -> Iterator[tuple[Checked, tuple[int, ...]]]:
        for record, row in zip(self.records, self.rows.read(results), strict=True):
            if row[0]:
                device = record.devices[row.pop(1)] if record.devices else None
                size = len(row) - record.loops
                yield replace(record, device=device), (row[0], *reversed(row[size:]), *row[1:size])


def _moment(record: tuple[Checked, tuple[int, ...]]) -> tuple[int, ...]:
    """Return a sort key: records of one loop are sorted by iteration, all others stay in the order of the program."""
    checked, numbers = record
    return (*itertools.chain(*zip(checked.around, numbers[1:], strict=False)), checked.order)
