"""Define the columns of the tables in a run's folder."""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa

from jax_debug_widgets.archive.layout import ARRAYS, CALLS, EVENTS, INPUTS, OVERVIEW, SPANS, VERSION, WATCHED
from jax_debug_widgets.events import Call

_EVENT: dict[str, Any] = {
    "seq": pa.int64(),
    "time_ns": pa.int64(),
    "site": pa.int64(),
    "tap": pa.int32(),
    "call": pa.int64(),
    "occurrence": pa.int64(),
    "execution": pa.int64(),
    "ordinal": pa.int64(),
    "step": pa.int64(),
    "inner": pa.int64(),
    "lane": pa.int64(),
    "device": pa.int32(),
    "phantom": pa.bool_(),
    "around": pa.list_(pa.int64()),
    "numbers": pa.list_(pa.float64()),
    "raw": pa.binary(),
    "text": pa.string(),
}
"""One row for each event, as plain JAX would have fired it: the columns of `store.Columns`, and these:

    tap       the line of sites.jsonl, from 0, that says how to read the values
    ordinal   how often the tap had fired before in the call, on the device
    around    further values of the firing: the iteration of each loop, mesh coordinates, the number of the lane
    numbers   the elements of all values with at most 16 elements, one value after the other
    raw       the bytes of these values, little-endian, if float64 cannot represent one of them; else null
    text      the line of text, if only the program could make it; null if the format and the values give it
"""

_ARRAY: dict[str, Any] = {
    "seq": pa.int64(),
    "value": pa.int32(),
    "dtype": pa.string(),
    "shape": pa.list_(pa.int64()),
    "data": pa.large_binary(),
}
"""One row for each value with more than 16 elements. `seq` is its firing's first event; mapped lanes are leading axes."""

_CALL_TYPES: dict[str, Any] = {
    "int": pa.int64(),
    "int | None": pa.int64(),
    "float | None": pa.float64(),
    "bool": pa.bool_(),
    "tuple[str, ...]": pa.list_(pa.string()),
    "tuple[int, int, int] | None": pa.list_(pa.int64()),
}

_SPAN: dict[str, Any] = {"site": pa.int64(), "thread": pa.string(), "from_ns": pa.int64(), "to_ns": pa.int64()}


_INPUT: dict[str, Any] = {
    "path": pa.string(),
    "kind": pa.string(),
    "dtype": pa.string(),
    "shape": pa.list_(pa.int64()),
    "impl": pa.string(),
    "weak": pa.bool_(),
    "data": pa.large_binary(),
}


_AXIS = ("seq", "step", "inner", "call", "execution", "occurrence")

_OVERVIEW: dict[str, Any] = {
    **dict.fromkeys(("site", "lane", "count", "nan", "posinf", "neginf", "first_seq", "from_ns", "to_ns"), pa.int64()),
    **dict.fromkeys(("tap", "device", "value", "element"), pa.int32()),
    **dict.fromkeys(("low", "high", "mean", "last", "low_x", "last_x", "high_x"), pa.float64()),
    **{f"{which}_{name}": pa.int64() for which in ("last", "high") for name in _AXIS},
    **{f"{which}_device": pa.int32() for which in ("last", "high")},
}
"""One row for each number in some hundred events of one lane on one device:

count, nan, posinf, neginf     the number of events, and of those in which the number is not finite
low, high, mean                statistics of the finite numbers; NaN if there are none
last                           the number in the last event
low_x, high_x                  the range of the events on the axis of steps, see `store.axis`
last_x, last_seq, last_step, … the last event; later events are counted from it
high_seq, high_step, …         the event at high_x; in a reversed loop this is not the last event
"""


def _schema(columns: dict[str, Any]) -> pa.Schema:
    return pa.schema(columns, metadata={"jdw_version": str(VERSION)})


SCHEMAS: dict[str, pa.Schema] = {
    EVENTS: _schema(_EVENT),
    WATCHED: _schema(_EVENT),
    ARRAYS: _schema(_ARRAY),
    # One row for each new state of a call; the last row with an id counts.
    CALLS: _schema({field.name: _CALL_TYPES.get(str(field.type), pa.string()) for field in dataclasses.fields(Call)}),
    SPANS: _schema(_SPAN),
    OVERVIEW: _schema(_OVERVIEW),
    INPUTS: _schema(_INPUT),
}

LATER = frozenset(field.name for field in dataclasses.fields(Call) if field.default is None)
"""Columns that older files of this version may lack; missing ones are read as null."""
