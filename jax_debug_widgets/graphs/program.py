"""Define a program as frozen data: its equations, their names, places and nesting. It holds no objects of JAX."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

Role = Literal["forward", "backward", "recompute"]

CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "eval_jaxpr", "custom_jvp_call", "custom_vjp_call"})
"""Primitives that only run a program, once, with their operands."""


@dataclass(frozen=True, repr=False)
class Amount:
    """A number of operations or bytes: what is known of it, and whether only run time tells the rest, or less may be done."""

    known: int = 0
    is_open: bool = False
    is_most: bool = False

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.known + other.known, self.is_open or other.is_open, self.is_most or other.is_most)

    def times(self, count: int | None) -> Amount:
        """So many times as much; None: as often as only run time tells."""
        if count is None:
            return Amount(0, is_open=self.is_open or self.known > 0)
        return Amount(self.known * count, self.is_open and count > 0, self.is_most)

    def __repr__(self) -> str:
        return self.told(lambda count: f"{count:,}")

    def told(self, write: Callable[[int], str]) -> str:
        """`308`, `12 + ?` where a `while` adds to it, `≤ 40` where a branch may be skipped."""
        text = f"{'≤ ' if self.is_most and self.known else ''}{write(self.known)}"
        return (f"{text} + ?" if self.known else "?") if self.is_open else text


@dataclass(frozen=True)
class Type:
    """Shape and dtype of a value; a dimension may be symbolic. `nbytes` is 0 where nobody says how large an element is."""

    dtype: str
    shape: tuple[int | str, ...] = ()
    nbytes: int = 0

    @property
    def size(self) -> int:
        """How many elements it has; 0 where a dimension is symbolic."""
        return math.prod(one if isinstance(one, int) else 0 for one in self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Source:
    """A range of the source: columns from 0, -1 where unknown; `label` is the file as people call it, `In [3]`."""

    file: str
    label: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str

    def __str__(self) -> str:
        return f"{self.label}:{self.line}"


@dataclass(frozen=True)
class Operand:
    """An operand of an equation, or a result of a body.

    Attributes:
      kind: the result of an equation of the same body, an input of the body, a number of the source, or an array that is
        part of the program.
      text: its name; of a number the number.
      number: of the equation, or of the input.
      position: which of the equation's results it is.
      digest: of a number or an array: equal for the same dtype and bits.
    """

    kind: Literal["result", "input", "number", "array"]
    type: Type
    text: str
    number: int = -1
    position: int = 0
    digest: str = ""


@dataclass(frozen=True, eq=False)
class Body:
    """The equations that an equation runs, or those of the whole program.

    Attributes:
      key: as which parameter of its equation: `jaxpr`, `body_jaxpr`, `branch_1_fun`.
      given: of each input the operand of the equation that it is whenever the body runs; None where it changes.
    """

    key: str
    inputs: tuple[Operand, ...]
    given: tuple[int | None, ...]
    equations: tuple[Equation, ...]
    results: tuple[Operand, ...]


@dataclass(frozen=True, eq=False)
class Equation:
    """One operation of a program.

    Attributes:
      number: its place in its body, from 0; `path`: the numbers of the equations around it, each with the key of the body.
      primitive: JAX's name of the operation.
      names: of its results: as the source calls them, else the primitive and a number: `tanh_2`.
      noted: which of these are names of the source.
      params: what else says what it computes, as text; without bodies.
      source: the user's line; None where JAX says of none. `callers`: the lines that have called its function, innermost first.
      scope: JAX's name stack.
      times: how often it runs in a run of the program; None where only run time tells.
      conditional: whether it may be skipped, so that `times` is the most.
      flops, nbytes: of one execution, of the equation by itself: floating-point operations, bytes read and written.
      repeats: how often it runs its bodies; None where only run time tells.
      has_effects: whether it does something besides giving results.
      device: where it runs, `host`, `each of x=4`; empty where it runs with the rest of the program.
    """

    number: int
    path: tuple[tuple[int, str], ...]
    primitive: str
    operands: tuple[Operand, ...]
    types: tuple[Type, ...]
    names: tuple[str, ...]
    noted: tuple[bool, ...]
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    source: Source | None = None
    callers: tuple[Source, ...] = ()
    scope: str = ""
    role: Role = "forward"
    times: int | None = 1
    conditional: bool = False
    flops: int = 0
    nbytes: int = 0
    bodies: tuple[Body, ...] = ()
    repeats: int | None = 1
    has_effects: bool = False
    device: str = ""

    @property
    def depth(self) -> int:
        """How many bodies it is in, besides the program."""
        return len(self.path)

    @cached_property
    def flops_inside(self) -> Amount:
        """`flops` of one execution with all that its bodies run; of branches the largest."""
        return self._with_bodies("flops")

    @cached_property
    def nbytes_inside(self) -> Amount:
        """The bytes of the equation with those of its bodies, see `nbytes`."""
        return self._with_bodies("nbytes")

    def __repr__(self) -> str:
        return f"<Equation {text_of(self)} ({self.source or 'made by JAX'})>"

    def _with_bodies(self, what: Literal["flops", "nbytes"]) -> Amount:
        if not self.bodies:
            return Amount(getattr(self, what))
        each = [sum((getattr(one, f"{what}_inside") for one in body.equations), Amount()) for body in self.bodies]
        if self.primitive == "cond":
            return Amount(max(one.known for one in each), any(one.is_open for one in each), is_most=True)
        return sum(each, Amount()).times(self.repeats)


@dataclass(frozen=True, eq=False)
class Program:
    """A function's program, as JAX has traced it.

    Attributes:
      structure: the tree of what the function returns, as text.
      devices: those that hold its arguments; empty where that is not known.
    """

    name: str
    body: Body
    structure: str = ""
    devices: str = ""

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """All equations, each followed by those of its bodies."""
        return tuple(every_equation(self.body))


def every_equation(body: Body) -> Iterator[Equation]:
    """The equations of a body, each followed by those that it runs."""
    for equation in body.equations:
        yield equation
        for inner in equation.bodies:
            yield from every_equation(inner)


def text_of(equation: Equation) -> str:
    """`h: float32[3] = tanh add_1`."""
    made = ", ".join(f"{name}: {kind}" for name, kind in zip(equation.names, equation.types, strict=True))
    taken = " ".join(one.text for one in equation.operands)
    return f"{made} = {equation.primitive} {taken}" if made else f"{equation.primitive} {taken}"
