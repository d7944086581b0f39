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
      gives: dtype and shape of what it gives, where an equation with bodies says so.
      number: its place among all boxes of the program, which a front end names it by.
      title: what its user would call it; `what`: what it does: `scan × 5`, `block × 4`; may be empty.
      source: the line to go to.
      equations: of those that it holds which run no others, the numbers in the program.
      children: the boxes in it, in the order of the program.
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
        """It and all boxes inside, each before those in it."""
        yield self
        for one in self.children:
            yield from one.walk()

    @cached_property
    def around(self) -> tuple[Box, ...]:
        """The boxes that it is in, innermost first."""
        return () if self.parent is None else (self.parent, *self.parent.around)


def grouped(children: list[Box], title: str, what: str = "") -> Box:
    """Boxes in one."""
    numbers = tuple(number for one in children for number in one.equations)
    return Box("group", title, what, children[0].source, numbers, children)
