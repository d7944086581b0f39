"""Define the inputs of one call as files keep them.

This module does not need pyarrow, so neither does the code that packs the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class StoredLeaf:
    """One array among the inputs of a call.

    Attributes:
      path: its place among the arguments, as JAX writes it: `args[0]['w']`.
      kind: `array` of JAX, `numpy` array, NumPy `scalar`, or PRNG `key`, stored as its key data.
      data: its elements.
      impl: the name of the implementation of a key.
      weak: whether it is weakly typed, as Python numbers are.
    """

    path: str
    kind: str
    data: np.ndarray
    impl: str = ""
    weak: bool = False


@dataclass(frozen=True)
class StoredCall:
    """The inputs of one call: the structure around the arrays, see `session.run.input_trees`, and the arrays."""

    tree: dict[str, Any]
    leaves: tuple[StoredLeaf, ...]
