"""Make an overview of events, so that a plot of a long run reads little.

For each number, one row of the overview summarizes some hundred executions. The overview is written when a file is
sealed. If it is missing, the reader makes it from the events.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from jax_debug_widgets.archive.firings import Lists
from jax_debug_widgets.archive.layout import OVERVIEW
from jax_debug_widgets.archive.schemas import SCHEMAS
from jax_debug_widgets.archive.taps import small, width
from jax_debug_widgets.events import Tap
from jax_debug_widgets.store.axis import numbers_in
from jax_debug_widgets.store.step_axis import ENDS, OF_AXIS, End, StepAxis, continued

BLOCK = 250
"""How many events of one lane on one device become one row."""

_AT_ONCE = 1 << 17
"""How many events are processed together: few enough that their memory can be reused."""

READ = ("seq", "time_ns", "site", "tap", "lane", "phantom", *OF_AXIS, "numbers")
"""The columns of events that the overview needs."""


class Overview:
    """Makes the overview of consecutive events, file by file."""

    def __init__(self) -> None:
        self._axis = StepAxis()

    def resume(self, rows: pa.Table) -> None:
        """Continue after these rows of an existing overview."""
        site, tap = (rows[name].to_pylist() for name in ("site", "tap"))
        for which in ENDS:
            columns = [rows[f"{which}_{name}"].to_pylist() for name in ("x", "seq", *OF_AXIS)]
            for number, line, x, seq, *place in zip(site, tap, *columns, strict=True):
                self._axis.remember(number, which, End(tuple(place), line, x, seq))

    def of(self, events: pa.Table, taps: Mapping[int, Tap]) -> pa.Table:
        """Return the overview's rows for these events, site by site; the events of a site must be in order."""
        starts = range(0, len(events), _AT_ONCE)
        found = [part for start in starts for part in self._of_some(events.slice(start, _AT_ONCE), taps)]
        schema = SCHEMAS[OVERVIEW]
        joined = {name: np.concatenate([part[name] for part in found]) for name in schema.names} if found else {}
        return pa.table({name: joined.get(name, []) for name in schema.names}, schema)

    def _of_some(self, events: pa.Table, taps: Mapping[int, Tap]) -> Iterator[dict[str, np.ndarray]]:
        columns = {name: events[name].to_numpy() for name in READ if name != "numbers"}
        numbers = Lists.of(events["numbers"])
        for site, rows in _by_site(columns["site"], columns["phantom"]):
            yield from self._of_site(site, rows, columns, numbers, taps)

    def _of_site(
        self, site: int, rows: np.ndarray, columns: Mapping[str, np.ndarray], numbers: Lists, taps: Mapping[int, Tap]
    ) -> Iterator[dict[str, np.ndarray]]:
        """Yield the overview's rows for the events of one site; `rows` are the places of its events."""
        own = {"kind": columns["tap"][rows], **{name: columns[name][rows] for name in OF_AXIS}}
        x = continued(self._axis.ends_of(site), own, lambda line: taps[line].nesting)
        self._axis.pass_over(site, own, x, columns["seq"][rows])
        lines = numbers_in(own["kind"])
        for line in lines:
            mine = np.flatnonzero(own["kind"] == line) if len(lines) > 1 else slice(None)
            places, values, elements = _numbers(taps[line])
            if len(places):
                table = numbers.rows(rows[mine], width(taps[line]), "numbers")
                table = table if len(places) == table.shape[1] else table[:, places]
                yield _blocks(columns, rows[mine], x[mine], table, values, elements)


def _by_site(site: np.ndarray, phantom: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each site with the places of its events, ascending, without phantoms."""
    if not len(site):
        return
    low = int(site.min())
    key = (site - low).astype(np.int16) if int(site.max()) - low < 1 << 15 else site  # NumPy sorts int16 by radix.
    order = np.argsort(key, kind="stable")
    if phantom.any():
        order = order[~phantom[order]]
    ordered = site[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    for rows in np.split(order, starts[1:]):
        if len(rows):
            yield int(site[rows[0]]), rows


def _numbers(tap: Tap) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which numbers of a row are drawn, as int64[n] arrays: place in the row, number of the value, element."""
    places, values, elements, start = [], [], [], 0
    for value in small(tap):
        size = math.prod(tap.shapes[value])
        if tap.dtypes[value].kind != "c":
            places += range(start, start + size)
            values += [value] * size
            elements += range(size)
        start += size
    return tuple(np.array(one, np.int64) for one in (places, values, elements))  # pyright: ignore[reportReturnType]


def _blocks(
    columns: Mapping[str, np.ndarray],
    rows: np.ndarray,
    x: np.ndarray,
    table: np.ndarray,
    values: np.ndarray,
    elements: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return the overview's rows for events of one tap with numbers `[events, n]`: n rows for each block of events."""
    lane, device = columns["lane"][rows], columns["device"][rows]
    if len(numbers_in(lane)) > 1 or len(numbers_in(device)) > 1:
        order = np.lexsort((device, lane))
        rows, x, table, lane, device = (one[order] for one in (rows, x, table, lane, device))
    starts = _starts(lane, device)
    stops = np.append(starts[1:], len(rows))
    first, last, count = rows[starts], rows[stops - 1], stops - starts
    of_block: dict[str, np.ndarray] = {
        **{name: columns[name][first] for name in ("site", "tap", "lane", "device")},
        "count": count,
        "first_seq": columns["seq"][first],
        "from_ns": columns["time_ns"][first],
        "to_ns": columns["time_ns"][last],
        "low_x": np.minimum.reduceat(x, starts),
        "last_x": x[stops - 1],
        "high_x": (high_x := np.maximum.reduceat(x, starts)),
        **{f"last_{name}": columns[name][last] for name in ("seq", *OF_AXIS)},
        **{f"high_{name}": columns[name][rows[_first_of(x, high_x, starts, count)]] for name in ("seq", *OF_AXIS)},
    }
    return {
        **{name: np.repeat(column, table.shape[1]) for name, column in of_block.items()},
        **{name: column.ravel() for name, column in _reduced(table, starts, count).items()},
        "last": table[stops - 1].ravel(),
        "value": np.tile(values, len(starts)),
        "element": np.tile(elements, len(starts)),
    }


def _first_of(x: np.ndarray, high_x: np.ndarray, starts: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return int64[blocks]: where each block first reaches its highest x."""
    places = np.flatnonzero(x == np.repeat(high_x, count))
    return places[np.searchsorted(places, starts)]


def _starts(lane: np.ndarray, device: np.ndarray) -> np.ndarray:
    """Return where the blocks begin: at each change of lane or device, and after every `BLOCK` events."""
    changes = np.flatnonzero((np.diff(lane) != 0) | (np.diff(device) != 0)) + 1
    strands = np.concatenate([[0], changes, [len(lane)]])
    return np.concatenate([np.arange(start, stop, BLOCK) for start, stop in pairwise(strands)])


def _reduced(table: np.ndarray, starts: np.ndarray, count: np.ndarray) -> dict[str, np.ndarray]:
    """Reduce numbers `[events, n]` to statistics `[blocks, n]`; mean and range are those of the finite numbers."""
    finite = np.isfinite(table)
    none = np.zeros((len(starts), table.shape[1]), np.int64)
    if finite.all():
        low, high = np.minimum.reduceat(table, starts), np.maximum.reduceat(table, starts)
        nan = posinf = neginf = none
        there = np.broadcast_to(count[:, None], none.shape)
    else:
        low = np.minimum.reduceat(np.where(finite, table, np.inf), starts)
        high = np.maximum.reduceat(np.where(finite, table, -np.inf), starts)
        odd = (np.isnan(table), table == np.inf, table == -np.inf)
        nan, posinf, neginf = (np.add.reduceat(one.astype(np.int64), starts) for one in odd)
        there = count[:, None] - nan - posinf - neginf
        table = np.where(finite, table, 0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = np.add.reduceat(table / BLOCK, starts) / (
            there / BLOCK
        )  # Divided first, so that the sum does not overflow.
    low, high, mean = (np.where(there > 0, one, np.nan) for one in (low, high, mean))
    return {"low": low, "high": high, "mean": np.clip(mean, low, high), "nan": nan, "posinf": posinf, "neginf": neginf}
