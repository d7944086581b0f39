"""Represent many events as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Columns:
    """Events of a run as columns, in the order of their positions: one row for each event.

    Attributes:
      first: the position of the first event: how many events of the run arrived before it.
      site: int64[n], the id of the site.
      time_ns: int64[n], ns since the run started.
      occurrence: int64[n], how often the site had fired before.
      lane: int64[n], flat index over the `vmap` axes (row-major), -1 without lanes.
      call: int64[n], the id of the call, -1 if it is not known.
      execution: int64[n], the number of the site's execution in this run. Calls of its programs count even without a firing.
        It is -1 if the call is not known, and if no call skips the site; then `occurrence` is the same.
      step: int64[n], iteration of the outermost loop, -1 without a loop or if it is not known.
      inner: int64[n], flat index over the loops inside the outermost one, -1 as for `step`.
      device: int64[n], index into `Store.devices`, -1 if it is not known.
      phantom: bool[n], whether only a transformation caused the event.
      type: int64[n], the number of the site's type, see `SiteTypes`.
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
