"""Write a run as plain text, for terminals and for `text/plain` of the panel."""

from __future__ import annotations

from collections.abc import Sequence

from jax_debug_widgets.events import Barrier, Call, CallSite, distinguishing_texts
from jax_debug_widgets.events.amounts import in_time, plural, plural_came
from jax_debug_widgets.events.call import state_name
from jax_debug_widgets.events.cut import cut
from jax_debug_widgets.events.legible import legible
from jax_debug_widgets.widgets.reload import load_command
from jax_debug_widgets.widgets.snapshot import PrintLine, Snapshot

_TITLE = 60
"""The most characters of a title that the text shows."""

_LINES = 10
"""The most lines of each stream that the text shows, the newest ones."""


_SITES = 40
"""The most sites that the text shows."""

_CHARACTERS = 200
"""The most characters of a line that the text shows."""


def summary(snapshot: Snapshot, *, lines: int = _LINES, saved: bool = False) -> str:
    """Write a run on about one screen: its state, its sites, its calls, its newest lines.

    Args:
      lines: the most lines of each stream.
      saved: whether the text is for a saved notebook, which is read later.
    """
    parts = [headline(snapshot, saved=saved)]
    facts = [f"{fact.label} {fact.value}" for fact in snapshot.facts]
    parts += [f"  {' · '.join(facts)}"] if facts else []
    parts += [f"  ! {note}" for note in snapshot.status.notes]
    if snapshot.first_nonfinite:
        parts.append(f"  first NaN or infinite: {snapshot.first_nonfinite}")
    callers = distinguishing_texts(snapshot.sites)
    for site in snapshot.sites[:_SITES]:
        odd = f", {snapshot.nonfinite[site.id]}" if site.id in snapshot.nonfinite else ""
        dropped = snapshot.status.dropped_by_site.get(site.id)
        odd += f", the oldest {dropped} dropped" if dropped else ""
        line = site_line(site, snapshot.counts.get(site.id, 0), callers.get(site.id, ""))
        parts.append(f"  {line}{_course(site, snapshot)}{odd}")
    if len(snapshot.sites) > _SITES:
        parts.append(f"  … and {plural(len(snapshot.sites) - _SITES, 'more site')}: `run.sites` has all")
    parts += [f"  {line}" for line in call_lines(snapshot.calls)]
    if snapshot.dropped_calls:
        parts.append(f"  … and {plural(snapshot.dropped_calls, 'earlier call')}, only their number is kept")
    parts += [f"  while tracing: {line}" for line in [one for call in snapshot.calls for one in call.prints][:_LINES]]
    parts += [f"  in {snapshot.file}: `{load_command(snapshot.file)}` in a new kernel"] if snapshot.file else []
    for name, stream in (("ordered", snapshot.ordered), ("unordered", snapshot.unordered)):
        if lines and stream:
            parts.append(f"  last {name}:")
            parts += [f"    {_line(line)}" for line in stream[-lines:]]
    return legible("\n".join(parts))


def _course(site: CallSite, snapshot: Snapshot) -> str:
    """Write the first and the last number of a watched value; empty for a print, which shows its value itself."""
    course = snapshot.courses.get(site.id)
    of_finite = " of the finite ones" if course and course.statistic == "mean" and site.id in snapshot.nonfinite else ""
    return f", {course.statistic}{of_finite} {course.words}".replace("  ", " ") if course else ""


def site_line(site: CallSite, events: int, caller: str) -> str:
    """Write a site in one line: place, name, number of events, kind. `caller`: see `distinguishing_texts`."""
    name = f"{site.label} · {caller}" if caller else site.label
    kind = "watched value" if site.watch else f"{'ordered' if site.ordered else 'unordered'} {site.kind}"
    phase = "" if site.phase == "forward" else f", {site.phase}"
    return f"{site.where}  {name}  {plural(events, 'time')} ({kind}{phase})"


def headline(snapshot: Snapshot, *, saved: bool) -> str:
    """Write a run in one line: title, state, counts, barrier."""
    status = snapshot.status
    dropped = f", {status.dropped} dropped" if status.dropped else ""
    state = state_text(snapshot, saved=saved) + ("," if saved and snapshot.goes_on else "")
    return (
        f"jaxdebug: {shortened(status.title)} — {state} after {in_time(status.elapsed)}, "
        f"{snapshot.came}{dropped}, {barrier_text(status.barrier)}"
    )


def state_text(snapshot: Snapshot, *, saved: bool) -> str:
    """Write the state of a run; if it went on when the text was `saved`, say `was running when saved`."""
    if snapshot.status.state == "loaded":
        return "loaded while it was running"
    if not (saved and snapshot.goes_on):
        return snapshot.status.state
    waited = "waiting for effects" if snapshot.status.state == "waiting" else "running"
    return f"was {waited} when saved"


def shortened(title: str) -> str:
    """Shorten a title for a line of text."""
    return title if len(title) <= _TITLE else f"{title[: _TITLE - 1]}…"


def barrier_text(barrier: Barrier) -> str:
    """Write the state of the effects barrier."""
    match barrier.state:
        case "off" | "idle":
            return "nothing to wait for"
        case "drained":
            return "all effects arrived"
        case "failed":
            return "effects failed"
        case "pending" | "timeout":
            names = ", ".join(barrier.pending)
            gave_up = f", gave up after {barrier.timeout:g} s" if barrier.state == "timeout" else ""
            return f"effects pending for {barrier.waited:.1f} s{gave_up}: {names}"


def call_lines(calls: Sequence[Call]) -> list[str]:
    """Write a line for each call; calls of the same expression, as in a training loop, share a line."""
    groups: dict[str, list[Call]] = {}
    for call in calls:
        groups.setdefault(call.name, []).append(call)
    return [call_line(group[0]) if len(group) == 1 else _group_line(group) for group in groups.values()]


def _group_line(calls: Sequence[Call]) -> str:
    compiled = [call for call in calls if call.compile is not None]
    prepared = sum(map(_prepared, calls))
    measured = [call.run for call in calls if call.run is not None]
    of_some = "" if len(measured) == len(calls) else f" ({plural(len(measured), 'call')} measured)"
    failed = [call for call in calls if call.error]
    parts = [
        f"compiled {_times(len(compiled))}, {in_time(prepared)}" if compiled else "cached",
        *([f"ran {in_time(sum(measured))} in total{of_some}"] if measured else []),
    ]
    parts += [f"{len(failed)} failed, last: {failed[-1].error}"] if failed else []
    return f"{calls[0].name} × {len(calls)}: {' · '.join(parts)}, {plural_came(sum(call.events for call in calls))}"


def call_line(call: Call) -> str:
    """Write a call in one line: its name, the time of each stage, its state and its events."""
    parts = [
        f"{word} {in_time(seconds)}"
        for word, seconds in (
            ("traced", call.trace),
            ("Numba", call.numba),
            ("lowered", call.lower),
            ("compiled", call.compile),
        )
        if seconds is not None
    ]
    if call.compile is None and call.dispatched_ns is not None:
        parts.append("cached")
    if call.run is not None:
        parts.append(f"ran {in_time(call.run)}" + " a call" * (call.run_of > 1))
    if call.retraced:
        parts.append(f"traced again: {call.retraced}")
    parts.append(call.error or state_name(call.state))
    return f"{call.name}: {' · '.join(parts)}, {plural_came(call.events)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _prepared(call: Call) -> float:
    """Return the seconds of tracing, lowering and compiling, with those of Numba."""
    return (call.trace or 0) + (call.numba or 0) + (call.lower or 0) + (call.compile or 0)


def _line(line: PrintLine) -> str:
    first, *more = line.text.split("\n")
    rest = f" … +{plural(len(more), 'line')}" if more else ""
    return f"{line.site.where} [{line.step}{line.tags}] {cut(first, _CHARACTERS)}{rest}"
