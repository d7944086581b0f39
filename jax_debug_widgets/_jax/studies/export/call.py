"""Make a call into a function of its arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(eq=False)
class ArrayCall:
    """A call of a function as a function of its arrays; the other leaves are fixed.

    Attributes:
      given: its arguments by the names of its parameters, in order; `keywords`: the names given as keywords.
      is_fixed: whether a leaf is fixed.
      result: the structure of its result. `others`: the leaves of the result that are not arrays, by position.
    """

    function: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    given: Mapping[str, Any]
    keywords: frozenset[str]
    is_fixed: Callable[[Any], bool]
    result: Any = None
    others: dict[int, Any] = field(default_factory=dict[int, Any])

    def arrays(self) -> list[Any]:
        """The leaves that are arrays or numbers."""
        return [leaf for leaf in jax.tree.leaves((self.args, dict(self.kwargs))) if not self.is_fixed(leaf)]

    def operands(self) -> list[Any]:
        """The leaves that are arrays or numbers, all as arrays."""
        return [leaf if hasattr(leaf, "shape") else jnp.asarray(leaf) for leaf in self.arrays()]

    def on_leaves(self, function: Callable[..., Any], *arrays: Any) -> list[Any]:
        """The arrays among the results of a function, given these."""
        flat, tree = jax.tree.flatten((self.args, dict(self.kwargs)))
        rest = iter(arrays)
        args, kwargs = jax.tree.unflatten(tree, [leaf if self.is_fixed(leaf) else next(rest) for leaf in flat])
        leaves, self.result = jax.tree.flatten(function(*args, **kwargs))
        self.others = {place: leaf for place, leaf in enumerate(leaves) if not _is_result(leaf)}
        return [leaf for place, leaf in enumerate(leaves) if place not in self.others]


def _is_result(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float | complex)


def is_no_array(leaf: Any) -> bool:
    """Whether a leaf is part of the program, not an argument of it."""
    return not (isinstance(leaf, bool | int | float | complex) or hasattr(leaf, "shape"))


def is_no_float(leaf: Any) -> bool:
    """Whether a leaf is part of the program, as in `is_no_array`, or a whole number."""
    return is_no_array(leaf) or isinstance(leaf, int)
