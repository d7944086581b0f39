"""Make the findings, the notes and the status of a run."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Protocol

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets.breakpoints import unmet, unwatched
from jax_debug_widgets.checks import Kind
from jax_debug_widgets.checks.device import found_while_running
from jax_debug_widgets.checks.refused import refused_callback
from jax_debug_widgets.checks.retraces import retraced
from jax_debug_widgets.checks.reuse import of_key
from jax_debug_widgets.checks.written import is_muted
from jax_debug_widgets.events import Finding, NonFinite, Status
from jax_debug_widgets.session.run.call_book import MAX_CALLS
from jax_debug_widgets.session.run.callbacks import MAX_HOST_CALLS
from jax_debug_widgets.session.run.expectations import phantoms_in
from jax_debug_widgets.session.run.first_nonfinite import birth, event_after, first_event, joined
from jax_debug_widgets.session.run.misordered import misordered_notes
from jax_debug_widgets.session.run.not_checked import of_checking, quiet_checks
from jax_debug_widgets.session.run.ports import RunPorts, Values, WithSources
from jax_debug_widgets.session.run.report_findings import explained, of_retraces, of_stale
from jax_debug_widgets.taps import formatted_while_tracing
from jax_debug_widgets.watch import no_values, not_found, notes_of, price

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Collection, Iterator, Sequence

    from jax_debug_widgets._jax.origins.equation import Recorders
    from jax_debug_widgets._jax.tracing.traces import Trace
    from jax_debug_widgets.breakpoints import Policy
    from jax_debug_widgets.checks import Explanation
    from jax_debug_widgets.checks.keys import Reuse
    from jax_debug_widgets.events import CallSite, RunState, StaleRead
    from jax_debug_widgets.session.run.callbacks import RunCallbacks
    from jax_debug_widgets.session.run.calls import CallLog
    from jax_debug_widgets.session.run.expectations import Expectations
    from jax_debug_widgets.session.run.life import Life
    from jax_debug_widgets.taps.check_log import CheckLog


_MOST_PLACES = 5
"""The most lines that a sentence names."""


def reported_elsewhere(program: Recorders) -> str:
    """Say which prints of a program over several processes fire only in another process, and in which; empty for none."""
    share = program.share
    if share is None or share.is_reporter or share.reporter is None:
        return ""
    places = list(dict.fromkeys(tap.site.where for tap in program.taps if tap.nesting.fires_once))
    if not places:
        return ""
    named = ", ".join(places[:_MOST_PLACES]) + (", ..." if len(places) > _MOST_PLACES else "")
    return (
        f"Reported by process {share.reporter}, not here: {named}. Outside of `shard_map`, a program over several processes "
        "prints and calls back on the first of its devices only."
    )


class Reported(Values, WithSources, Protocol):
    """A run as this module uses it."""

    @property
    def call_log(self) -> CallLog:
        """See `Run`."""
        ...

    callbacks: RunCallbacks
    dispatched: dict[int, CallSite]
    expectations: Expectations
    explained: list[Explanation]
    reused_keys: dict[Reuse, None]
    checked: CheckLog
    traces: deque[Trace]
    is_measured: bool
    life: Life
    noted: list[str]
    policy: Policy

    @property
    def is_captured(self) -> bool:
        """See `Run`."""
        ...

    @property
    def title(self) -> str:
        """See `Run`."""
        ...

    @property
    def dropped(self) -> int:
        """See `Run`."""
        ...

    @property
    def stale_reads(self) -> list[StaleRead]:
        """See `Run`."""
        ...

    def trace_prints_found(self) -> list[Finding]:
        """See `Run`."""
        ...


def findings(run: Reported, muted: Collection[str] = ()) -> list[Finding]:
    """Return the findings that are not muted, neither by their check nor by `# jdw: ok` at their line."""
    return [one for one in _found(run) if not _is_muted(one, muted)]


def _is_muted(finding: Finding, muted: Collection[str]) -> bool:
    option = next((kind.option for kind in Kind if kind.word == finding.kind), "")
    if not option:
        return False
    line, _, last, _ = finding.span
    return option in muted or is_muted(finding.file, line, last, option)


def _found(run: Reported) -> list[Finding]:
    """Return all findings of a run, from all sources, in the order in which they are shown."""
    formatted = map(formatted_while_tracing, run.store.sites())
    return [
        *(explained(one, run.name_file) for one in run.explained),
        *(refused_callback(one, run.name_file) for one in run.callbacks.refused()),
        *(of_stale(one) for one in run.stale_reads),
        # A line that is traced for several types shows several tracers, but needs only one correction.
        *{finding.message: finding for finding in formatted if finding}.values(),
        *(of_key(one, run.name_file) for one in tuple(run.reused_keys)),
        *(of_retraces(one, run.name_file) for one in retraced(tuple(run.traces), run.name_file)),
        *run.trace_prints_found(),
        *found_while_running(
            *(run.checked.seen(wait=False), run.name_file, partial(event_after, run, run.call_log.program_of)),
            is_leak_explained=any(one.kind is Kind.LEAK for one in run.explained),
        ),
        *run.expectations.findings(),
        *phantoms_in(run.store),
    ]


def status(run: Reported, ports: RunPorts) -> Status:
    """Return the status of a run."""
    count = len(run.store)
    found = findings(run, ports.muted_checks())
    state = run.life.state(run.call_log, run.policy)
    muted, cost = ports.muted_sites(), _cost(run)
    return Status(
        state=state,
        title=run.title,
        captured=run.is_captured,
        started=run.life.started,
        elapsed=run.life.elapsed(),
        events=count,
        rate=run.life.rate(count),
        dropped=run.store.dropped,
        dropped_by_site=run.store.dropped_by_site(),
        muted=tuple(site.id for site in run.store.sites() if site.id in muted),
        every=_sampled(run, ports.sampled_sites()),
        added=ports.added_names(),
        lines=ports.added_lines(),
        nonfinite=_nonfinite_in_streams(run),
        first_nonfinite=first_event(run, birth(found, run, run.noted)),
        barrier=run.life.barrier(run.call_log),
        notes=(
            *(_of_failure(run) if state == "failed" else ()),
            *run.noted,
            *run.policy.noted_lines(),
            *run.policy.skipped_lines(),
            *_of_conditions(run, state, ports.added_names()),
            *_muted_throughout(run, muted),
            *run.callbacks.notes(),
            *(misordered_notes(run.store) if run.life.has_returned else ()),
            *of_what_is_let_go(run),
            *([cost] if cost else []),
            *_of_watching(run),
            *of_checking(run, state),
        ),
        findings=len(joined(found, run, run.noted)),
        cost=cost,
        checked="" if found or state != "done" else quiet_checks(run, state, ports.muted_checks()),
        apart=run.call_log.compiled_apart(),
        when=run.options.watch.when if run.options.watch else "",
        watches=run.options.watch is not None,
        resumed=max(0, run.policy.resumed_ns - run.life.origin_ns) * 1e-9,
        **ports.debugging_status(run),
    )


def _of_conditions(run: Reported, state: RunState, added: Sequence[str]) -> list[str]:
    """Return notes about conditions of `--break-on` that see too little; at the end, about those that were never checked."""
    if state == "done":
        return _unmet(run)
    return [] if run.options.watch or added else unwatched(run.policy.conditions)


def of_what_was_not_found(run: Reported) -> Iterator[str]:
    """Yield notes about names that the user asked for and no program has, once the program has returned."""
    watch, seen, state = run.options.watch, run.watch_seen(), run.life.state(run.call_log, run.policy)
    if state != "done":
        return
    if watch is not None and seen is not None and all(map(features.available, (features.WATCH, features.CALLS))):
        yield from not_found(seen, watch, run.watched)
    yield from _unmet(run)


def _unmet(run: Reported) -> list[str]:
    watches_all = run.options.watch is not None and run.options.watch.everything
    why = partial(no_values, run.watch_seen())
    return unmet(run.policy.conditions, run.store.sites(), why=why, watches_all=watches_all)


def _of_failure(run: Reported) -> Iterator[str]:
    """Yield a note about the exception, or the first failed call, that no finding explains and no callback's note tells."""
    error, sentence = run.life.error, f"The program raised {run.life.error}{run.life.raised_at}"
    if not error:
        call = next((one for one in run.call_log.calls()[0] if one.error and one.state == "failed"), None)
        error, sentence = (call.error, f"Call {call.id} `{call.name}` failed: {call.error}") if call else ("", "")
    if error and not run.explained and not run.callbacks.explains(error):
        yield sentence


def _sampled(run: Reported, chosen: dict[int, int]) -> dict[int, int]:
    sampled = {site.id: chosen.get(site.id, run.options.every) for site in run.store.sites()}
    return {site_id: every for site_id, every in sampled.items() if every > 1 or site_id in chosen}


def _muted_throughout(run: Reported, muted: frozenset[int]) -> Iterator[str]:
    """Yield notes about sites that were dispatched and have no events because they are muted."""
    seen = {site.id for site in run.store.sites()}
    for number, site in run.dispatched.copy().items():
        if number in muted and number not in seen and not site.watch:
            yield f"{site.where} ({site.label}) is muted: `%jaxdebug unmute {site.id}` records it again."


def of_what_is_let_go(run: Reported) -> Iterator[str]:
    """Yield notes about lists that keep only the newest entries of a long run.

    The notes have no counts, because each change of a note is sent to the browser again.
    """
    if run.store.released:
        yield (
            "All ended runs together keep at most --max-ended-mb in memory: this run has dropped its "
            "oldest events, arrays first. `run.dropped` counts them."
        )
    if run.dropped > run.store.released:
        yield (
            "Older events are no longer kept (--max-events, --max-mb): `run.dropped` counts them; the panel counts "
            "them by call site."
        )
    if run.call_log.dropped:
        yield f"`run.calls` has the newest {MAX_CALLS:,} calls; the events of older ones are kept like all others."
    if run.callbacks.dropped:
        yield (
            f"`run.callbacks.calls` has the newest calls of host functions, {MAX_HOST_CALLS:,} at most, with their results "
            "within a quarter of --max-mb; `run.callbacks` counts them all."
        )


def _cost(run: Reported) -> str:
    """Return what watching all values is expected to cost; empty if that was measured, or some were chosen by name."""
    watch, seen = run.options.watch, run.watch_seen()
    if watch is None or seen is None or run.is_measured or not features.available(features.WATCH):
        return ""
    sites = list(run.watched) if watch.everything or watch.ops else []
    return price(sites, {seen.works[site.id] for site in sites if site.id in seen.works})


def _of_watching(run: Reported) -> Iterator[str]:
    """Yield notes about names that were not found, once the program has returned."""
    watch, seen = run.options.watch, run.watch_seen()
    if watch is None or seen is None or not features.available(features.WATCH):
        return
    has_failed = run.life.state(run.call_log, run.policy) == "failed"
    knows_calls = features.available(features.CALLS)
    # A function that fails while it is traced has an error that says why.
    if knows_calls and run.life.has_returned and (run.watched or not has_failed):
        yield from notes_of(seen, watch, run.watched)
    is_over = run.life.has_returned and not has_failed and not run.call_log.pending()
    if (
        watch.when
        and is_over
        and seen.conditional
        and run.watched
        and not any(site.watch for site in run.store.sites())
    ):
        nan = " A comparison with NaN is never true: write isnan(name)." if re.search(r"[<>=]", watch.when) else ""
        yield f"Nothing was recorded: `{watch.when}` was true in none of the executions.{nan}"


def _nonfinite_in_streams(run: Reported) -> NonFinite | None:
    """Return the NaN and infinities of all sites together, without watched values; None without any."""
    found = run.store.nonfinite()
    shown = [found[site.id] for site in run.store.sites() if site.id in found and not site.watch] if found else []
    if not shown:
        return None
    nan, inf = (sum(getattr(one, kind) for one in shown) for kind in ("nan", "inf"))
    return NonFinite(nan, inf, min(one.first for one in shown))
