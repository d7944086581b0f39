"""Read the kept events of one site in the order of its steps: values, places on the x axis, lanes, devices."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import numpy as np

from jax_debug_widgets.events import Tap
from jax_debug_widgets.store.columns import Columns
from jax_debug_widgets.store.dropped_steps import axis_columns
from jax_debug_widgets.store.segment import Segment
from jax_debug_widgets.store.segment_list import SegmentList
from jax_debug_widgets.store.site_types import SiteTypes
from jax_debug_widgets.store.stacking import one_after_the_other, require_one_shape
from jax_debug_widgets.store.step_axis import End, continued


class SiteHistory:
    """Reads the history of each site of a store. The store holds `lock` while it changes `kept` and `types`."""

    def __init__(self, lock: threading.Lock, kept: SegmentList, types: SiteTypes) -> None:
        self._lock, self._segments, self._types = lock, kept, types

    def series(self, site_id: int, value: int, *, phantoms: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return one value of a site over all kept events: positions int64[n], occurrences int64[n], values [n, ...].

        The events are in the order in which they came. Watched values in a loop that runs from its end are in the order of the
        loop's steps, so that gradients are in the order of their values. Phantoms are left out unless `phantoms`.

        Raises:
          ValueError: the value has several shapes among these events.
        """
        parts = [segment.stacked(site_id, value, first, end, phantoms=phantoms) for segment, first, end in self._kept()]
        kept = [part for part in parts if part is not None]
        if not kept:
            empty = np.zeros(0, np.int64)
            return empty, empty, np.zeros(0)
        positions, occurrences, values = zip(*kept, strict=True)
        require_one_shape({part.shape[1:] for part in values})
        positions, values = self._by_step(site_id, one_after_the_other(positions), one_after_the_other(values))
        return positions, one_after_the_other(occurrences), values

    def places(self, site_id: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the places of a site's kept events: x float64[n] along the steps, lane int64[n], device int64[n].

        The events are in the order of `series`, without phantoms. Lane and device are -1 if there is none, see `Columns`.
        """
        x, lane, device = self._by_step(site_id, *self._places(site_id))
        return x, lane, device

    def steps(self, site_id: int, *, phantoms: bool = False) -> np.ndarray:
        """Return only x of `places`, in the order of `series`: int64[n], or float64[n] if inner loops make fractions."""
        (at,) = self._by_step(site_id, self._places(site_id, phantoms=phantoms)[0])
        return _whole(at)

    def steps_of(self, site_ids: Iterable[int]) -> dict[int, np.ndarray]:
        """Return `steps` of several sites; the events are read only once."""
        kept, ends = self._kept_after(site_ids)
        pieces = [segment.columns(first, end) for segment, first, end in kept]
        found = {}
        for site_id, before in ends.items():
            x = self._placed(site_id, pieces, before)[0]
            found[site_id] = _whole(np.sort(x, kind="stable") if self._comes_backwards(site_id) else x)
        return found

    def arrivals(self, site_id: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the times in ns and the calls of a site's kept events, int64[n] each, as they came, without phantoms."""
        pieces = [(piece, ~piece.phantom) for _, piece in self._of_site(site_id)]
        none = np.zeros(0, np.int64)
        times = [none, *(piece.time_ns[chosen] for piece, chosen in pieces)]
        return np.concatenate(times), np.concatenate([none, *(piece.call[chosen] for piece, chosen in pieces)])

    def _by_step(self, site_id: int, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
        """Sort columns of a site's events into the order of `series`."""
        if not self._comes_backwards(site_id):
            return columns
        x = self._places(site_id)[0][: len(columns[0])]  # Events may have come since the columns were read.
        order = np.argsort(x, kind="stable")
        return tuple(column[order] for column in columns)

    def _comes_backwards(self, site_id: int) -> bool:
        return any(tap.site.watch is not None and any(tap.nesting.reverse) for tap in self._taps_of(site_id))

    def _places(self, site_id: int, *, phantoms: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        kept, ends = self._kept_after([site_id])
        pieces = [segment.columns_of(site_id, first, end)[1] for segment, first, end in kept]
        return self._placed(site_id, pieces, ends[site_id], phantoms=phantoms)

    def _placed(
        self, site_id: int, pieces: Sequence[Columns], before: Sequence[End], *, phantoms: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nestings = [tap.nesting for tap in self._taps_of(site_id)]
        mine = [(piece.site == site_id) & (phantoms | ~piece.phantom) for piece in pieces]
        x = continued(before, axis_columns(pieces, mine), nestings.__getitem__)
        none = np.zeros(0, np.int64)
        lane, device = (
            np.concatenate([none, *(getattr(piece, name)[own] for piece, own in zip(pieces, mine, strict=True))])
            for name in ("lane", "device")
        )
        return x, lane, device

    def firings(self, site_id: int, *, phantoms: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the kept events of a site in the order of `series`: positions int64[n], occurrences int64[n]."""
        pieces = [(positions, piece, phantoms | ~piece.phantom) for positions, piece in self._of_site(site_id)]
        positions = [positions[chosen] for positions, _, chosen in pieces]
        occurrences = [piece.occurrence[chosen] for _, piece, chosen in pieces]
        none = np.zeros(0, np.int64)
        (found,) = self._by_step(site_id, np.concatenate([none, *positions]))
        return found, np.concatenate([none, *occurrences])

    def _of_site(self, site_id: int) -> list[tuple[np.ndarray, Columns]]:
        """Return the kept events of a site in pieces: their positions, int64[n], and their columns."""
        return [segment.columns_of(site_id, first, end) for segment, first, end in self._kept()]

    def _taps_of(self, site_id: int) -> list[Tap]:
        """Return a tap of each type of a site, in the order of the types' numbers."""
        with self._lock:
            return [tap for (number, _), tap in self._types.taps.items() if number == site_id]

    def _kept_after(self, site_ids: Iterable[int]) -> tuple[list[tuple[Segment, int, int]], dict[int, list[End]]]:
        """Return the kept events and, of each of these sites, the ends of the events that were dropped before them."""
        with self._lock:
            ends = {site_id: self._segments.dropped.ends_of(site_id) for site_id in site_ids}
            return self._segments.between(0, self._segments.count), ends

    def _kept(self) -> list[tuple[Segment, int, int]]:
        with self._lock:
            return self._segments.between(0, self._segments.count)


def _whole(x: np.ndarray) -> np.ndarray:
    """Return the numbers as integers if all are whole; otherwise unchanged."""
    whole = x.astype(np.int64)
    return whole if np.array_equal(x, whole) else x
