"""What threads were at, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, eq=False)
class ThreadSpans:
    """Stretches of time of a run, in the order in which they ended.

    Attributes:
      first: the number of the first one, counted from the first of the run.
      threads: names, by what `thread` says.
      site: int64[n], the number of the site whose host function ran; -1 where the program waited in `jax.effects_barrier`,
        -2 in `jax.block_until_ready`.
      thread: int64[n], index into `threads`.
      from_ns, to_ns: int64[n], since the run started.
    """

    first: int
    threads: tuple[str, ...]
    site: np.ndarray
    thread: np.ndarray
    from_ns: np.ndarray
    to_ns: np.ndarray
