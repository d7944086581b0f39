"""Compare the processes of one run, and find where they differ: values, calls, and how far each has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from jax_debug_widgets.events import Call, CallSite, Finding, Status
from jax_debug_widgets.events.call import state_name
from jax_debug_widgets.session.run.ports import CallsOfRun
from jax_debug_widgets.store import Store

_LIKE_REPLICAS = 2
"""Processes count as replicas for a series after this number of distinct values were equal bit by bit."""


class OfProcess(Protocol):
    """The part of a run that one process has written."""

    process: int
    store: Store

    @property
    def call_log(self) -> CallsOfRun:
        """The calls of the process."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether the process may still write."""
        ...

    def status(self) -> Status:
        """Return how it is doing, or did at its end."""
        ...

    @property
    def sign(self) -> str:
        """Says for how long it has given no sign, or that it is gone; empty while it goes on, and when it is over."""
        ...


def compared(
    processes: Sequence[OfProcess], site_id: Callable[[int, int], int]
) -> tuple[list[Finding], dict[int, int]]:
    """Compare the processes of a run. Return findings about differences, and the copies of sites.

    A finding is about values that were the same in all processes and differ later, or about calls of different programs. The
    copies are: merged id of a site -> merged id of the first process's site with the same values.

    Args:
      site_id: process and id of a site -> its merged id.
    """
    first, *others = processes
    found: list[Finding] = []
    copies: dict[int, int] = {}
    for other in others:
        programs = _first_other_program(first, other)
        for site, twin in _twins(first, other):
            parted = _compared(first, other, site, twin, None if programs is None else programs[0])
            if isinstance(parted, Finding):
                found.append(parted)
            elif parted:
                copies[site_id(other.process, twin.id)] = site_id(first.process, site.id)
        if programs is not None:
            found.append(_other_program(first, other, *programs))
    return found, copies


def notes_of(processes: Sequence[OfProcess]) -> Iterator[str]:
    """Yield the notes about the processes of a run: how many, which give no sign, which have not made the newest call."""
    if len(processes) > 1:
        yield (
            f"This run merges {len(processes)} processes in the order of time. `run.processes` has each process by itself, "
            "with its own panel."
        )
    for one in processes:
        if one.sign:
            calls, events = one.call_log.calls()[0][-1:], one.store.last(1)
            last = f"; its last call is {_call_text(calls[0])}" if calls else ""
            event = f"; its last event: {events[0].text}" if events else ""
            yield f"Process {one.process} {one.sign}{last}{event}."
    yield from (f"{sentence[:1].upper()}{sentence[1:]}." for sentence in behind(processes))


def behind(processes: Sequence[OfProcess]) -> Iterator[str]:
    """Yield which processes lag behind others while the run goes on: `process 2 has not called 7 `train_step``."""
    newest = {one.process: one.call_log.calls()[0][-1:] for one in processes}
    ahead = max((calls[0] for calls in newest.values() if calls), key=lambda call: call.id, default=None)
    if ahead is None or not any(one.sign or not _is_over(newest[one.process]) for one in processes):
        return
    for number, calls in newest.items():
        if not calls or calls[0].id < ahead.id:
            yield f"process {number} has not made call {ahead.id} `{ahead.name}`"


def _call_text(call: Call) -> str:
    return f"{call.id} `{call.name}` ({state_name(call.state)})"


def _is_over(calls: Sequence[Call]) -> bool:
    return all(call.state == "drained" for call in calls)


def _first_other_program(first: OfProcess, other: OfProcess) -> tuple[int, str, str] | None:
    """Return the first call, by number, that has different functions in two processes: its number and both names."""
    names, other_names = ({call.id: call.name for call in one.call_log.calls()[0]} for one in (first, other))
    number = next((one for one in sorted(names.keys() & other_names.keys()) if names[one] != other_names[one]), None)
    return None if number is None else (number, names[number], other_names[number])


def _other_program(first: OfProcess, other: OfProcess, number: int, ours: str, theirs: str) -> Finding:
    return Finding.at(
        "programs",
        f"call {number}",
        f"process {first.process} calls `{ours}`, process {other.process} `{theirs}`",
        "Processes that run different programs hang where one of these has a collective.",
        advice="Call the same functions in the same order in all processes.",
    )


def _twins(first: OfProcess, other: OfProcess) -> Iterator[tuple[CallSite, CallSite]]:
    """Yield the sites that two processes have in common."""
    if first.store.dropped or other.store.dropped:
        return  # After dropped events, the n-th values of the two are not the same.
    theirs = {_key(site): site for site in other.store.sites()}
    for site in first.store.sites():
        twin = theirs.get(_key(site))
        if twin is not None:
            yield site, twin


def _compared(first: OfProcess, other: OfProcess, site: CallSite, twin: CallSite, before: int | None) -> Finding | bool:
    """Return the finding about a site with values that differ in a call before `before`; else whether they are the same."""
    sides = (first.store, site), (other.store, twin)
    are_same = bool(site.values)
    parted: list[tuple[int, int]] = []
    evident: dict[int, bool] = {}
    calls, *rows = _paired(_calls_of(first.store, site), _calls_of(other.store, twin), before)
    for value in range(len(site.values)):
        try:
            ours, theirs = (store.history.series(one.id, value)[2] for store, one in sides)
        except ValueError:  # The value has several shapes.
            return False
        are_same &= _parts_at(ours, theirs) is None and len(ours) > 0
        are_same &= len(ours) == len(theirs) or first.goes_on or other.goes_on or _is_rest_missing(ours, theirs, other)
        at = _parts_at(ours[rows[0]], theirs[rows[1]])
        if at is not None:
            parted.append((at, value))
            evident[value] = _distinct(ours[rows[0]][:at]) >= _LIKE_REPLICAS
    if site.kind == "watch":  # Its values are statistics of one array: if one differs, the array differs.
        parted = [min(parted)] if parted else []
    for at, value in parted:
        if evident[value]:
            texts = [
                store.history.series(one.id, value)[2][row[at]] for (store, one), row in zip(sides, rows, strict=True)
            ]
            return _parted(first, other, site, site.values[value], at, int(calls[at]), texts)
    return are_same


def _is_rest_missing(ours: np.ndarray, theirs: np.ndarray, other: OfProcess) -> bool:
    """Whether a process has fewer values because it died, or failed."""
    return len(theirs) < len(ours) and (bool(other.sign) or other.status().state != "done")


def _calls_of(store: Store, site: CallSite) -> np.ndarray:
    """Return the call of each event of a site, int64[n]; -1 if it is not known."""
    positions = store.history.series(site.id, 0)[0]
    calls = [one.call for one in store.columns(store.oldest, store.oldest + len(store))]
    return np.concatenate(calls)[positions - store.oldest] if len(positions) else positions


def _paired(ours: np.ndarray, theirs: np.ndarray, before: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Match the events of two processes by call and number in the call. Return their calls, and their indices on each side."""
    keys = [np.stack([calls, _numbers(calls)], axis=1) for calls in (ours, theirs)]
    whole = [np.ascontiguousarray(one).view([("call", np.int64), ("number", np.int64)]).ravel() for one in keys]
    same, *rows = np.intersect1d(*whole, assume_unique=True, return_indices=True)
    # After a call of another program, calls with the same number are no longer the same step.
    kept = slice(None) if before is None else (same["call"] >= 0) & (same["call"] < before)
    return same["call"][kept], rows[0][kept], rows[1][kept]


def _numbers(calls: np.ndarray) -> np.ndarray:
    """Return the number of each event within its call, int64[n]."""
    order = np.argsort(calls, kind="stable")
    numbers = np.empty(len(calls), np.int64)
    ordered = calls[order]
    numbers[order] = np.arange(len(calls)) - np.searchsorted(ordered, ordered)
    return numbers


def _distinct(values: np.ndarray) -> int:
    """Return the number of distinct values. A constant is equal even in processes that compute nothing alike."""
    return len(np.unique(values.reshape(len(values), -1), axis=0)) if len(values) else 0


def _parts_at(ours: np.ndarray, theirs: np.ndarray) -> int | None:
    """Return the index at which two series differ; None if they agree as far as both go."""
    count = min(len(ours), len(theirs))
    if not count:
        return None
    if ours.shape[1:] != theirs.shape[1:] or ours.dtype != theirs.dtype:
        return 0
    bits = [np.ascontiguousarray(one[:count]).reshape(count, -1).view(np.uint8) for one in (ours, theirs)]
    other = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
    return int(other[0]) if len(other) else None


def _parted(
    first: OfProcess,
    other: OfProcess,
    site: CallSite,
    name: str,
    at: int,
    call: int,
    values: Sequence[np.ndarray],
) -> Finding:
    label = site.label or site.source
    texts = [np.array2string(value, precision=9, threshold=8) if value.ndim else str(value[()]) for value in values]
    what = f"its {name} in process {first.process} is {texts[0]}, in process {other.process} {texts[1]}"
    return Finding.at(
        "replicas",
        site.where,
        f"`{label}` is no longer the same in processes {first.process} and {other.process}",
        f"It was equal to the bit {at} times; then{f', in call {call},' * (call >= 0)} {what}.",
        advice="Look for a key, a batch or an update that differs between the processes.",
        file=site.file,
        span=(site.line, site.column, site.end_line, site.end_column),
        seen=1,
    )


def _key(site: CallSite) -> tuple[object, ...]:
    """Return the key of a site, which is the same in all processes."""
    return site.kind, site.where, site.column, site.function, site.format, site.label, site.name_stack, site.phase
