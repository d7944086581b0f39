"""What the processes of one run have in common, and where they part: values, calls, and how far each has come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from jax_debug_widgets.events import Call, CallSite, Finding
from jax_debug_widgets.session.run.ports import CallsOfRun
from jax_debug_widgets.store import Store

_LIKE_REPLICAS = 2
"""Values that are equal to the bit before two series are taken for one that the processes compute alike."""


class OfProcess(Protocol):
    """What one process has written of a run."""

    process: int
    store: Store

    @property
    def call_log(self) -> CallsOfRun:
        """Its calls."""
        ...

    @property
    def sign(self) -> str:
        """How long it has given no sign, or that it is gone; empty while it goes on, and when it is over."""
        ...


def findings_of(processes: Sequence[OfProcess]) -> list[Finding]:
    """Values that were the same in all processes and are not any more, and calls of different programs."""
    first, *others = processes
    found: list[Finding] = []
    for other in others:
        found += _parted_values(first, other)
        found += _parted_calls(first, other)
    return found


def notes_of(processes: Sequence[OfProcess]) -> Iterator[str]:
    """Which processes there are, which of them give no sign, and which have not come to the newest call."""
    numbers = ", ".join(str(one.process) for one in processes[1:])
    yield (
        f"This is process {processes[0].process}, of {len(processes)}. `run.processes` has the others ({numbers}), each with "
        "its own panel."
    )
    newest = {one.process: one.call_log.calls()[0][-1:] for one in processes}
    for one in processes:
        if one.sign:
            events = one.store.last(1)
            last = f"; its last call is {_told(newest[one.process][0])}" if newest[one.process] else ""
            event = f"; its last event: {events[0].text}" if events else ""
            yield f"Process {one.process} {one.sign}{last}{event}."
    ahead = max((calls[0].id for calls in newest.values() if calls), default=-1)
    behind = [number for number, calls in newest.items() if not calls or calls[0].id < ahead]
    if behind and any(one.sign or not _is_over(newest[one.process]) for one in processes):
        (call,) = next(calls for calls in newest.values() if calls and calls[0].id == ahead)
        who = ", ".join(map(str, behind))
        yield f"Call {_told(call)} of another process: not called by process {who}."


def _told(call: Call) -> str:
    return f"{call.id} `{call.name}` ({call.state})"


def _is_over(calls: Sequence[Call]) -> bool:
    return all(call.state == "drained" for call in calls)


def _parted_calls(first: OfProcess, other: OfProcess) -> Iterator[Finding]:
    ours, theirs = ({call.id: call.name for call in one.call_log.calls()[0]} for one in (first, other))
    number = next((one for one in sorted(ours.keys() & theirs.keys()) if ours[one] != theirs[one]), None)
    if number is not None:
        yield Finding.at(
            "programs",
            f"call {number}",
            f"process {first.process} calls `{ours[number]}`, process {other.process} `{theirs[number]}`",
            "Processes that run different programs hang where one of these has a collective.",
            advice="Call the same functions in the same order in all processes.",
        )


def _parted_values(first: OfProcess, other: OfProcess) -> Iterator[Finding]:
    if first.store.dropped or other.store.dropped:
        return  # Then the n-th value of one is not the n-th of the other.
    theirs = {_key(site): site for site in other.store.sites()}
    for site in first.store.sites():
        twin = theirs.get(_key(site))
        if twin is None:
            continue
        for value, name in enumerate(site.values):
            try:
                series = first.store.series(site.id, value), other.store.series(twin.id, value)
            except ValueError:  # Its shape changes.
                continue
            at = _parts_at(series[0][2], series[1][2])
            if at is not None:
                yield _parted(first, other, site, name, at, (series[0][2][at], series[1][2][at]))
                break


def _parts_at(ours: np.ndarray, theirs: np.ndarray) -> int | None:
    """Where two series part that began as the same; None where they do not, or are not the same at first."""
    count = min(len(ours), len(theirs))
    if ours.shape[1:] != theirs.shape[1:] or ours.dtype != theirs.dtype or not count:
        return None
    bits = [np.ascontiguousarray(one[:count]).reshape(count, -1).view(np.uint8) for one in (ours, theirs)]
    other = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
    return int(other[0]) if len(other) and other[0] >= _LIKE_REPLICAS else None


def _parted(
    first: OfProcess, other: OfProcess, site: CallSite, name: str, at: int, values: tuple[np.ndarray, np.ndarray]
) -> Finding:
    label = site.label or site.source
    told = [np.array2string(value, precision=9, threshold=8) for value in values]
    what = f"its {name} in process {first.process} is {told[0]}, in process {other.process} {told[1]}"
    return Finding.at(
        "replicas",
        site.where,
        f"`{label}` is no longer the same in processes {first.process} and {other.process}",
        f"It was equal to the bit {at} times; then {what}.",
        advice="Look for a key, a batch or an update that differs between the processes.",
        file=site.file,
        span=(site.line, site.column, site.end_line, site.end_column),
        seen=1,
    )


def _key(site: CallSite) -> tuple[object, ...]:
    """What tells a line of one process from the others, in all of them."""
    return site.kind, site.where, site.column, site.function, site.format, site.label, site.name_stack, site.phase
