"""A value of a program with its name in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from jax_debug_widgets.watch.naming.source_sites import Outer
from jax_debug_widgets.watch.syntax.statements import Span

Role = Literal["value", "gradient"]


@dataclass(frozen=True, eq=False)
class Named:
    """A variable of a program and what it is called.

    Attributes:
      variable: of the jaxpr.
      name: the Python variable, or the expression.
      assigned: whether it is assigned, returned or an argument, as opposed to a part of an expression.
      file, span, function: the range that computes it.
      equation: the number of the equation that makes it, -1 for arguments.
      primitive: its name; `argument` for arguments.
      stack: JAX's name stack.
      carried: whether it is a value that the iteration before has made.
      identities: of a value what tells it from every other of all programs, each of them alone; of a gradient those of the
        value that it is the gradient of, as far as they are known.
      is_alias: whether its statement only names what another one has made.
      outer: the frames around that of its function, where that is called inside of the body.
    """

    variable: Any
    name: str
    role: Role
    assigned: bool
    file: str
    span: Span
    function: str
    equation: int
    primitive: str
    stack: str
    carried: bool = False
    identities: tuple[Any, ...] = ()
    is_alias: bool = False
    outer: Outer = ()


def label_of(name: str, role: Role) -> str:
    """The label of a value in a run."""
    return f"grad/{name}" if role == "gradient" else name
