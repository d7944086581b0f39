"""Define the promised figures of the panel and the debugger.

`make speed` asserts them on a machine that does nothing else. A test that asserts only such a figure has the mark
`speed`, and `make test` leaves it out. A test that also shows something else has the mark `timed`. In `make test` it
allows `SLACK`: it shares two cores with a server, a kernel, a browser and other tests.
"""

from __future__ import annotations

import os

ANSWER_MS = 100
"""The longest time in which an answer feels immediate."""

PAUSE_MS = 100
"""The longest time between two updates of a panel while events come in."""

LATENCY_MS = 150
"""The longest time from a callback in the kernel to its pixel: 95th percentile at 10 000 events a second."""

FRAMES = 55
"""The fewest frames a second, of 60, while events come in."""

SLACK = 1 if os.environ.get("JAXDEBUG_SPEED") else 20


def is_kept(measured: float, *, at_most: float = float("inf"), at_least: float = 0.0) -> bool:
    """Return whether a figure keeps a promise; outside of `make speed`, whether it comes within `SLACK` of it."""
    return at_least / SLACK <= measured <= at_most * SLACK
