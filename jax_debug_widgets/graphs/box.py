"""Define a box of a program: equations that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from jax_debug_widgets.graphs.program import Source

Kind = Literal["program", "function", "line", "scope", "body", "group", "equation"]


@dataclass(eq=False)
class Box:
    """Equations that belong together.

    Attributes:
      kind: what the equations have in common.
      title: its name for the user.
      what: the operation, such as `scan × 5`, `block × 4`; may be empty.
      source: its source line.
      equations: the numbers of the equations in it that have no bodies.
      children: the boxes inside it, in the order of the program.
      gives: dtype and shape of its result, for an equation with bodies.
      number: its number among all boxes of the program, by which a front end names it.
      parent: the box around it; None for the box of the program.
    """

    kind: Kind
    title: str
    what: str = ""
    source: Source | None = None
    equations: tuple[int, ...] = ()
    children: list[Box] = field(default_factory=list["Box"])
    gives: str = ""
    number: int = -1
    parent: Box | None = field(default=None, repr=False)

    def walk(self) -> Iterator[Box]:
        """Yield the box and all boxes inside it; each box comes before its children."""
        yield self
        for one in self.children:
            yield from one.walk()

    @cached_property
    def around(self) -> tuple[Box, ...]:
        """The boxes around it, the innermost first."""
        return () if self.parent is None else (self.parent, *self.parent.around)


def grouped(children: list[Box], title: str, what: str = "") -> Box:
    """Put several boxes into a new one."""
    numbers = tuple(number for one in children for number in one.equations)
    return Box("group", title, what, children[0].source, numbers, children)
