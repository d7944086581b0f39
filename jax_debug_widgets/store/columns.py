"""Events as columns: what is read of many at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Columns:
    """Some consecutive events as columns, one row an event.

    Attributes:
      first: how many events of the run arrived before the first of them.
      site: int64[n]; time_ns: int64[n], since the run started; occurrence: int64[n];
      lane: int64[n], flat index over the `vmap` axes (row-major), -1 where there is none;
      call: int64[n], -1 where it is not known; phantom: bool[n];
      execution: int64[n], its number among those of its site in this run, by the calls of the programs that have it, calls
      without a firing included; -1 where its call is not known, and where no call leaves anything out: `occurrence` tells it;
      step: int64[n], iteration of the outermost loop; inner: int64[n], flat index over the loops inside it; device:
      int64[n], index into `Store.devices`; each -1 where there is none or it cannot be told;
      type: int64[n], which of its site's types it is of, see `SiteTypes`.
    """

    first: int
    site: np.ndarray
    time_ns: np.ndarray
    occurrence: np.ndarray
    lane: np.ndarray
    call: np.ndarray
    execution: np.ndarray
    step: np.ndarray
    inner: np.ndarray
    device: np.ndarray
    phantom: np.ndarray
    type: np.ndarray

    def __len__(self) -> int:
        return len(self.site)
