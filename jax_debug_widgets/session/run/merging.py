"""Merge the events of several processes into one store, in the order of one clock."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from jax_debug_widgets.events import NO_VALUE, CallSite, Column, FiringBatch, Tap
from jax_debug_widgets.store import Budget, SegmentSlice, Store

_PATIENCE_S = 3.0
"""How long the events of a process wait for those of others, which may be older."""


class ProcessPart(Protocol):
    """The part of a run that one process has written.

    Attributes:
      process: the number of the process.
    """

    process: int

    @property
    def store(self) -> Store:
        """The events of the process."""
        ...


@dataclass
class _Source:
    """A process with events to merge.

    Attributes:
      shift_ns: the nanoseconds to add to its times.
      pieces: its events that are not merged yet, oldest first.
      newest_ns: the merged time up to which its events have come.
    """

    part: ProcessPart
    shift_ns: int
    pieces: deque[SegmentSlice]
    newest_ns: int


@dataclass(frozen=True)
class _Fired:
    """Firings of one tap of one process, as columns: one for each array that the tap hands over."""

    tap: Tap
    source: int
    positions: np.ndarray
    times_ns: np.ndarray
    calls: np.ndarray
    executions: np.ndarray
    occurrences: np.ndarray
    ordinals: np.ndarray
    columns: list[Column]


class Merging:
    """Merges the events of several processes into one store, in which each process has its own sites.

    Attributes:
      store: the merged events.
    """

    def __init__(self, budget: Budget) -> None:
        self.store = Store(budget, 0)
        self._sources: list[_Source] = []
        self._sites: dict[tuple[int, int], int] = {}
        self._taps: dict[Tap, Tap] = {}
        self._held_since: float | None = None

    def add(self, parts: Sequence[ProcessPart], shifts_ns: Sequence[int]) -> None:
        """Merge the events of these processes too. `shifts_ns` are the nanoseconds to add to the times of each."""
        dropped: dict[int, int] = {}
        for part, shift_ns in zip(parts, shifts_ns, strict=True):
            source = _Source(part, shift_ns, deque(), shift_ns)
            for site, count in part.store.dropped_by_site().items():
                dropped[self.site_id(part.process, site)] = count
            self._sources.append(source)
            part.store.follow(source.pieces.append)
        if not len(self.store):
            self.store.begin_at(sum(part.store.oldest for part in parts), dropped)

    def site_id(self, process: int, site: int) -> int:
        """Return the id in the merged run of a process's site."""
        return self._sites.setdefault((process, site), len(self._sites))

    def site(self, site: CallSite) -> CallSite:
        """Return a process's site as it is in the merged run."""
        watch = site.watch
        if watch is not None:
            value, gradient = (
                number if number in (None, NO_VALUE) else self.site_id(site.process, number)
                for number in (watch.value, watch.gradient)
            )
            watch = replace(watch, value=value, gradient=gradient)
        return replace(site, id=self.site_id(site.process, site.id), watch=watch)

    def take(self, *, awaited: Sequence[int] = ()) -> None:
        """Merge the events that have come, up to the time of the `awaited` processes, which may still send older events."""
        until_ns = self._until(awaited)
        fired: list[_Fired] = []
        for number, source in enumerate(self._sources):
            for piece in _up_to(source, until_ns):
                fired += self._firings(number, source, piece)
        if fired:
            self._merge(fired)
        if not any(source.pieces for source in self._sources):
            self._held_since = None
        elif self._held_since is None:
            self._held_since = time.monotonic()

    def _until(self, awaited: Sequence[int]) -> float:
        for source in self._sources:
            for piece in source.pieces:
                newest = int(piece.segment.columns(piece.stop - 1, piece.stop).time_ns[0]) + source.shift_ns
                source.newest_ns = max(source.newest_ns, newest)
        is_patient = self._held_since is None or time.monotonic() - self._held_since < _PATIENCE_S
        ends = [source.newest_ns for source in self._sources if source.part.process in awaited]
        return min(ends) if ends and is_patient else float("inf")

    def _firings(self, number: int, source: _Source, piece: SegmentSlice) -> Iterator[_Fired]:
        columns = piece.segment.columns(piece.first, piece.stop)
        for tap, positions, ordinals, values in piece.segment.firings(piece.first, piece.stop):
            rows = positions - piece.first
            yield _Fired(
                self._tap(tap),
                number,
                positions,
                columns.time_ns[rows] + source.shift_ns,
                columns.call[rows],
                columns.execution[rows],
                columns.occurrence[rows],
                ordinals,
                values,
            )

    def _tap(self, tap: Tap) -> Tap:
        if tap not in self._taps:
            self._taps[tap] = replace(tap, site=self.site(tap.site))
        return self._taps[tap]

    def _merge(self, fired: Sequence[_Fired]) -> None:
        by_tap: dict[Tap, list[_Fired]] = {}
        for one in fired:
            by_tap.setdefault(one.tap, []).append(one)
        parts = [one for own in by_tap.values() for one in own]
        number = np.repeat(np.arange(len(by_tap)), [sum(len(one.positions) for one in own) for own in by_tap.values()])
        positions, times, calls, executions, occurrences, ordinals = (
            np.concatenate([getattr(one, name) for one in parts])
            for name in ("positions", "times_ns", "calls", "executions", "occurrences", "ordinals")
        )
        source = np.repeat([one.source for one in parts], [len(one.positions) for one in parts])
        order = _in_order(source, positions, times)
        columns = [
            [_one_column(column) for column in zip(*(one.columns for one in own), strict=True)]
            for own in by_tap.values()
        ]
        none = np.zeros(len(order), np.int64)
        batch = FiringBatch(list(by_tap), number[order], times[order], none, columns)
        self.store.restore(batch, calls[order], executions[order], occurrences[order], ordinals[order])


def _up_to(source: _Source, until_ns: float) -> Iterator[SegmentSlice]:
    """Yield the events of a process up to this time, and remove them from its pieces."""
    while source.pieces:
        piece = source.pieces.popleft()
        times = np.maximum.accumulate(piece.segment.columns(piece.first, piece.stop).time_ns) + source.shift_ns
        stop = piece.first + int(np.searchsorted(times, until_ns, side="right"))
        if stop > piece.first:
            yield piece._replace(stop=stop)
        if stop < piece.stop:
            source.pieces.appendleft(piece._replace(first=stop))
            return


def _in_order(source: np.ndarray, positions: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the order of time. The events of one process stay in the order in which they came, also if one came late."""
    key = np.empty(len(times), np.int64)
    for number in np.unique(source).tolist():
        own = np.flatnonzero(source == number)
        own = own[np.argsort(positions[own], kind="stable")]
        key[own] = np.maximum.accumulate(times[own])
    return np.lexsort((positions, source, key))


def _one_column(parts: Sequence[Column]) -> Column:
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, list) for part in parts):
        return [row for part in parts for row in part]
    return np.concatenate(parts)
