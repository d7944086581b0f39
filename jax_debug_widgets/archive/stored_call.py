"""The inputs of one call, as files keep them. Whoever packs them needs no pyarrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class StoredLeaf:
    """An array among the inputs of a call.

    Attributes:
      path: where it stands, as JAX writes it: `args[0]['w']`.
      kind: `array` of JAX, `numpy` array, NumPy `scalar`, or PRNG `key`, whose data it then is.
      data: its elements.
      impl: the name of the implementation of a key.
      weak: whether its type is weak: that of a Python number.
    """

    path: str
    kind: str
    data: np.ndarray
    impl: str = ""
    weak: bool = False


@dataclass(frozen=True)
class StoredCall:
    """The inputs of one call: what is around its arrays, see `session.run.input_trees`, and these."""

    tree: dict[str, Any]
    leaves: tuple[StoredLeaf, ...]
