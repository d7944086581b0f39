"""What is shown of a run where no browser program runs: reopened notebooks, nbconvert, plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets.events import Call, CallSite, Status

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Line:
    """One line of a print stream."""

    site: CallSite
    step: int
    lane: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Series:
    """The history of one scalar value: steps int64[n], values float64[n]."""

    site: CallSite
    name: str
    steps: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment: its newest lines, its series, its calls.

    Attributes:
      counts: site id -> events.
    """

    status: Status
    sites: Sequence[CallSite]
    counts: dict[int, int]
    ordered: Sequence[Line]
    unordered: Sequence[Line]
    series: Sequence[Series]
    calls: Sequence[Call]

    def count(self, *, ordered: bool) -> int:
        """Events of one stream."""
        return sum(self.counts.get(site.id, 0) for site in self.sites if site.ordered is ordered)
