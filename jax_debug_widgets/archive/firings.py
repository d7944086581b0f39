"""Turn rows of the tables into firings, in the form that a store takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from jax_debug_widgets.archive.dtypes import dtype_called
from jax_debug_widgets.archive.exact import from_bytes, from_doubles
from jax_debug_widgets.archive.layout import RunFileError
from jax_debug_widgets.archive.taps import large, small, width
from jax_debug_widgets.archive.texts import StoredTexts
from jax_debug_widgets.events import Column, FiringBatch, Tap

_OF_FIRINGS = ("time_ns", "call", "occurrence", "execution", "ordinal")
_NUMBERS = ("seq", "tap", "phantom", *_OF_FIRINGS)


@dataclass
class Lists:
    """Holds one list for each row: row i is `flat[starts[i] : starts[i] + sizes[i]]`."""

    flat: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Lists:
        """Make it from an Arrow column of lists."""
        sizes = column.combine_chunks().value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
        flat = pa.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type).to_numpy()
        return cls(flat, np.cumsum(sizes) - sizes, sizes)

    def rows(self, chosen: np.ndarray, size: int, what: str) -> np.ndarray:
        """Return the lists of some rows as one array, `[n, size]`.

        Raises:
          RunFileError: one of the lists has another size.
        """
        if (self.sizes[chosen] != size).any():
            raise RunFileError(f"a row has not as many {what} as its line in sites.jsonl says ({size})")
        return self.flat[self.starts[chosen][:, None] + np.arange(size)]


@dataclass(frozen=True)
class Firings:
    """Holds the arguments of `Store.restore`, and the number of events."""

    batch: FiringBatch
    calls: np.ndarray
    executions: np.ndarray
    occurrences: np.ndarray
    ordinals: np.ndarray
    events: int


class FiringRows:
    """Holds the rows of events and watched values of one stretch, ordered by position."""

    def __init__(self, events: pa.Table, taps: Mapping[int, Tap]) -> None:
        self._taps = taps
        seq = events["seq"].to_numpy()
        if (np.diff(seq) < 0).any():
            events = events.take(pa.array(np.argsort(seq, kind="stable")))
        events = events.combine_chunks()
        columns = {name: events[name].to_numpy(zero_copy_only=False) for name in _NUMBERS}
        self.seq, self.tap, self._columns = columns["seq"], columns["tap"], columns
        self._lines: list[int] = np.unique(self.tap).tolist()
        if not set(self._lines) <= taps.keys():
            raise RunFileError("a row is of a tap that sites.jsonl does not have")
        self._rows = {line: np.flatnonzero(self.tap == line) for line in self._lines}
        self._numbers, self._around = Lists.of(events["numbers"]), Lists.of(events["around"])
        self._raw, self._text = events["raw"], events["text"]

    def firings(self, first: int, arrays: Arrays) -> Firings | None:
        """Return the complete firings from event `first` on; None if there are none."""
        count = self.complete(first, arrays)
        if not count:
            return None
        taps, columns = [], []
        number = np.full(count, -1)
        for line in self._lines:
            tap, rows = self._taps[line], self._rows_before(line, count)
            if len(rows):
                number[rows[:: tap.size]] = len(taps)
                taps.append(tap)
                columns.append(self._columns_of(tap, rows, arrays))
        begins = number >= 0
        of_each = {name: self._columns[name][:count][begins].astype(np.int64, copy=False) for name in _OF_FIRINGS}
        tap_of_each = number[begins]
        batch = FiringBatch(taps, tap_of_each, of_each["time_ns"], np.zeros(len(tap_of_each), np.int64), columns)
        return Firings(
            batch,
            of_each["call"],
            of_each["execution"],
            of_each["occurrence"],
            of_each["ordinal"],
            count,
        )

    def calls_of(self, count: int) -> dict[int, int]:
        """Count the events of each call among the first `count` rows."""
        calls, events = np.unique(self._columns["call"][:count], return_counts=True)
        return dict(zip(calls.tolist(), events.tolist(), strict=True))

    def complete(self, first: int, arrays: Arrays) -> int:
        """Return how many rows, from event `first` on, are consecutive and belong to complete firings."""
        if not len(self.seq) or self.seq[0] != first:
            return 0
        gaps = np.flatnonzero(np.diff(self.seq) != 1)
        count = int(gaps[0]) + 1 if len(gaps) else len(self.seq)
        for line in self._lines:
            tap, rows = self._taps[line], self._rows_before(line, count)
            whole = rows[: len(rows) // tap.size * tap.size].reshape(-1, tap.size)
            if (whole != whole[:, :1] + np.arange(tap.size)).any():
                raise RunFileError(f"the lanes of {tap.site.where} do not follow one another")
            if len(rows) % tap.size:
                count = min(count, int(rows[whole.size]))
            for value in large(tap):
                missing = ~arrays.has(self.seq[whole[:, 0]], value)
                if missing.any():
                    count = min(count, int(whole[np.argmax(missing), 0]))
        # A firing that begins before the last complete row may end after it.
        for line in self._lines:
            rows = self._rows_before(line, count)
            if left := len(rows) % self._taps[line].size:
                count = min(count, int(rows[len(rows) - left]))
        return count

    def _rows_before(self, line: int, count: int) -> np.ndarray:
        """Return those rows of a tap that are among the first `count` rows."""
        rows = self._rows[line]
        return rows[: np.searchsorted(rows, count)]

    def _columns_of(self, tap: Tap, rows: np.ndarray, arrays: Arrays) -> list[Column]:
        """Return the columns that the firings of a tap have handed over; `rows` are the rows of their events."""
        columns: dict[int, Column] = {}
        few = small(tap)
        for number, value in zip(few, self._small_values(tap, rows, few), strict=True):
            columns[number] = _by_firing(tap, tap.mapped[number], value)
        seq = self.seq[rows].reshape(-1, tap.size)[:, 0]
        for number in large(tap):
            columns[number] = arrays.of(seq, number, tap)
        rest: list[Column] = []
        if tap.guard is not None:
            there = ~self._columns["phantom"][rows].astype(bool)
            rest.append(_by_firing(tap, tap.guard, there))
        extra = tap.width - len(tap.shapes) - (tap.guard is not None)
        around = self._around.rows(rows, extra, "iterations and coordinates")[:: tap.size]
        if isinstance(tap.render, StoredTexts):
            self._keep_texts(tap, tap.render, rows, columns)
        return [*(columns[number] for number in range(len(tap.shapes))), *rest, *np.ascontiguousarray(around.T)]

    def _small_values(self, tap: Tap, rows: np.ndarray, few: Sequence[int]) -> list[np.ndarray]:
        shapes, dtypes = [tap.shapes[number] for number in few], [tap.dtypes[number] for number in few]
        values = from_doubles(self._numbers.rows(rows, width(tap), "numbers"), shapes, dtypes)
        raw = self._raw.take(pa.array(rows)) if self._raw.null_count < len(self._raw) else None
        if raw is None or raw.null_count == len(raw):
            return values
        inexact = np.flatnonzero(raw.is_valid().to_numpy())
        nbytes = sum(math.prod(shape) * dtype.itemsize for shape, dtype in zip(shapes, dtypes, strict=True))
        data = b"".join(raw.take(pa.array(inexact)).to_pylist())
        if len(data) != nbytes * len(inexact):
            raise RunFileError(f"the bytes of a value of {tap.site.where} are not as many as its dtype wants")
        exact = from_bytes(np.frombuffer(data, np.uint8).reshape(len(inexact), -1), shapes, dtypes)
        for value, own in zip(values, exact, strict=True):
            value[inexact] = own
        return values

    def _keep_texts(self, tap: Tap, texts: StoredTexts, rows: np.ndarray, columns: dict[int, Column]) -> None:
        lines = self._text.take(pa.array(rows)).to_pylist()
        for event, text in enumerate(lines):
            firing, lane = divmod(event, tap.size)
            arrays = [columns[number][firing] for number in range(len(tap.shapes))]
            texts.add(tap.values_of([np.asarray(one) for one in arrays], tap.lane_order[lane]), text or "")


class Arrays:
    """Finds rows of the table of arrays by the position of the firing and the number of the value."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table.combine_chunks()
        keys = np.stack([self._table["seq"].to_numpy(), self._table["value"].to_numpy().astype(np.int64)], 1)
        self._order = np.lexsort((keys[:, 0], keys[:, 1]))
        self._keys = keys[self._order]

    def has(self, seq: np.ndarray, value: int) -> np.ndarray:
        """Return bool[n]: whether value `value` of the firing at each position is in the table."""
        return self._places(seq, value) >= 0

    def of(self, seq: np.ndarray, value: int, tap: Tap) -> Column:
        """Return value `value` of the firings at these positions.

        Raises:
          RunFileError: an array does not have the tap's dtype and shape, or not the number of bytes that these need.
        """
        rows = self._table.take(pa.array(self._order[self._places(seq, value)]))
        lanes = zip(tap.lanes, tap.mapped[value], strict=True) if tap.lanes else ()
        shape, dtype = (*(size for size, present in lanes if present), *tap.shapes[value]), tap.dtypes[value]
        nbytes = math.prod(shape) * dtype.itemsize
        found: list[np.ndarray] = []
        for name, own, data in zip(rows["dtype"], rows["shape"], rows["data"], strict=True):
            is_ours = dtype_called(name.as_py()) == dtype and tuple(own.as_py()) == shape
            if not is_ours or data.as_buffer().size != nbytes:
                raise RunFileError(f"an array of {tap.site.where} is not of the type {dtype}{list(shape)} that it says")
            found.append(np.frombuffer(data.as_buffer(), dtype).reshape(shape))
        return found

    def _places(self, seq: np.ndarray, value: int) -> np.ndarray:
        """Return int64[n]: the places of the arrays in the sorted keys; -1 for those that are missing."""
        first, last = np.searchsorted(self._keys[:, 1], [value, value + 1])
        own = self._keys[first:last, 0]
        if not len(own):
            return np.full(len(seq), -1)
        at = np.minimum(np.searchsorted(own, seq), len(own) - 1)
        return np.where(own[at] == seq, first + at, -1)


def _by_firing(tap: Tap, mapped: Sequence[bool], value: np.ndarray) -> np.ndarray:
    """Convert `[events, *shape]` to `[firings, *lanes of the value, *shape]`, the inverse of `store.lanes.laid_out`."""
    if not tap.lanes:
        return value
    rest = value.shape[1:]
    by_lane = value.reshape(len(value) // tap.size, *reversed(tap.lanes), *rest)
    lanes = range(len(tap.lanes), 0, -1)
    by_lane = by_lane.transpose(0, *lanes, *range(1 + len(tap.lanes), by_lane.ndim))
    return by_lane[(slice(None), *(slice(None) if present else 0 for present in mapped))]
