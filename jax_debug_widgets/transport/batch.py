"""Events, sites, calls and status as messages of the wire format (see `wire.py` for what each field means)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jax_debug_widgets.transport import wire

if TYPE_CHECKING:
    from jax_debug_widgets.events import Call, Status, Tap

NANOSECOND = 1e-9


class EventColumns(Protocol):
    """Consecutive events, one row each; `store.Columns` is one."""

    @property
    def site(self) -> np.ndarray:
        """See `store.Columns`, as for the others."""
        ...

    @property
    def time_ns(self) -> np.ndarray: ...  # noqa: D102
    @property
    def occurrence(self) -> np.ndarray: ...  # noqa: D102
    @property
    def lane(self) -> np.ndarray: ...  # noqa: D102
    @property
    def call(self) -> np.ndarray: ...  # noqa: D102


@dataclass(frozen=True)
class Points:
    """Numbers to plot: `row` is the event's index in the batch, `value` the index of the number among its values."""

    row: np.ndarray
    value: np.ndarray
    y: np.ndarray


def batch_message(
    run: str,
    number: int,
    first: int,
    oldest: int,
    pieces: Sequence[EventColumns],
    points: Points,
    texts: Mapping[int, str],
    sites: Sequence[Tap],
    calls: Sequence[Call],
    status: Status,
) -> tuple[wire.BatchMessage, bytes]:
    """One batch: the events of `pieces`, the first of them at position `first` of the run.

    Args:
      number: how many batches of the run were made before.
      oldest: position of the oldest event that can still be asked for.
      texts: `{row of this batch: line}`.
      sites: a tap of each site that is new or has changed.
    """
    columns = {
        "site": _joined(pieces, "site", np.uint32),
        "time": _joined(pieces, "time_ns", np.float64) * NANOSECOND,
        "occurrence": _joined(pieces, "occurrence", np.uint32),
        "lane": _joined(pieces, "lane", np.int32),
        "call": _joined(pieces, "call", np.int32),
        "point_row": points.row.astype(np.uint32),
        "point_value": points.value.astype(np.uint16),
        "point_y": points.y.astype(np.float64),
        **wire.pack_texts(texts),
    }
    specs, buffer = wire.pack(columns)
    return {
        "type": "batch",
        "version": wire.VERSION,
        "run": run,
        "batch": number,
        "first": first,
        "count": len(columns["site"]),
        "oldest": oldest,
        "columns": specs,
        "sites": [site_message(tap) for tap in sites],
        "calls": [call_message(call) for call in calls],
        "status": status_message(status),
    }, buffer


def rows_message(
    run: str, request: int, first: int, count: int, texts: Mapping[int, str]
) -> tuple[dict[str, Any], bytes]:
    """The answer to `rows`: `{index from first: line}`."""
    specs, buffer = wire.pack(wire.pack_texts(texts))
    return wire.reply("rows", run, request, first=first, count=count, columns=specs), buffer


def site_message(tap: Tap) -> wire.SiteMessage:
    """A call site as the browser knows it, with the shapes of this tap of it."""
    site = tap.site
    return {
        "id": site.id,
        "kind": site.kind,
        "ordered": site.ordered,
        "phase": site.phase,
        "where": site.where,
        "file": site.file,
        "line": site.line,
        "column": site.column,
        "function": site.function,
        "source": site.source,
        "label": site.label,
        "values": list(site.values),
        "shapes": [list(shape) for shape in tap.shapes],
        "dtypes": [dtype.name for dtype in tap.dtypes],
        "order": site.order,
        "name_stack": site.name_stack,
        "transforms": list(site.transforms),
    }


def call_message(call: Call) -> wire.CallMessage:
    """A call as the browser knows it."""
    return {
        "id": call.id,
        "name": call.name,
        "origin": call.origin,
        "state": call.state,
        "started": call.started_ns * NANOSECOND,
        "trace": call.trace,
        "lower": call.lower,
        "compile": call.compile,
        "dispatched": _seconds(call.dispatched_ns),
        "ready": _seconds(call.ready_ns),
        "drained": _seconds(call.drained_ns),
        "effects": call.effects,
        "ordered": call.ordered,
        "events": call.events,
        "error": call.error,
    }


def status_message(status: Status) -> wire.StatusMessage:
    """The run's status as the browser knows it."""
    barrier = status.barrier
    return {
        "state": status.state,
        "title": status.title,
        "started": status.started,
        "elapsed": status.elapsed,
        "events": status.events,
        "rate": status.rate,
        "dropped": status.dropped,
        "dropped_by_site": {str(site): count for site, count in status.dropped_by_site.items()},
        "muted": list(status.muted),
        "barrier": {
            "state": barrier.state,
            "pending": list(barrier.pending),
            "waited": barrier.waited,
            "timeout": barrier.timeout,
        },
        "notes": list(status.notes),
    }


def _joined(pieces: Sequence[EventColumns], name: str, dtype: type) -> np.ndarray:
    parts = [getattr(piece, name) for piece in pieces]
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds * NANOSECOND
