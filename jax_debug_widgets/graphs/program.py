"""Define a program as frozen data, without objects of JAX: its equations, their names, places and nesting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

Role = Literal["forward", "backward", "recompute"]

CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "eval_jaxpr", "custom_jvp_call", "custom_vjp_call"})
"""The primitives that only run a program with their operands, once."""


@dataclass(frozen=True, repr=False)
class Amount:
    """A number of operations or bytes.

    Attributes:
      known: the known part.
      is_open: whether more is added that is known only at run time.
      is_most: whether it is an upper bound.
    """

    known: int = 0
    is_open: bool = False
    is_most: bool = False

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.known + other.known, self.is_open or other.is_open, self.is_most or other.is_most)

    def times(self, count: int | None) -> Amount:
        """Return `count` times the amount; None for a count that is known only at run time."""
        if count is None:
            return Amount(0, is_open=self.is_open or self.known > 0)
        return Amount(self.known * count, self.is_open and count > 0, self.is_most)

    def __repr__(self) -> str:
        return self.text(lambda count: f"{count:,}")

    def text(self, write: Callable[[int], str]) -> str:
        """Return the amount as text: `308`, `12 + ?` if a `while` adds to it, `≤ 40` if a branch may be skipped."""
        text = f"{'≤ ' if self.is_most and self.known else ''}{write(self.known)}"
        return (f"{text} + ?" if self.known else "?") if self.is_open else text


@dataclass(frozen=True)
class Type:
    """Shape and dtype of a value. Dimensions may be symbolic; `nbytes` is the size of an element, 0 if unknown."""

    dtype: str
    shape: tuple[int | str, ...] = ()
    nbytes: int = 0

    @property
    def size(self) -> int:
        """The number of elements; 0 if a dimension is symbolic."""
        return math.prod(one if isinstance(one, int) else 0 for one in self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Source:
    """A range of the source. Columns count from 0, -1 if unknown; `label` is the file's name for people, `In [3]`."""

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
      kind: `result` of an equation of the same body, `input` of the body, `number` in the source, or `array` that is
        part of the program.
      text: its name, or the number.
      number: the number of the equation, or of the input.
      position: its position among the results of the equation.
      digest: for a number or an array: a hash that is equal for the same dtype and bits.
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
      key: the parameter of the equation that holds it: `jaxpr`, `body_jaxpr`, `branch_1_fun`.
      given: for each input, the position of the operand that it always equals; None if it changes from run to run of the body.
      runs: whether the equation runs it; a derivative of the equation runs the others.
    """

    key: str
    inputs: tuple[Operand, ...]
    given: tuple[int | None, ...]
    equations: tuple[Equation, ...]
    results: tuple[Operand, ...]
    runs: bool = True

    def amount(self, what: Literal["flops", "nbytes"]) -> Amount:
        """Return the `flops` or `nbytes` of one run of the body."""
        return sum((getattr(one, f"{what}_inside") for one in self.equations), Amount())


@dataclass(frozen=True, eq=False)
class Equation:
    """One operation of a program.

    Attributes:
      number: its place in its body, from 0.
      path: the numbers of the equations around it, each with the key of the body.
      primitive: JAX's name of the operation.
      names: the names of its results in the source, or else the primitive and a number: `tanh_2`.
      noted: for each of these names, whether it is in the source.
      params: its other parameters, as text; without bodies.
      source: the user's line; None if JAX knows none.
      callers: the lines that called its function, innermost first.
      scope: JAX's name stack.
      role: whether it belongs to the forward pass, to the backward pass, or recomputes a value.
      times: how often it runs in one run of the program; None if that is known only at run time.
      conditional: whether it may be skipped; then `times` is the upper bound.
      flops, nbytes: floating-point operations, and bytes read and written, of one execution of the equation by itself.
      repeats: how often it runs its bodies; None if that is known only at run time.
      has_effects: whether it has effects besides its results.
      is_open: whether it does more operations, whose number is known only at run time.
      device: where it runs, `host`, `each of x=4`; empty if it runs with the rest of the program.
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
    is_open: bool = False

    @property
    def depth(self) -> int:
        """The number of bodies around it, without the program."""
        return len(self.path)

    @cached_property
    def flops_inside(self) -> Amount:
        """The `flops` of one execution with all its bodies; for branches, those of the largest branch."""
        return self._with_bodies("flops")

    @cached_property
    def nbytes_inside(self) -> Amount:
        """The `nbytes` of one execution with all its bodies."""
        return self._with_bodies("nbytes")

    def __repr__(self) -> str:
        return f"<Equation {text_of(self)} ({self.source or 'made by JAX'})>"

    def _with_bodies(self, what: Literal["flops", "nbytes"]) -> Amount:
        if not self.bodies:
            return Amount(getattr(self, what), is_open=self.is_open and what == "flops")
        each = [body.amount(what) for body in self.bodies if body.runs]
        if self.primitive == "cond":
            return Amount(max(one.known for one in each), any(one.is_open for one in each), is_most=True)
        return sum(each, Amount()).times(self.repeats)


@dataclass(frozen=True, eq=False)
class Program:
    """A function's program, as JAX has traced it.

    Attributes:
      structure: the tree of the function's results, as text.
      devices: the devices that hold its arguments; empty if unknown.
    """

    name: str
    body: Body
    structure: str = ""
    devices: str = ""

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """All equations; each is followed by the equations of its bodies."""
        return tuple(every_equation(self.body))

    @cached_property
    def has_backward(self) -> bool:
        """Whether some of its equations compute gradients."""
        return any(one.role == "backward" for one in self.equations)


def every_equation(body: Body) -> Iterator[Equation]:
    """Yield the equations of a body; each is followed by the equations of its bodies."""
    for equation in body.equations:
        yield equation
        for inner in equation.bodies:
            yield from every_equation(inner)


def text_of(equation: Equation) -> str:
    """Return an equation as text: `h: float32[3] = tanh add_1`."""
    made = ", ".join(f"{name}: {kind}" for name, kind in zip(equation.names, equation.types, strict=True))
    taken = " ".join(one.text for one in equation.operands)
    return f"{made} = {equation.primitive} {taken}" if made else f"{equation.primitive} {taken}"
