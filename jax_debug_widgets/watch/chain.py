"""Operations on arrays, element by element, as a compiled function of ours runs them. `chaining` says what for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

OTHER_NAMES: dict[str, str] = {"add_any": "add", "square": POWER, "broadcast_in_dim": SPREAD}

POWERS = range(1, 9)


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
class Operand:
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
class Step:
    """An equation of a chain."""

    equation: Any
    operands: Sequence[Operand]

    @property
    def name(self) -> str:
        """That of its operation; `SPREAD` for all that is only broadcast."""
        name: str = self.equation.primitive.name
        return OTHER_NAMES.get(name, name)

    @property
    def power(self) -> int:
        """The second operand of a power; of others -1."""
        return 2 if self.equation.primitive.name == "square" else self.equation.params.get("y", -1)

    @property
    def result(self) -> Any:
        """Its variable."""
        return self.equation.outvars[0]


def written(steps: Sequence[Step], watched: Sequence[Any]) -> Chain:
    """The chain of these steps."""
    writer = _Writer()
    for step in steps:
        writer.write(step)
    row_of = {writer.result_of(Operand(variable)): row for row, variable in enumerate(watched)}
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

    def write(self, step: Step) -> None:
        """Compute an equation."""
        if step.name == SPREAD:
            self._take_in(step.result, step.operands[0])
        else:
            a, b = (*map(self.result_of, step.operands), step.power)[:2]
            self._add(step.result, step.name, a, b)

    def result_of(self, operand: Operand) -> int:
        """The row that computes it, or takes it in."""
        origin = operand.origin
        key = (origin, operand.repeated) if operand.repeated else origin if operand.is_variable else _bytes(origin)
        return self._results[key] if key in self._results else self._take_in(key, operand)

    def _take_in(self, key: Any, operand: Operand) -> int:
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
