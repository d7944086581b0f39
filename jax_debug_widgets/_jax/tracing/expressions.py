"""Define what to look up in a function while JAX traces it, and the name to note for each value that is found."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple

from jax_debug_widgets._jax.origins.name_places import NamePlace


class Expression(NamedTuple):
    """An expression to look up after a line, and the name to note for its value.

    Attributes:
      place: the place in the source that the name belongs to.
      name: the name.
      node: the expression to look up: a variable, a field, an item; None for the value that the function returns.
      path: the path inside the returned value, if `node` is None.
      is_last: whether nothing else that the line assigns may have used the value.
      before: the first and last line of the body that a `for` repeats; the expression is looked up only if the next line is
        one of these. None: it is always looked up.
    """

    place: NamePlace
    name: str
    node: ast.expr | None
    path: str = ""
    is_last: bool = True
    before: tuple[int, int] | None = None


Lines = Mapping[int, Sequence[Expression]]
"""For each line of a function, the expressions to look up after it has run."""

LinesOf = Callable[[CodeType, Any], Lines | None]
"""Takes a function's code and the watch settings (None: note all names); returns its lines, or None if there are none."""
