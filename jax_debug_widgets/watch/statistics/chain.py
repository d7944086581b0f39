"""Describe elementwise operations on arrays, which a compiled function of ours evaluates; see `recompute_plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jax_core

LOAD, SPREAD, FILL = "load", "spread", "fill"
"""The operations that read an operand: a whole array, a smaller array that is broadcast, a single number."""

OPERATIONS = (LOAD, SPREAD, FILL, "add", "sub", "mul", "div", "max", "min", "sqrt")
"""The operations of `native`, by number; few, because each takes long to compile. Those after `fill` are JAX's own."""

EQUATIONS = frozenset({
    "abs", "add", "add_any", "broadcast_in_dim", "div", "integer_pow", "max", "min", "mul", "neg", "rsqrt", "sqrt", "square",
    "sub",
})  # fmt: skip
"""The primitives that can be expressed with these operations."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Operations on arrays of one size; some of their operands and results are watched.

    Attributes:
      sources: the variables that it reads: float32 arrays of this size, smaller arrays, and single numbers.
      watched: the variables whose statistics it takes, in the order of their results.
      numbers: float32[m], the literals among its operands.
      code: int32[n, 5]: for each operation its number in `OPERATIONS`, its two operands, its result, and the index of
        the result in `watched`, or -1. Operands and results are registers. For `load`, `spread` and `fill` the first
        operand is the number of an array instead: 0 for `numbers`, then the sources. The second operand is how often
        `spread` repeats each element (it then tiles the result up to `size`), or the element that `fill` takes. `sqrt`
        has its operand twice.
      size: the number of elements of each array.
    """

    sources: tuple[Any, ...]
    watched: tuple[Any, ...]
    numbers: np.ndarray
    code: np.ndarray
    size: int

    def evaluate(self, *arrays: Any) -> list[Any]:
        """Compute the watched values, as flat arrays, with JAX from the numbers and the sources.

        This is for machines without `native`.
        """
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
                result = jnp.full(self.size, arrays[a].ravel()[b])
            else:
                result = lax.sqrt(registers[a]) if name == "sqrt" else getattr(lax, name)(registers[a], registers[b])
            registers[out] = results[watched] = result
        return [results[row] for row in range(len(self.watched))]


@dataclass(frozen=True)
class ChainOperand:
    """An operand of an equation.

    Attributes:
      origin: the variable or literal that has the elements.
      order: the transposes between the origin and the operand; () if the elements are in the same order.
      repeated: how often `spread` repeats each element; 0 if the origin is not broadcast.
    """

    origin: Any
    order: tuple[Any, ...] = ()
    repeated: int = 0

    @property
    def is_variable(self) -> bool:
        """Whether the operand is a variable, not a literal."""
        return not isinstance(self.origin, jax_core.Literal)

    @property
    def is_array(self) -> bool:
        """Whether the operand has more than one element."""
        return self.origin.aval.size > 1


@dataclass(frozen=True)
class Step:
    """An equation of a chain."""

    equation: Any
    operands: Sequence[ChainOperand]

    @property
    def result(self) -> Any:
        """Return the variable that the equation makes."""
        return self.equation.outvars[0]


def written(steps: Sequence[Step], watched: Sequence[Any]) -> Chain:
    """Return the chain of these steps."""
    writer = _Writer()
    for step in steps:
        writer.write(step)
    row_of = {writer.result_of(ChainOperand(variable)): row for row, variable in enumerate(watched)}
    numbers = np.frombuffer(b"".join(writer.numbers) or bytes(4), np.float32)
    code = _in_registers(writer.rows, row_of)
    return Chain(tuple(writer.sources), tuple(watched), numbers, code, steps[0].result.aval.size)


class _Writer:
    """Writes a chain; each result has a row of its own.

    Attributes:
      rows: operation and operands as in `Chain.code`, with the numbers of rows instead of registers.
    """

    def __init__(self) -> None:
        self.sources: dict[Any, int] = {}
        self.numbers: dict[bytes, int] = {}
        self.rows: list[tuple[str, int, int]] = []
        self._results: dict[Any, int] = {}

    def write(self, step: Step) -> None:
        """Write the operations of an equation."""
        if step.equation.primitive.name == "broadcast_in_dim":
            self._results[step.result] = self._take_in(step.operands[0])
        else:
            self._results[step.result] = self._compute(step.equation, *map(self.result_of, step.operands))

    def _compute(self, equation: Any, x: int, *others: int) -> int:
        name = equation.primitive.name
        match name:
            case "integer_pow" | "square":
                return self._power(x, equation.params.get("y", 2))
            case "neg" | "abs":
                negative = self._add("mul", x, self._number(-1))
                return negative if name == "neg" else self._add("max", x, negative)
            case "sqrt" | "rsqrt":
                root = self._add("sqrt", x, x)
                return root if name == "sqrt" else self._add("div", self._number(1), root)
        return self._add("add" if name == "add_any" else name, x, *others)

    def _power(self, x: int, power: int) -> int:
        """Multiply in the order in which JAX computes powers."""
        result = None
        while power:
            if power & 1:
                result = x if result is None else self._add("mul", result, x)
            power >>= 1
            x = self._add("mul", x, x) if power else x
        assert result is not None
        return result

    def result_of(self, operand: ChainOperand) -> int:
        """Return the row that computes or reads the operand."""
        if not operand.is_variable:
            return self._number(operand.origin.val)
        key = (operand.origin, operand.repeated) if operand.repeated else operand.origin
        if key not in self._results:
            self._results[key] = self._take_in(operand)
        return self._results[key]

    def _number(self, value: Any) -> int:
        key = _bits(value)
        if key not in self._results:
            self._results[key] = self._fill(key)
        return self._results[key]

    def _fill(self, number: bytes) -> int:
        return self._add(FILL, 0, self.numbers.setdefault(number, len(self.numbers)))

    def _take_in(self, operand: ChainOperand) -> int:
        """Read the operand into a new row: two broadcast results of one operand may both be watched."""
        if not operand.is_variable:
            return self._fill(_bits(operand.origin.val))
        source = 1 + self.sources.setdefault(operand.origin, len(self.sources))
        if operand.repeated:
            return self._add(SPREAD, source, operand.repeated)
        return self._add(LOAD if operand.is_array else FILL, source, 0)

    def _add(self, name: str, a: int, b: int) -> int:
        self.rows.append((name, a, b))
        return len(self.rows) - 1


def _bits(value: Any) -> bytes:
    """Return a key for a number by its float32 bits: minus zero differs from zero, and NaN equals itself."""
    return np.float32(value).tobytes()


def _in_registers(rows: Sequence[tuple[str, int, int]], row_of: Mapping[int, int]) -> np.ndarray:
    """Return the code with each result in a free register: the registers are so few that all stay in the cache."""
    operands = [() if name in (LOAD, SPREAD, FILL) else (a, b) for name, a, b in rows]
    last = {one: number for number, used in enumerate(operands) for one in used}
    free: list[int] = []
    where: list[int] = []
    code = np.empty((len(rows), 5), np.int32)
    for number, (name, a, b) in enumerate(rows):
        where.append(free.pop() if free else max(where, default=-1) + 1)
        used = [where[one] for one in operands[number]] or [a, b]
        code[number] = OPERATIONS.index(name), *used, where[number], row_of.get(number, -1)
        # Free them only now: vector instructions cannot compute an operation whose result replaces an operand.
        free += [where[one] for one in {*operands[number], number} if last.get(one, number) == number]
    return code
