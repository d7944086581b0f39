"""Define a value of a program with its name in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from jax_debug_widgets.watch.naming.source_sites import Outer
from jax_debug_widgets.watch.syntax.statements import Span

Role = Literal["value", "gradient"]


@dataclass(frozen=True, eq=False)
class Named:
    """A variable of a program with its name in the source.

    Attributes:
      variable: the jaxpr's variable.
      name: the Python variable, or the expression.
      assigned: whether it is assigned, returned or an argument, as opposed to a part of an expression.
      file, span, function: the range that computes it.
      equation: the number of the equation that makes it, -1 for arguments.
      primitive: the name of its primitive; `argument` for arguments.
      stack: JAX's name stack.
      carried: whether the previous iteration made the value.
      identities: keys of a value, each unique among all programs; of a gradient the keys of its value, as far as they
        are known.
      is_alias: whether its statement only gives another name to an existing value.
      outer: the frames around that of its function, if the function is called inside the body.
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
    """Return the label of a value in a run."""
    return f"grad/{name}" if role == "gradient" else name
