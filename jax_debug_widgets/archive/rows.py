"""Turn events into rows of the tables, column by column, because a run may have a million events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from jax_debug_widgets.archive.exact import as_doubles
from jax_debug_widgets.archive.layout import ARRAYS, EVENTS, WATCHED
from jax_debug_widgets.archive.schemas import SCHEMAS
from jax_debug_widgets.archive.taps import large, small
from jax_debug_widgets.events import Column, Tap, joined
from jax_debug_widgets.store import SegmentSlice
from jax_debug_widgets.store.lanes import by_event


@dataclass(frozen=True)
class TapNumber:
    """The number of a tap in a file, which is its line in sites.jsonl; and whether events store their texts."""

    line: int
    stores_text: bool


Numbering = Callable[[Tap, Sequence[np.ndarray]], TapNumber]
"""Returns the number of a tap. It takes the tap and the values of its first event."""


@dataclass(frozen=True)
class _Fired:
    """The firings of one tap.

    `positions` and `ordinals` are int64[firings]; a position is the number of the firing's first event. `columns` are
    the values that the firings handed over.
    """

    tap: Tap
    positions: np.ndarray
    ordinals: np.ndarray
    columns: list[Column]

    @property
    def events(self) -> np.ndarray:
        """The number of each event, firing by firing."""
        return (self.positions[:, None] + np.arange(self.tap.size)).ravel()

    def value(self, number: int) -> np.ndarray:
        """Return value `number` of each event, `[events, *shape]`."""
        column = np.asarray(by_event(self.tap, number, joined(self.columns[number])))
        return column.reshape(len(self.positions) * self.tap.size, *self.tap.shapes[number])

    def around(self) -> np.ndarray:
        """Return int64[events, k]: the columns after the values and the guard, such as iterations and coordinates."""
        rest = self.columns[len(self.tap.shapes) + (self.tap.guard is not None) :]
        table = np.zeros((len(self.positions), len(rest)), np.int64)
        for place, column in enumerate(rest):
            table[:, place] = np.asarray(joined(column)).reshape(len(table))
        return np.repeat(table, self.tap.size, 0)

    def rows(self) -> list[tuple[np.ndarray, ...]]:
        """Return the values of each event."""
        values = [self.value(number) for number in range(len(self.tap.shapes))]
        return [tuple(column[row, ...] for column in values) for row in range(len(self.events))]


def batches_of(pieces: Sequence[SegmentSlice], number_of: Numbering) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each table for these consecutive events.

    The arrays come first, so that a reader never finds an event without its arrays.
    """
    columns = [piece.segment.columns(piece.first, piece.stop) for piece in pieces]
    fired = _by_tap(pieces)
    numbers = {one.tap: number_of(one.tap, _first_values(one)) for one in fired}
    if arrays := list(_arrays(fired)):
        yield ARRAYS, pa.RecordBatch.from_pylist(arrays, SCHEMAS[ARRAYS])
    first = pieces[0].first
    joined_columns = {
        name: np.concatenate([getattr(part, name) for part in columns])
        for name in ("site", "time_ns", "call", "occurrence", "execution", "step", "inner", "lane", "device", "phantom")
    }
    joined_columns["seq"] = np.arange(first, first + len(joined_columns["site"]))
    for table, is_watched in ((EVENTS, False), (WATCHED, True)):
        own = [one for one in fired if (one.tap.site.kind == "watch") is is_watched]
        if own:
            yield table, _batch(SCHEMAS[table], own, numbers, joined_columns, first)


def writable(text: Any) -> Any:
    """Return a text as Arrow accepts it: lone surrogates, which Python's strings may hold, become escapes."""
    return text.encode("utf-8", "backslashreplace").decode() if isinstance(text, str) else text


def _by_tap(pieces: Iterable[SegmentSlice]) -> list[_Fired]:
    found: dict[Tap, list[tuple[np.ndarray, np.ndarray, list[Column]]]] = {}
    for piece in pieces:
        for tap, positions, ordinals, columns in piece.segment.firings(piece.first, piece.stop):
            found.setdefault(tap, []).append((positions, ordinals, columns))
    return [_joined(tap, parts) for tap, parts in found.items()]


def _joined(tap: Tap, parts: list[tuple[np.ndarray, np.ndarray, list[Column]]]) -> _Fired:
    if len(parts) == 1:
        return _Fired(tap, *parts[0])
    positions, ordinals, columns = zip(*parts, strict=True)
    together: list[Column] = [
        [row for part in parts_of_one for row in part]
        if any(isinstance(part, list) for part in parts_of_one)
        else np.concatenate(parts_of_one)
        for parts_of_one in zip(*columns, strict=True)
    ]
    return _Fired(tap, np.concatenate(positions), np.concatenate(ordinals), together)


def _first_values(one: _Fired) -> tuple[np.ndarray, ...]:
    arrays = [np.asarray(column[0]) for column in one.columns]
    return one.tap.values_of(arrays, one.tap.lane_order[0])


def _batch(
    schema: pa.Schema,
    fired: Sequence[_Fired],
    numbers: dict[Tap, TapNumber],
    columns: dict[str, np.ndarray],
    first: int,
) -> pa.RecordBatch:
    """Make the rows of the events that these taps have fired, in the order of the events."""
    places = np.sort(np.concatenate([one.events for one in fired])) - first
    row_of = np.full(len(columns["seq"]), -1)
    row_of[places] = np.arange(len(places))
    rows = [row_of[one.events - first] for one in fired]
    tap, ordinal = (np.empty(len(places), np.int64) for _ in range(2))
    doubles, around = [], []
    seldom: dict[str, np.ndarray] = {}  # Most batches have neither column.
    for one, own in zip(fired, rows, strict=True):
        tap[own] = numbers[one.tap].line
        ordinal[own] = np.repeat(one.ordinals, one.tap.size)
        table, exact = as_doubles([one.value(number) for number in small(one.tap)], len(own))
        doubles.append(table)
        around.append(one.around())
        if exact is not None:
            seldom.setdefault("raw", np.full(len(places), None, object))[own] = exact
        if numbers[one.tap].stores_text:
            texts = np.fromiter(map(writable, one.tap.texts(one.rows())), object, len(own))
            seldom.setdefault("text", np.full(len(places), None, object))[own] = texts
    made: dict[str, Any] = {
        **{name: column[places] for name, column in columns.items()},
        "tap": tap,
        "ordinal": ordinal,
        "around": _lists(around, rows, len(places)),
        "numbers": _lists(doubles, rows, len(places)),
        **{name: seldom.get(name, pa.nulls(len(places), schema.field(name).type)) for name in ("raw", "text")},
    }
    return pa.RecordBatch.from_arrays([_array(made[field.name], field.type) for field in schema], schema=schema)


def _array(column: Any, kind: pa.DataType) -> pa.Array:
    return column if isinstance(column, pa.Array) else pa.array(column, kind)


def _lists(tables: Sequence[np.ndarray], rows: Sequence[np.ndarray], count: int) -> pa.ListArray:
    """Make a list for each of `count` rows: row i of each table, `[n, k]`, becomes row `rows[i]`."""
    sizes = np.zeros(count, np.int64)
    for table, own in zip(tables, rows, strict=True):
        sizes[own] = table.shape[1]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    flat = np.empty(int(ends[-1]), np.result_type(*tables))
    for table, own in zip(tables, rows, strict=True):
        if table.shape[1]:
            flat[ends[own][:, None] + np.arange(table.shape[1])] = table
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(flat))


def _arrays(fired: Iterable[_Fired]) -> Iterator[dict[str, Any]]:
    for one in fired:
        for number in large(one.tap):
            for position, value in zip(one.positions.tolist(), one.columns[number], strict=True):
                array = np.ascontiguousarray(value)
                assert array.size == math.prod(array.shape)
                yield {
                    "seq": position,
                    "value": number,
                    "dtype": array.dtype.name,
                    "shape": array.shape,
                    "data": array.tobytes(),
                }
