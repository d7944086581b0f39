"""Watched values that are made of others element by element: the operations that make them again.

XLA computes such values inside its kernels and never writes them. To read one would make XLA write it, by a kernel of its
own: that breaks the program's fusions, and is most of what watching costs, to run and to compile. So the arrays that they
are made of are read, and `native` makes them again, some hundred elements at a time, and takes their statistics while they
are in the processor's first cache. The program's own kernels stay as they are.

Each operation is rounded as if it stood alone: as in the un-jitted program, and in XLA's, except where that contracts a
product and a sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jax_core

LOAD, SPREAD, FILL, POWER = "load", "spread", "fill", "integer_pow"
"""The operations that take in an operand (a part of an array, of a smaller one that is broadcast, a single number), and the
one whose second operand is no array."""

OPERATIONS = (LOAD, SPREAD, FILL, POWER, "add", "sub", "mul", "div", "max", "min", "neg", "abs", "sqrt", "rsqrt")
"""What `native` can do, by number. Those after `fill` are JAX's."""

_POWERS = range(1, 9)

_SAME_ELEMENTS = frozenset({"reshape", "squeeze", "expand_dims", "copy", "copy_p", "stop_gradient", "transpose"})
"""What only shows the same elements in another way; all but the last in the same order."""

_WRITTEN = frozenset({
    "argmax", "argmin", "conv_general_dilated", "cumlogsumexp", "cummax", "cumprod", "cumsum", "dot_general", "fft", "gather",
    "reduce_max", "reduce_min", "reduce_prod", "reduce_sum", "scan", "scatter", "scatter-add", "sort", "while",
})  # fmt: skip
"""What XLA does in kernels that no others are fused into: their results are in memory anyway."""

_READ = frozenset({"conv_general_dilated", "dot_general", "fft", "scan", "sort", "while"})
"""And whose operands are."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Operations on arrays of one size, of whose operands and results some are watched.

    Attributes:
      sources: the variables that it begins with: float32 arrays of this size, smaller ones, and single numbers.
      watched: the variables whose statistics it takes, in the order of their results.
      numbers: float32[m], the literals among its operands.
      code: int32[n, 5]: for each operation its number in `OPERATIONS`, its two operands, its result, and which of `watched`
        that is, or -1. Operands and results are registers, of which few are needed. But `load`, `spread` and `fill` take
        one of `sources`: `spread` repeats each element as often as the second says, and all of them as often as they go
        into the size, `fill` takes one of `numbers` instead if the first is -1. And the second of a power is itself.
      size: of the arrays.
    """

    sources: tuple[Any, ...]
    watched: tuple[Any, ...]
    numbers: np.ndarray
    code: np.ndarray
    size: int

    def evaluate(self, *arrays: Any) -> list[Any]:
        """What is watched, flat, by JAX: where `native` is not to be had."""
        registers: dict[int, Any] = {}
        results: dict[int, Any] = {}
        for number, a, b, out, watched in self.code.tolist():
            name = OPERATIONS[number]
            if name == LOAD:
                result = arrays[a].ravel()
            elif name == SPREAD:
                repeated = jnp.repeat(arrays[a].ravel(), b)
                result = jnp.tile(repeated, self.size // repeated.size)
            elif name == FILL:
                result = jnp.full(self.size, self.numbers[b] if a < 0 else arrays[a].reshape(()), np.float32)
            elif name == POWER:
                result = lax.integer_pow(registers[a], b)
            else:
                result = getattr(lax, name)(*(registers[one] for one in (a, b) if one >= 0))
            registers[out] = results[watched] = result
        return [results[row] for row in range(len(self.watched))]


@dataclass(frozen=True)
class _Operand:
    """What an equation is given.

    Attributes:
      origin: the variable or literal that has the elements.
      order: in which way they are in another order than there.
      repeated: how often `spread` repeats each; 0 if it is not broadcast.
    """

    origin: Any
    order: tuple[Any, ...] = ()
    repeated: int = 0

    @property
    def is_variable(self) -> bool:
        """Whether it is no literal."""
        return not isinstance(self.origin, jax_core.Literal)

    @property
    def is_array(self) -> bool:
        """Whether it has more than one element."""
        return self.origin.aval.size > 1


@dataclass(frozen=True)
class _Step:
    """An equation of a chain."""

    equation: Any
    operands: Sequence[_Operand]

    @property
    def name(self) -> str:
        """That of its operation, but for what is only broadcast."""
        name = self.equation.primitive.name
        return "add" if name == "add_any" else name

    @property
    def result(self) -> Any:
        """Its variable."""
        return self.equation.outvars[0]


def chains_of(jaxpr: Any, wanted: Sequence[Any]) -> list[Chain]:
    """Chains that take the statistics of some of the variables `wanted`; the others have to be read as they are.

    Values that are made of each other are in one chain, which runs when all that it begins with is there.
    """
    wanted = list(dict.fromkeys(wanted))
    made = _made(jaxpr, set(wanted))
    needed: set[Any] = set()
    left = [variable for variable in wanted if variable in made]
    while left:
        variable = left.pop()
        if variable not in needed:
            needed.add(variable)
            left += [one.origin for one in made[variable].operands if one.is_variable and one.origin in made]
    together: dict[Any, list[Any]] = {}
    for variable, step in made.items():
        if variable in needed:
            _join(variable, step, together)
    order = {variable: number for number, variable in enumerate(made)}
    taken: set[Any] = set()
    chains = []
    for group in {id(group): group for group in together.values()}.values():
        steps = [made[one] for one in sorted(group, key=order.__getitem__)]
        ends = {one.origin for step in steps for one in step.operands if one.is_array and not one.repeated}
        watched = [one for one in wanted if together.get(one) is group or one in ends - taken]
        taken.update(watched)
        chains.append(_written(steps, watched))
    return chains


def _made(jaxpr: Any, wanted: set[Any]) -> dict[Any, _Step]:
    """The variables that can be made of what is in memory or read anyway.

    Without those that are in memory themselves: they need not be made again.
    """
    shown: dict[Any, _Operand] = {}
    for equation in jaxpr.eqns:
        if shows_all(equation):
            operand = _shown(equation.invars[0], shown)
            if equation.primitive.name == "transpose":
                turned = equation.params["permutation"], equation.invars[0].aval.shape
                operand = replace(operand, order=(*operand.order, turned))
            shown[equation.outvars[0]] = operand

    def origins(atoms: Iterable[Any]) -> set[Any]:
        return {one.origin for one in (_shown(atom, shown) for atom in atoms) if one.is_variable}

    in_memory = {*jaxpr.invars, *jaxpr.constvars, *origins(jaxpr.outvars)}
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        in_memory.update(
            equation.outvars if name in _WRITTEN else (), origins(equation.invars) if name in _READ else ()
        )
        if _can_do(equation):  # What is broadcast is small: to write it costs little.
            in_memory |= origins(one for one in equation.invars if _repeats(one, equation))
    made: dict[Any, _Step] = {}
    for equation in jaxpr.eqns:
        if not _can_do(equation) or equation.outvars[0] in in_memory:
            continue
        operands = [replace(_shown(one, shown), repeated=_repeats(one, equation)) for one in equation.invars]
        arrays = [one for one in operands if one.is_array]
        known = (one.origin in in_memory or one.origin in wanted or one.origin in made for one in arrays)
        # In another order than it shows, if all its operands are: but nothing is broadcast to that.
        orders = [*dict.fromkeys(one.order for one in arrays)]
        if all(known) and len(orders) <= 1 and not (any(orders) and any(one.repeated for one in arrays)):
            result = equation.outvars[0]
            made[result] = _Step(equation, operands)
            shown[result] = _Operand(result, orders[0] if orders else ())
    return made


def _shown(atom: Any, shown: Mapping[Any, _Operand]) -> _Operand:
    own = _Operand(atom)
    return shown.get(atom, own) if own.is_variable else own


def shows_all(equation: Any) -> bool:
    """Whether the result has all elements of the operand, once each."""
    sizes = {atom.aval.size for atom in (*equation.invars[:1], *equation.outvars)}
    name = equation.primitive.name
    return name in _SAME_ELEMENTS or (name == "broadcast_in_dim" and len(sizes) == 1)


def _can_do(equation: Any) -> bool:
    name, results = equation.primitive.name, equation.outvars
    if name not in OPERATIONS and name not in ("add_any", "broadcast_in_dim"):
        return False
    is_array = results[0].aval.size > 1 and all(map(_is_float, (*equation.invars, *results)))
    is_power = equation.params.get("y", 1) in _POWERS
    return (
        is_array
        and is_power
        and not shows_all(equation)
        and all(_repeats(one, equation) >= 0 for one in equation.invars)
    )


def _is_float(atom: Any) -> bool:
    return getattr(atom.aval, "dtype", None) == np.float32


def _repeats(operand: Any, equation: Any) -> int:
    """How often each element of an operand is repeated where it is broadcast to the result, as `spread` does it.

    0 if it is not, -1 if it is in another way.
    """
    shape, size = equation.outvars[0].aval.shape, operand.aval.size
    if size in (1, math.prod(shape)):
        return 0
    axes = equation.params.get("broadcast_dimensions", range(len(shape)))
    along = dict(zip(axes, operand.aval.shape, strict=True))
    carried = [axis for axis, length in enumerate(shape) if along.get(axis) == length != 1]
    if not carried or any(shape[axis] != 1 for axis in range(carried[0], carried[-1]) if axis not in carried):
        return -1
    return math.prod(shape[carried[-1] + 1 :])


def _join(variable: Any, step: _Step, together: dict[Any, list[Any]]) -> None:
    """Put a variable into the group of those that it is made of, which becomes one."""
    made_of = (together.get(one.origin) for one in step.operands if one.is_variable and not one.repeated)
    groups = {id(group): group for group in made_of if group is not None}
    largest = max(groups.values(), key=len, default=[])
    for group in groups.values():
        if group is not largest:
            largest += group
            together.update(dict.fromkeys(group, largest))
    largest.append(variable)
    together[variable] = largest


def _written(steps: Sequence[_Step], watched: Sequence[Any]) -> Chain:
    """The chain of these steps."""
    writer = _Writer()
    for step in steps:
        writer.write(step)
    row_of = {writer.result_of(_Operand(variable)): row for row, variable in enumerate(watched)}
    numbers = np.frombuffer(b"".join(writer.numbers) or bytes(4), np.float32)
    code = _in_registers(writer.rows, row_of)
    return Chain(tuple(writer.sources), tuple(watched), numbers, code, steps[0].result.aval.size)


class _Writer:
    """Writes a chain, each result in a place of its own.

    Attributes:
      rows: operation and operands, see `Chain.code`; those that are registers there are the numbers of rows here.
    """

    def __init__(self) -> None:
        self.sources: dict[Any, int] = {}
        self.numbers: dict[bytes, int] = {}
        self.rows: list[tuple[str, int, int]] = []
        self._results: dict[Any, int] = {}

    def write(self, step: _Step) -> None:
        """Compute an equation."""
        if step.name == "broadcast_in_dim":
            self._take_in(step.result, step.operands[0])
        else:
            a, b = (*map(self.result_of, step.operands), step.equation.params.get("y", -1))[:2]
            self._add(step.result, step.name, a, b)

    def result_of(self, operand: _Operand) -> int:
        """The row that computes it, or takes it in."""
        origin = operand.origin
        key = (origin, operand.repeated) if operand.repeated else origin if operand.is_variable else _bytes(origin)
        return self._results[key] if key in self._results else self._take_in(key, operand)

    def _take_in(self, key: Any, operand: _Operand) -> int:
        if not operand.is_variable:
            return self._add(key, FILL, -1, self.numbers.setdefault(_bytes(operand.origin), len(self.numbers)))
        source = self.sources.setdefault(operand.origin, len(self.sources))
        if operand.repeated:
            return self._add(key, SPREAD, source, operand.repeated)
        return self._add(key, LOAD if operand.is_array else FILL, source, -1)

    def _add(self, key: Any, name: str, a: int, b: int) -> int:
        self.rows.append((name, a, b))
        self._results[key] = len(self.rows) - 1
        return self._results[key]


def _bytes(literal: Any) -> bytes:
    """A number to be looked up: minus zero is not zero, and NaN is itself."""
    return np.float32(literal.val).tobytes()


def _in_registers(rows: Sequence[tuple[str, int, int]], row_of: Mapping[int, int]) -> np.ndarray:
    """The code with each result in a register that is free: so few that all stay in the cache."""

    def operands(name: str, a: int, b: int) -> list[int]:
        return [] if name in (LOAD, SPREAD, FILL) else [a] if name == POWER or b < 0 else [a, b]

    last = {one: number for number, row in enumerate(rows) for one in operands(*row)}
    free: list[int] = []
    where: list[int] = []
    code = np.full((len(rows), 5), -1, np.int32)
    for number, (name, a, b) in enumerate(rows):
        used = operands(name, a, b)
        where.append(free.pop() if free else max(where, default=-1) + 1)
        code[number] = OPERATIONS.index(name), a, b, where[number], row_of.get(number, -1)
        code[number, 1 : 1 + len(used)] = [where[one] for one in used]
        # Only now: what is put in the place of an operand cannot be computed by vector instructions.
        free += [where[one] for one in dict.fromkeys((*used, number)) if last.get(one, number) == number]
    return code
