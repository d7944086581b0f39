"""Describe the activities of threads, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, eq=False)
class ThreadSpans:
    """Time spans of threads in a run, in the order in which they ended.

    Attributes:
      first: the number of the first span, counted from the first span of the run.
      threads: the names of the threads.
      site: int64[n], the id of the site with the host function that ran; -1 if the thread waited in `jax.effects_barrier`,
        -2 in `jax.block_until_ready`.
      thread: int64[n], index into `threads`.
      from_ns, to_ns: int64[n], begin and end in ns since the run started.
    """

    first: int
    threads: tuple[str, ...]
    site: np.ndarray
    thread: np.ndarray
    from_ns: np.ndarray
    to_ns: np.ndarray
