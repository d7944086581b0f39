"""Lots of firings, as the store is given them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from jax_debug_widgets.events import FiringBatch, Inbox, Tap

Fired = tuple[Tap, int, tuple[np.ndarray, ...]]
"""A tap, when it fires, and what it hands over."""


def batch_of(fired: Iterable[Fired]) -> FiringBatch:
    """What an inbox gives out after these have fired."""
    inbox = Inbox()
    for tap, time_ns, arrays in fired:
        inbox.putter(tap)((time_ns, *arrays))
    return inbox.take()
