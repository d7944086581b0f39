"""Make columns of a run's events, for a data frame or a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite, Tap
    from jax_debug_widgets.store import SegmentSlice, Store

Rows = Sequence[tuple[np.ndarray, ...]]
"""The values of each event."""


def event_columns(store: Store, pieces: Sequence[SegmentSlice]) -> Mapping[str, Any]:
    """Return name -> column, with a row for each event of these pieces, in arrival order; see `Run.to_pandas`. No values.

    The columns are made as a whole and not event by event, because a run may have a million events.
    """
    columns = [piece.segment.columns(piece.first, piece.stop) for piece in pieces]
    first = pieces[0].first if pieces else 0

    def joined(name: str) -> np.ndarray:
        return np.concatenate([np.zeros(0, np.int64), *(getattr(part, name) for part in columns)])

    numbers, site = np.unique(joined("site"), return_inverse=True)
    sites = {one.id: one for one in store.sites()}

    def of_site(read: Callable[[CallSite], Any]) -> np.ndarray:
        return _objects([read(sites[number]) for number in numbers.tolist()])[site]

    outer, inner, lanes, count = joined("step"), joined("inner"), joined("lane"), len(site)
    lane, text, step = (np.empty(count, object) for _ in range(3))
    for piece in pieces:
        for tap, positions, values in piece.segment.values(piece.first, piece.stop):
            at = positions - first
            lane[at] = _objects(_lanes(tap, lanes[at]))
            text[at] = _objects(tap.texts(rows_of(values, len(at))))
            step[at] = _objects(_steps(tap, piece, positions, outer[at], inner[at]))
    return {
        "seq": np.arange(first, first + count),
        "time": joined("time_ns") * 1e-9,
        "kind": of_site(lambda one: one.kind),
        "ordered": of_site(lambda one: one.ordered).astype(bool),
        "where": of_site(lambda one: one.where),
        "label": of_site(lambda one: one.label),
        "occurrence": joined("occurrence"),
        "step": step,
        "lane": lane,
        "device": _objects([*store.devices, ""])[joined("device")],
        "process": of_site(lambda one: one.process).astype(np.int64),
        "phantom": joined("phantom").astype(bool),
        "phase": of_site(lambda one: one.phase),
        "call": joined("call"),
        "text": text,
    }


def named_values(pieces: Sequence[SegmentSlice]) -> np.ndarray:
    """Return the values of each event by their names in the source, object[n]."""
    named = np.empty(pieces[-1].stop - pieces[0].first if pieces else 0, object)
    for piece in pieces:
        for tap, positions, values in piece.segment.values(piece.first, piece.stop):
            rows, names = rows_of(values, len(positions)), tap.site.values
            dicts = [{name: value[()] for name, value in zip(names, row, strict=True)} for row in rows]
            named[positions - pieces[0].first] = _objects(dicts)
    return named


def rows_of(columns: Sequence[Any], count: int) -> Rows:
    """Turn columns of values into the values of each of `count` events."""
    return list(zip(*columns, strict=True)) if columns else [()] * count


def _steps(
    tap: Tap, piece: SegmentSlice, positions: np.ndarray, outer: np.ndarray, inner: np.ndarray
) -> Sequence[tuple[int, ...]]:
    """Return the iteration of each loop around these events of a tap."""
    lengths = [length for length in tap.nesting.loops[2:] if length is not None]
    if len(lengths) < len(tap.nesting.loops[2:]):  # Inner loops of unknown length: only the event itself has its step.
        return [piece.segment.event(position).step for position in positions.tolist()]
    digits = []
    for length in reversed(lengths):
        inner, digit = np.divmod(inner, length)
        digits.insert(0, digit)
    steps = [outer, *([inner] if len(tap.nesting.loops) > 1 else []), *digits]
    rows = zip(*(one.tolist() for one in steps), strict=True)
    return [step if known else () for step, known in zip(rows, (outer >= 0).tolist(), strict=True)]


def _lanes(tap: Tap, flat: np.ndarray) -> list[tuple[int, ...]]:
    """Return the lanes of events of a tap from their flat indices."""
    sizes = tap.lanes or tap.nesting.lanes
    if not sizes:
        return [()] * len(flat)
    lanes = zip(*(axis.tolist() for axis in np.unravel_index(np.maximum(flat, 0), sizes)), strict=True)
    return [lane if known else () for lane, known in zip(lanes, (flat >= 0).tolist(), strict=True)]


def _objects(items: Sequence[Any]) -> np.ndarray:
    """Make an object array with one element for each item; tuples and arrays stay whole."""
    return np.fromiter(items, object, len(items))
