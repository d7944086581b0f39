"""Test that the events of several calls in flight arrive in the order of the calls, each with its own time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp

from jax_debug_widgets._jax.running.backlog import Backlog, PendingResult


def test_two_calls_have_no_time_in_common_however_soon_one_follows_the_other():
    times_of_lines, lines = [], range(10**9)  # At a nanosecond for each line this would take a second.

    def reports(times, _thread, _results):
        times_of_lines.extend(times)
        return ()

    reporting: Any = SimpleNamespace(lines=lines, reports=reports)
    backlog, program = Backlog(), object()
    calls = [PendingResult(backlog, program, reporting, [jnp.zeros(1).block_until_ready()]) for _ in range(3)]
    for call in calls:
        backlog.add(call)
    backlog.report()
    assert all(began + len(lines) - 1 == call.ended_ns for began, call in zip(times_of_lines, calls, strict=True))
    assert all(before.ended_ns < began for before, began in zip(calls, times_of_lines[1:], strict=False))
