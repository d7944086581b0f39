"""Make batches of firings, as the store receives them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from jax_debug_widgets.events import FiringBatch, Inbox, Tap

Fired = tuple[Tap, int, tuple[np.ndarray, ...]]
"""A tap, the time of its firing in ns, and the values that it hands over."""


def batch_of(fired: Iterable[Fired]) -> FiringBatch:
    """Return the batch that an inbox returns after these firings."""
    inbox = Inbox()
    for tap, time_ns, arrays in fired:
        inbox.putter(tap)((time_ns, *arrays))
    return inbox.take()
