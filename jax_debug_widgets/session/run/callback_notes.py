"""Write notes about callbacks that are stuck, that raised, or that the compiler removed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from jax_debug_widgets.events.errors import error_line
from jax_debug_widgets.events.function_names import short_function
from jax_debug_widgets.events.host_call import RejectedResultError, place_of
from jax_debug_widgets.taps.stuck import standstill, thread_name

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallbackSummary, CallSite
    from jax_debug_widgets.taps.outcomes import Running
    from jax_debug_widgets.taps.sites import NameFile


def stuck_note(running: Running, limit: float, name_file: NameFile) -> str:
    """Write the note about a function that has run for more than `limit` seconds: its place, thread, begin and reason."""
    site = running.tap.site
    seconds = (time.perf_counter_ns() - running.began_ns) * 1e-9
    since = time.strftime("%H:%M:%S", time.localtime(time.time() - seconds))
    found = standstill(running.thread)
    at = (
        f" It is in {short_function(found.function)} at {name_file(found.file)}:{found.line}: {found.reason}."
        if found
        else ""
    )
    return (
        f"{site.format} ({_kind(site)} at {site.where}) has been running since {since}, for more than "
        f"{_rounded(seconds, limit)} s, on the {_thread(running.thread)}; the program waits for it.{at}"
    )


def raised_note(summary: CallbackSummary, name_file: NameFile) -> str:
    """Write the note about the last error of a function, with the user's line that raised it."""
    error, site = summary.error, summary.site
    at = place_of(error, name_file)
    is_rejected = isinstance(error, RejectedResultError)
    cause = str(error) if is_rejected else error_line(error) if error else "an exception"
    verb = "returned what JAX rejects:" if is_rejected else "raised"
    traceback_at = f" run.callbacks[{site.format!r}].traceback is its own traceback."
    given = f" It was given {error.given}." if is_rejected and error.given else ""
    times = f"{summary.raised} of {summary.calls} calls" if summary.calls > 1 else "its only call"
    more = given if is_rejected else traceback_at
    return f"{site.format} ({_kind(site)} at {site.where}) {verb} {cause}{at} ({times}).{more}"


def eliminated_note(summary: CallbackSummary) -> str:
    """Write the note that JAX has removed a call because nothing uses its result."""
    site = summary.site
    return (
        f"{site.format} ({_kind(site)} at {site.where}): eliminated by the compiler: staged {summary.staged}, "
        "ran 0. Nothing uses its result. Use the result, or jax.experimental.io_callback if it must run."
    )


def _rounded(seconds: float, limit: float) -> str:
    """Write a time in coarse steps, because each change of a note is sent again."""
    steps = [step for step in (limit, 10, 20, 30, 60, 120, 300, 600, 1800, 3600) if step <= seconds]
    return f"{max(steps, default=limit):g}"


def _thread(thread: int) -> str:
    name = thread_name(thread)
    return "main thread" if name == "main" else f"thread {name} of XLA's pool"


def _kind(site: CallSite) -> str:
    name = {"callback": "debug callback", "breakpoint": "breakpoint"}.get(site.kind, f"{site.kind} callback")
    return f"ordered {name}" if site.ordered else name
