"""Send a run to the browser: batches of new events, and older parts again when the browser requests them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets.transport import Points, batch_message, rows_message

if TYPE_CHECKING:
    from jax_debug_widgets.events import Call, CallSite, Tap
    from jax_debug_widgets.session.run.view import RunView

MAX_EVENTS = 50_000
"""The most events in one batch. They take 2 MB, which the browser handles without dropping a frame."""

TEXT_ROWS = 64
"""The most lines that are formatted for each stream and tick. A reader of the running log sees no more."""

MAX_ROWS = 2_000
"""The most lines in the answer to one `rows` request."""

Message = tuple[Any, bytes]


class Feed:
    """Makes the batches of one run, and keeps what the browser already has. Safe from any thread."""

    def __init__(self, run: RunView) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._next = 0
        self._number = 0
        self._taps: dict[tuple[int, int], Tap] = {}
        self._call_version = 0
        self._spans = 0
        self._last_status: object = None

    def news(self) -> list[Message]:
        """Return the messages about everything since the last call; empty if nothing has happened."""
        with self._lock:
            messages = []
            while self._next < len(self._run.store):
                stop = min(max(self._next, self._run.store.oldest) + MAX_EVENTS, len(self._run.store))
                messages.append(self._batch(self._next, stop))
                self._next = stop
            if not messages and self._something_changed():
                messages.append(self._batch(self._next, self._next))
            return messages

    def again(self, first: int) -> list[Message]:
        """Return everything from event `first` on, with all sites and calls. New events are included, so there is no gap."""
        with self._lock:
            self._next = len(self._run.store)
            messages, start, self._taps, self._call_version = [], min(first, self._next), {}, 0
            self._spans = 0
            while True:
                stop = min(max(start, self._run.store.oldest) + MAX_EVENTS, self._next)
                messages.append(self._batch(start, stop))
                start = stop
                if start >= self._next:
                    return messages

    def rows(self, request: int, first: int, count: int) -> Message:
        """Return the texts of `count` events from `first` on, as far as they are kept."""
        texts = self._run.texts.of(np.arange(first, first + min(count, MAX_ROWS)))
        return rows_message(self._run.key, request, first, count, {at - first: text for at, text in texts.items()})

    def _batch(self, start: int, stop: int) -> Message:
        run, store = self._run, self._run.store
        pieces = store.columns(start, stop)
        first = pieces[0].first if pieces else max(start, min(stop, store.oldest))
        taps = store.taps_by_type()
        calls, self._call_version = run.call_log.calls(self._call_version)
        spans = run.call_log.spans.since(self._spans)
        self._spans = spans.first + len(spans.site)
        status = run.status()
        self._last_status = _settled(status)
        self._number += 1
        message = batch_message(
            run=run.key,
            number=self._number - 1,
            first=first,
            oldest=store.oldest,
            pieces=pieces,
            points=self._points(first, stop),
            texts=self._texts(first, pieces),
            devices=store.devices,
            sites={key: tap for key, tap in taps.items() if self._taps.get(key) is not tap},
            calls=[call for call in calls if shown(call)],
            spans=spans,
            status=status,
        )
        self._taps = taps
        return message

    def _points(self, first: int, stop: int) -> Points:
        none = np.zeros(0, np.int64)
        parts = [(none, none, none, np.zeros(0))]
        for _, value, positions, numbers in self._run.store.numbers(first, stop):
            if numbers.dtype.kind == "c":
                continue
            rows, elements = numbers.shape
            row = np.repeat(positions - first, elements)
            element = np.tile(np.arange(elements), rows) if elements > 1 else np.zeros(rows, np.int64)
            parts.append((row, np.full(len(row), value), element, numbers.astype(np.float64).ravel()))
        row, value, element, y = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(row, kind="stable")
        return Points(row[order], value[order], element[order], y[order])

    def _texts(self, first: int, pieces: Any) -> dict[int, str]:
        if not pieces:
            return {}
        stream = {site.id: _stream(site) for site in self._run.store.sites()}
        site = np.concatenate([piece.site for piece in pieces])
        known, inverse = np.unique(site, return_inverse=True)
        streams = np.array([stream[number] for number in known.tolist()], np.int8)[inverse]
        rows = np.concatenate([np.flatnonzero(streams == one)[-TEXT_ROWS:] for one in (_ORDERED, _UNORDERED)])
        # Events that were dropped since the columns were made have no text here; the client shows them as dropped.
        return {position - first: text for position, text in self._run.texts.of(first + np.sort(rows)).items()}

    def _something_changed(self) -> bool:
        changed_calls = self._run.call_log.calls(self._call_version)[0]
        has_spans = self._run.call_log.spans.count > self._spans
        return bool(changed_calls) or has_spans or self._last_status != _settled(self._run.status())


def shown(call: Call) -> bool:
    """Whether the panel lists a call: calls of the cell itself, and calls that can fire events."""
    return call.origin == "cell" or call.effects


_ORDERED, _UNORDERED, _WATCHED = range(3)


def _stream(site: CallSite) -> int:
    """Return the stream of lines of a site. Watched values have no lines."""
    if site.kind == "watch":
        return _WATCHED
    return _ORDERED if site.ordered else _UNORDERED


def _settled(status: Any) -> object:
    """Return the parts of a status that are worth a message. Clocks are not, unless somebody waits for effects."""
    # At a stop the clock is sent less often, because messages would delay the console's answers.
    digits = 0 if status.paused else 1
    waiting = round(status.elapsed, digits) if status.state == "waiting" or status.barrier.pending else None
    return (
        status.state,
        status.dropped,
        status.muted,
        dict(status.every),
        status.added,
        status.barrier.state,
        status.barrier.pending,
        status.notes,
        status.findings,
        status.breakpoints,
        status.paused,
        status.stoppable,
        status.processes,
        dict(status.copies),
        waiting,
    )
