"""Make the messages of events, sites, calls and status. `wire.py` and `run_messages.py` define the fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jax_debug_widgets.transport import wire
from jax_debug_widgets.transport.columns import pack, pack_texts
from jax_debug_widgets.transport.run_messages import (
    BreakpointMessage,
    CallMessage,
    FirstNonFiniteMessage,
    NonFiniteMessage,
    ProcessMessage,
    StatusMessage,
)
from jax_debug_widgets.transport.site_messages import site_message

if TYPE_CHECKING:
    from jax_debug_widgets.events import (
        Breakpoint,
        Call,
        FirstNonFinite,
        NonFinite,
        ProcessStatus,
        Status,
        Tap,
        ThreadSpans,
    )

NANOSECOND = 1e-9


class EventColumns(Protocol):
    """Consecutive events, one row each; `store.Columns` is one."""

    @property
    def site(self) -> np.ndarray:
        """See `store.Columns`, also for the other members."""
        ...

    @property
    def time_ns(self) -> np.ndarray: ...  # noqa: D102
    @property
    def occurrence(self) -> np.ndarray: ...  # noqa: D102
    @property
    def lane(self) -> np.ndarray: ...  # noqa: D102
    @property
    def call(self) -> np.ndarray: ...  # noqa: D102
    @property
    def execution(self) -> np.ndarray: ...  # noqa: D102
    @property
    def step(self) -> np.ndarray: ...  # noqa: D102
    @property
    def inner(self) -> np.ndarray: ...  # noqa: D102
    @property
    def device(self) -> np.ndarray: ...  # noqa: D102
    @property
    def phantom(self) -> np.ndarray: ...  # noqa: D102
    @property
    def type(self) -> np.ndarray: ...  # noqa: D102


@dataclass(frozen=True)
class Points:
    """Numbers to plot, as columns of equal length.

    Attributes:
      row: the event's index in the batch.
      value: the index of the scalar or vector among the event's values.
      element: the index in the vector, 0 for a scalar.
      y: the number.
    """

    row: np.ndarray
    value: np.ndarray
    element: np.ndarray
    y: np.ndarray


def batch_message(
    run: str,
    number: int,
    first: int,
    oldest: int,
    pieces: Sequence[EventColumns],
    points: Points,
    texts: Mapping[int, str],
    devices: Sequence[str],
    sites: Mapping[tuple[int, int], Tap],
    calls: Sequence[Call],
    spans: ThreadSpans,
    status: Status,
) -> tuple[wire.BatchMessage, bytes]:
    """Make the message of one batch: the events of `pieces`, which begin at position `first` of the run.

    Args:
      number: the number of batches of the run before this one.
      oldest: the position of the oldest event that the kernel still keeps.
      texts: row of this batch -> line of text.
      devices: the names that the column `device` refers to.
      sites: id and type (see `store.site_types.SiteTypes`) -> a tap, for each site that is new or has changed.
      calls: the calls that are new or have changed.
      spans: the activities of threads since the batch before.
    """
    columns = {**_columns_of(pieces, points, spans), **pack_texts(texts)}
    specs, buffer = pack(columns)
    return {
        "type": "batch",
        "version": wire.VERSION,
        "run": run,
        "batch": number,
        "first": first,
        "count": len(columns["site"]),
        "oldest": oldest,
        "columns": specs,
        "devices": list(devices),
        "threads": list(spans.threads),
        "first_span": spans.first,
        "sites": [site_message(tap, number) for (_, number), tap in sites.items()],
        "calls": [call_message(call) for call in calls],
        "status": status_message(status),
    }, buffer


def _columns_of(pieces: Sequence[EventColumns], points: Points, spans: ThreadSpans) -> dict[str, np.ndarray]:
    """Return the columns of a batch with numbers."""
    return {
        "site": _joined(pieces, "site", np.uint32),
        "time": _joined(pieces, "time_ns", np.float64) * NANOSECOND,
        "occurrence": _joined(pieces, "occurrence", np.uint32),
        "lane": _joined(pieces, "lane", np.int32),
        "call": _joined(pieces, "call", np.int32),
        "execution": _joined(pieces, "execution", np.int32),
        "step": _joined(pieces, "step", np.int32),
        "inner": _joined(pieces, "inner", np.int32),
        "device": _joined(pieces, "device", np.int32),
        "phantom": _joined(pieces, "phantom", np.uint8),
        "type": _joined(pieces, "type", np.uint16),
        "point_row": points.row.astype(np.uint32),
        "point_value": points.value.astype(np.uint16),
        "point_element": points.element.astype(np.uint16),
        "point_y": points.y.astype(np.float64),
        "span_site": spans.site.astype(np.int32),
        "span_thread": spans.thread.astype(np.int32),
        "span_from": spans.from_ns * NANOSECOND,
        "span_to": spans.to_ns * NANOSECOND,
    }


def rows_message(
    run: str, request: int, first: int, count: int, texts: Mapping[int, str]
) -> tuple[dict[str, Any], bytes]:
    """Make the answer to `rows`; `texts` is index from `first` -> line of text."""
    specs, buffer = pack(pack_texts(texts))
    return wire.reply("rows", run, request, first=first, count=count, columns=specs), buffer


def call_message(call: Call) -> CallMessage:
    """Make the message of a call."""
    return {
        "id": call.id,
        "name": call.name,
        "function": call.of,
        "origin": call.origin,
        "state": call.state,
        "started": call.started_ns * NANOSECOND,
        "trace": call.trace,
        "lower": call.lower,
        "compile": call.compile,
        "numba": call.numba,
        "queued": call.queued_ns * NANOSECOND,
        "flight": None if call.flight is None else [call.flight[0] * NANOSECOND, *call.flight[1:]],
        "dispatched": _seconds(call.dispatched_ns),
        "ready": _seconds(call.ready_ns),
        "drained": _seconds(call.drained_ns),
        "effects": call.effects,
        "ordered": call.ordered,
        "events": call.events,
        "error": call.error,
        "retraced": call.retraced,
        "prints": list(call.prints),
        "thread": call.thread,
    }


def _nonfinite_message(found: NonFinite | None) -> NonFiniteMessage | None:
    return None if found is None else {"nan": found.nan, "inf": found.inf, "first": found.first}


def _first_message(first: FirstNonFinite | None) -> FirstNonFiniteMessage | None:
    if first is None:
        return None
    return {
        "site": first.site,
        "event": first.event,
        "nan": first.nan,
        "masked": first.masked,
        "lane": list(first.lane),
        "where": first.where,
        "file": first.file,
        "line": first.line,
    }


def status_message(status: Status) -> StatusMessage:
    """Make the message of a run's status."""
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
        "every": {str(site): every for site, every in status.every.items()},
        "added": list(status.added),
        "nonfinite": _nonfinite_message(status.nonfinite),
        "first_nonfinite": _first_message(status.first_nonfinite),
        "findings": status.findings,
        "barrier": {
            "state": barrier.state,
            "pending": list(barrier.pending),
            "waited": barrier.waited,
            "timeout": barrier.timeout,
            "waits": [list(wait) for wait in barrier.waits],
        },
        "notes": list(status.notes),
        "breakpoints": [breakpoint_message(one) for one in status.breakpoints],
        "paused": status.paused,
        "stoppable": status.stoppable,
        "captured": status.captured,
        "processes": [process_message(one) for one in status.processes],
        "copies": {str(site): other for site, other in status.copies.items()},
        "commands": status.commands,
        "when": status.when,
        "cost": status.cost,
        "lines": list(status.lines),
        "apart": list(status.apart),
        "checked": status.checked,
        "watches": status.watches,
    }


def process_message(one: ProcessStatus) -> ProcessMessage:
    """Make the message of one of several processes."""
    return {
        "number": one.number,
        "host": one.host,
        "state": one.state,
        "events": one.events,
        "sign": one.sign,
        "last": one.last,
    }


def breakpoint_message(one: Breakpoint) -> BreakpointMessage:
    """Make the message of a breakpoint."""
    return {
        "site": one.site,
        "name": one.name,
        "where": one.where,
        "condition": one.condition,
        "enabled": one.enabled,
        "skip": one.skip,
        "hits": one.hits,
        "cost": one.cost,
    }


def _joined(pieces: Sequence[EventColumns], name: str, dtype: type) -> np.ndarray:
    parts = [getattr(piece, name) for piece in pieces]
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds * NANOSECOND
