"""Read the complete firings of damaged files, and number their events without gaps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from jax_debug_widgets.archive.firings import Arrays
from jax_debug_widgets.archive.taps import large
from jax_debug_widgets.events import Tap


def whole_firings(events: pa.Table, arrays: pa.Table, taps: Mapping[int, Tap], first: int) -> tuple[pa.Table, pa.Table]:
    """Select the rows of the firings that are complete, and number their events from `first` on without gaps."""
    events = events.take(pa.array(np.argsort(events["seq"].to_numpy(), kind="stable")))
    seq, number = events["seq"].to_numpy(), events["tap"].to_numpy()
    ordinal, time = events["ordinal"].to_numpy(), events["time_ns"].to_numpy()
    there, is_whole = Arrays(arrays), np.zeros(len(seq), bool)
    for line in np.unique(number).tolist():
        tap = taps.get(line)
        if tap is None:
            continue
        rows = np.flatnonzero(number == line)
        is_next = (np.diff(seq[rows]) == 1) & (np.diff(ordinal[rows]) == 0) & (np.diff(time[rows]) == 0)
        starts = np.flatnonzero(np.concatenate([[True], ~is_next | (tap.size == 1)]))
        whole = starts[np.diff(np.append(starts, len(rows))) == tap.size]
        for value in large(tap):
            whole = whole[there.has(seq[rows[whole]], value)]
        is_whole[rows[(whole[:, None] + np.arange(tap.size)).ravel()]] = True
    return _numbered(events, is_whole, first), _of_these(arrays, seq[is_whole], first)


def _numbered(events: pa.Table, chosen: np.ndarray, first: int) -> pa.Table:
    events = events.filter(pa.array(chosen))
    at = events.schema.get_field_index("seq")
    return events.set_column(at, "seq", pa.array(np.arange(first, first + len(events)), pa.int64()))


def _of_these(arrays: pa.Table, seq: np.ndarray, first: int) -> pa.Table:
    """Select the arrays of the events with the numbers `seq`, and number them anew from `first` on."""
    own = arrays["seq"].to_numpy()
    is_kept = np.isin(own, seq)
    numbers = first + np.searchsorted(seq, own[is_kept])
    return arrays.filter(pa.array(is_kept)).set_column(
        arrays.schema.get_field_index("seq"), "seq", pa.array(numbers, pa.int64())
    )
