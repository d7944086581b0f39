"""A run in few numbers, for a row of a table of runs: its most telling value, how far it has come, how fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.session.run.headline import counts, headline

if TYPE_CHECKING:
    from jax_debug_widgets.events import Tap
    from jax_debug_widgets.session.run.naming import Choice
    from jax_debug_widgets.store import Store

_LOOKED_THROUGH = 20_000
"""Events, the newest: a row of a table must not take long."""

_VALUES = 100


@dataclass(frozen=True)
class Outline:
    """A run in few numbers.

    Attributes:
      value: the name of its most telling value, as a rule the loss; empty where it has none that is a number.
      last: that value as it was last.
      steps: how often it was computed.
      ms_a_step: the milliseconds from one time to the next, of late; None where that cannot be told.
    """

    value: str = ""
    last: float | None = None
    steps: int = 0
    ms_a_step: float | None = None


def outline(store: Store) -> Outline:
    """The outline of the run whose events these are."""
    newest = _newest(store)
    for choice, name in headline(store.sites()):
        told = _outline_of(store, choice, name, newest)
        if told is not None:
            return told
    return Outline()


@dataclass(frozen=True)
class _Newest:
    """The newest events by columns, phantoms left out: position, site, time, occurrence and device of each."""

    position: np.ndarray
    site: np.ndarray
    time_ns: np.ndarray
    occurrence: np.ndarray
    device: np.ndarray


def _newest(store: Store) -> _Newest:
    pieces = store.columns(max(len(store) - _LOOKED_THROUGH, 0), len(store))
    none = np.zeros(0, np.int64)
    real = [~piece.phantom for piece in pieces]
    position = [piece.first + np.flatnonzero(chosen) for piece, chosen in zip(pieces, real, strict=True)]
    columns = (
        np.concatenate([none, *(getattr(piece, name)[chosen] for piece, chosen in zip(pieces, real, strict=True))])
        for name in ("site", "time_ns", "occurrence", "device")
    )
    return _Newest(np.concatenate([none, *position]), *columns)


def _outline_of(store: Store, choice: Choice, name: str, newest: _Newest) -> Outline | None:
    """The outline by one value; None where it is no number, or counts steps."""
    rows = np.flatnonzero(newest.site == choice.site.id)
    positions = newest.position[rows][-_VALUES:]
    values = [
        row[choice.value] for tap, _, events in store.values_at(positions) for row in events if _is_number(tap, choice)
    ]
    if not values or counts(np.array(values)):
        return None
    devices = len(np.unique(newest.device[rows]))
    times, occurrences = newest.time_ns[rows], newest.occurrence[rows]
    apart, took = int(occurrences[-1] - occurrences[0]) // devices, int(times.max() - times.min())
    return Outline(
        value=name,
        last=float(values[-1]),
        steps=(int(occurrences[-1]) + 1) // devices,
        ms_a_step=took / apart * 1e-6 if apart > 0 and took > 0 else None,
    )


def _is_number(tap: Tap, choice: Choice) -> bool:
    return tap.shapes[choice.value] == () and tap.dtypes[choice.value].kind != "c"
