"""Send histograms of an array's elements over its events to the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets.session.run.histograms import BINS, histograms_of_events
from jax_debug_widgets.transport import reply
from jax_debug_widgets.transport.columns import pack

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.run.view import RunView


def histograms_message(run: RunView, request: int, asked: Mapping[str, Any]) -> Message:
    """Make the answer to a `histograms` request: value `value` of site `site`, over all its kept events."""
    site, number = int(asked["site"]), int(asked["value"])
    kept, total, (edges, counts, odd) = histograms_of_events(run, site, number)
    specs, buffer = pack(
        {
            "event": np.array(kept, np.uint32),
            "counts": counts.astype(np.uint32).ravel(),
            "odd": odd.astype(np.uint32),
        }
    )
    fields = {"site": site, "value": number, "low": float(edges[0]), "high": float(edges[-1]), "bins": BINS}
    return reply("histograms", run.key, request, **fields, of=total, data=specs), buffer
