"""Count the steps of events that are dropped, so that the steps of those that are kept go on from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from jax_debug_widgets.events import Nesting
from jax_debug_widgets.store.axis import numbers_in
from jax_debug_widgets.store.columns import Columns
from jax_debug_widgets.store.segment import Segment
from jax_debug_widgets.store.site_types import SiteTypes
from jax_debug_widgets.store.step_axis import OF_AXIS, End, StepAxis, continued


class DroppedSteps:
    """Where the steps of each site go on after its dropped events. The store holds its lock while it calls this."""

    def __init__(self, types: SiteTypes) -> None:
        self._types = types
        self._axis = StepAxis()

    def ends_of(self, site: int) -> list[End]:
        """Return the ends of a site's dropped events."""
        return self._axis.ends_of(site)

    def pass_over(self, segment: Segment, first: int, end: int) -> None:
        """Count events `first .. end - 1` of a segment, which are dropped."""
        columns = segment.columns(first, end)
        for site in numbers_in(columns.site):
            mine = np.flatnonzero((columns.site == site) & ~columns.phantom)
            if len(mine):
                own = axis_columns([columns], [mine])
                x = continued(self.ends_of(site), own, partial(self._nesting, site))
                self._axis.pass_over(site, own, x, columns.first + mine)

    def _nesting(self, site: int, kind: int) -> Nesting:
        return self._types.taps[site, kind].nesting


def axis_columns(pieces: Sequence[Columns], chosen: Sequence[np.ndarray]) -> Mapping[str, np.ndarray]:
    """Return the columns of chosen events that place them on the axis of steps, one piece after the other, int64[n]."""
    none = np.zeros(0, np.int64)
    names = {**{name: name for name in OF_AXIS}, "kind": "type"}
    return {
        name: np.concatenate([none, *(getattr(piece, field)[own] for piece, own in zip(pieces, chosen, strict=True))])
        for name, field in names.items()
    }
