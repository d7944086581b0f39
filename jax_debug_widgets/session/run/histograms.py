"""Compute histograms of an array's elements, event by event, when somebody looks at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events.numbers import as_numbers, edges_of
from jax_debug_widgets.plots import Histograms
from jax_debug_widgets.watch import HISTOGRAM

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.ports import Values
    from jax_debug_widgets.session.run.watched_value import WatchedValue

MAX_EVENTS = 240
"""The most events with a histogram, as many as a picture has columns. With more events, each n-th has one."""

BINS = 64

_LABELLED = 4
"""One magnitude of four has a label."""

_MAX_ELEMENTS = 1 << 16
"""The most elements of a value that are counted; of a larger value, each n-th element."""


def histograms_of(run: Values, name: str, site: int, number: int) -> Histograms:
    """Return the histograms of value `number` of a site, to be drawn.

    Raises:
      ValueError: no event of the site is kept.
    """
    kept, _, (edges, counts, odd) = histograms_of_events(run, site, number)
    if not kept:
        msg = f"no event of {name} is kept, so there is nothing to draw"
        raise ValueError(msg)
    positions, _ = run.store.history.firings(site)
    x, _, _ = run.store.history.places(site)
    # Events may have come or gone since.
    places = dict(zip(positions[-len(x) :].tolist(), x[-len(positions) :].tolist(), strict=True))
    return Histograms(name, np.array([places.get(position, np.nan) for position in kept]), edges, counts, odd)


def histograms_watched(value: WatchedValue) -> Histograms:
    """Return the histograms of a watched array that the device counted (`histograms=True`), by magnitude of its elements.

    Raises:
      KeyError: the capture did not ask for histograms. ValueError: none is kept.
    """
    counts, x = value.histogram, value.steps
    odd = value["nan"] + value["posinf"] + value["neginf"]
    count = min(map(len, (counts, x, odd)))  # Events may have come between the reads.
    if not count:
        raise ValueError(f"no event of {value.name} is kept, so there is nothing to draw")
    chosen = np.unique(np.linspace(0, count - 1, MAX_EVENTS).astype(int))
    bars = counts.shape[1] // 2
    lower = [name.removeprefix("hist +") for name in HISTOGRAM[bars:]]
    labels = [*(f"-{name}" for name in reversed(lower[1:])), *lower]
    edges = np.arange(-bars, bars + 1, dtype=np.float64)
    ticks = {edge: label for edge, label in zip(range(1 - bars, bars), labels, strict=True) if edge % _LABELLED == 0}
    name = f"{value.name}, elements by magnitude without zeros"
    return Histograms(
        name, x[chosen].astype(np.float64), edges, counts[chosen].astype(np.int64), odd[chosen].astype(np.int64), ticks
    )


def histograms_of_events(
    run: Values, site: int, number: int
) -> tuple[list[int], int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the events with a histogram, the number of all events, and the `histograms`."""
    positions, _ = run.store.history.firings(site)
    chosen = (
        positions[np.unique(np.linspace(0, len(positions) - 1, MAX_EVENTS).astype(int))]
        if len(positions)
        else positions
    )
    kept, samples = [], []
    for position in chosen.tolist():
        try:
            value = run.store.event(position).values[number]
        except IndexError:  # The event was dropped in the meantime.
            continue
        kept.append(position)
        samples.append(_sample(value))
    return kept, len(positions), histograms(samples)


def histograms(samples: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the histogram of each sample, over the same bins.

    Returns:
      edges: float64[BINS + 1], from the lowest to the highest finite number of all samples.
      counts: int64[n, BINS].
      odd: int64[n], how many numbers of each sample are NaN or infinite.
    """
    finite = [sample[np.isfinite(sample)] for sample in samples]
    some = [sample for sample in finite if sample.size]
    low = min((float(sample.min()) for sample in some), default=0.0)
    high = max((float(sample.max()) for sample in some), default=1.0)
    edges = edges_of(low, high, BINS)
    counts = np.array([np.histogram(sample, edges)[0] for sample in finite], np.int64).reshape(-1, BINS)
    odd = np.array([len(sample) - len(own) for sample, own in zip(samples, finite, strict=True)], np.int64)
    return edges, counts, odd


def _sample(value: np.ndarray) -> np.ndarray:
    flat = np.ravel(value)
    return as_numbers(flat[:: max(-(-flat.size // _MAX_ELEMENTS), 1)])
