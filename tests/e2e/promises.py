"""The figures that are promised of the panel and the debugger.

`make speed` asserts them, on a machine that does nothing else. A test that asserts such a figure alone has the mark
`speed`, and `make test` leaves it out. A test that shows something else too allows `SLACK` there: it shares two cores with
a server, a kernel, a browser and the other tests.
"""

from __future__ import annotations

import os

ANSWER_MS = 100
"""Within which an answer feels immediate."""

PAUSE_MS = 100
"""Between two updates of a panel while events come in."""

LATENCY_MS = 150
"""From a callback in the kernel to its pixel, 95th percentile at 10 000 events a second."""

FRAMES = 55
"""A second, of 60, while events come in."""

SLACK = 1 if os.environ.get("JAXDEBUG_SPEED") else 20


def is_kept(measured: float, *, at_most: float = float("inf"), at_least: float = 0.0) -> bool:
    """Whether a figure keeps a promise, or here and now comes within `SLACK` of it."""
    return at_least / SLACK <= measured <= at_most * SLACK
