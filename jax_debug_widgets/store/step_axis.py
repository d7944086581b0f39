"""Place the events of sites on the axis of steps part by part, where earlier events are no longer at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from jax_debug_widgets.events import Nesting
from jax_debug_widgets.store.axis import along_steps, numbers_in

OF_AXIS = ("step", "inner", "call", "execution", "device", "occurrence")
"""The columns of events that place them; see `Columns`."""

ENDS = ("last", "high")
"""The events of a part from which later ones are counted: the newest one, and the one with the largest x.

A loop that runs from its end has two different ones.
"""


class End(NamedTuple):
    """An event from which the positions of later events are counted.

    Attributes:
      place: its values in the columns `OF_AXIS`.
      kind: the number of its nesting.
      x: its position on the axis of steps.
      seq: its number.
    """

    place: tuple[int, ...]
    kind: int
    x: float
    seq: int


class StepAxis:
    """Holds the ends of the parts so far, of each site and device; events with a known step, and those without, apart."""

    def __init__(self) -> None:
        self._ends: dict[int, dict[tuple[int, bool, str], End]] = {}

    def ends_of(self, site: int) -> list[End]:
        """Return the ends of a site, the oldest first."""
        return sorted(set(self._ends.get(site, {}).values()), key=lambda one: one.seq)

    def pass_over(self, site: int, own: Mapping[str, np.ndarray], x: np.ndarray, seq: np.ndarray) -> None:
        """Note that the events of a site that come next follow these.

        Args:
          own: the columns `OF_AXIS` and `kind` of the events, int64[n], without phantoms.
          x: float64[n], what `continued` has returned for them.
          seq: int64[n], their numbers.
        """
        device, has_step = own["device"], own["step"] >= 0
        for number in numbers_in(device):
            for value in numbers_in(has_step):
                mine = np.flatnonzero((device == number) & (has_step == value))
                if len(mine):
                    for which, row in zip(ENDS, (mine[-1], mine[np.argmax(x[mine])]), strict=True):
                        place = tuple(int(own[name][row]) for name in OF_AXIS)
                        self.remember(site, which, End(place, int(own["kind"][row]), float(x[row]), int(seq[row])))

    def remember(self, site: int, which: str, end: End) -> None:
        """Keep an end, one of `ENDS`, if it is later than the one known before."""
        place = dict(zip(OF_AXIS, end.place, strict=True))
        known, key = self._ends.setdefault(site, {}), (place["device"], place["step"] >= 0, which)
        before = known.get(key)
        if before is None or (before.seq <= end.seq if which == "last" else before.x < end.x):
            known[key] = end


def continued(ends: Iterable[End], own: Mapping[str, np.ndarray], nesting_of: Callable[[int], Nesting]) -> np.ndarray:
    """Return the position of each event of a site on the axis of steps, float64[n], counted on from the ends of earlier ones.

    Args:
      own: as for `StepAxis.pass_over`.
      nesting_of: returns the nesting of a kind in loops.
    """
    before = list(ends)
    kinds = np.unique([*(one.kind for one in before), *numbers_in(own["kind"])])
    places = np.array([one.place for one in before], np.int64).reshape(len(before), len(OF_AXIS))
    axis = {
        name: np.concatenate([places[:, at], own[name]]).astype(np.int64, copy=False) for at, name in enumerate(OF_AXIS)
    }
    kind = np.searchsorted(kinds, np.concatenate([np.array([one.kind for one in before], np.int64), own["kind"]]))
    x = along_steps(nestings=[nesting_of(number) for number in kinds.tolist()], kind=kind, **axis)
    for at, one in enumerate(before):
        if (steps := round(one.x - x[at])) != 0:  # Whole steps, whatever fractions of one are rounded to.
            alike = (axis["device"] == axis["device"][at]) & ((axis["step"] >= 0) == (axis["step"][at] >= 0))
            x[alike] += steps
    return x[len(before) :]
