"""Make series of events that are only in the file of a run, from the file's overview."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from jax_debug_widgets.events import CallSite
from jax_debug_widgets.plots import Series
from jax_debug_widgets.session.run.naming import SelectedValue, full_names, matching
from jax_debug_widgets.store import Store

Rows = Mapping[str, np.ndarray]
"""Rows of an overview: column -> array."""


def series_in_file(path: Path, name: str) -> list[Series]:
    """Return the series that `Run.plot(name)` draws; a point is the mean of some hundred executions, with their range.

    Raises:
      KeyError: there is no such value, or only the whole run can tell which one is meant.
      RunFileError: the file is damaged.
    """
    from jax_debug_widgets.archive.overview_reader import OverviewReader

    reader = OverviewReader(path)
    sites, devices = reader.sites(), reader.devices()
    watched = [site for site in sites if site.watch is not None and site.label == name and "mean" in site.values]
    if len(watched) == 1 and "value" not in watched[0].values:
        chosen, called = [SelectedValue(watched[0], 0)], [f"{name}, mean and range over elements"]
    else:
        chosen = matching(name, [SelectedValue(site, value) for site in sites for value in range(len(site.values))])
        called = full_names(chosen)
    rows = reader.read({choice.site.id for choice in chosen})
    if devices is None and (rows["device"] >= 0).any():
        raise KeyError(f"only a run that is loaded in full tells on which devices {name!r} was computed")
    return [
        one
        for choice, own in zip(chosen, called, strict=True)
        for one in series_of_rows(rows, choice.site, choice.value, own, devices or [], of_statistics=bool(watched))
    ]


def series_of_rows(
    rows: Rows, site: CallSite, value: int, name: str, devices: list[str], *, of_statistics: bool = False
) -> Iterator[Series]:
    """Yield a series for each element of a site's value; for a watched array, the mean and range of its elements."""
    rows = _where(rows, rows["site"] == site.id)
    if of_statistics:
        parts = {kind: _where(rows, rows["value"] == number) for number, kind in enumerate(site.values)}
        odd = np.stack([parts[kind]["high"] > 0 for kind in ("nan", "posinf", "neginf")], axis=1)
        own, low, high = parts["mean"], parts["min"]["low"], parts["max"]["high"]
        yield _series(name, own, low, high, odd, devices)
        return
    rows = _where(rows, rows["value"] == value)
    elements = np.unique(rows["element"]).tolist()
    for element in elements:
        own = _where(rows, rows["element"] == element)
        odd = np.stack([own[kind] > 0 for kind in ("nan", "posinf", "neginf")], axis=1)
        called = f"{name}[{element}]" if len(elements) > 1 else name
        yield _series(called, own, own["low"], own["high"], odd, devices)


def with_earlier(later: Series, rows: Rows, store: Store, choice: SelectedValue, *, of_statistics: bool) -> Series:
    """Put the overview's series of the earlier events before a series of the events in a store."""
    before = _where(rows, rows["last_seq"] < store.oldest)
    found = [*series_of_rows(before, choice.site, choice.value, later.name, store.devices, of_statistics=of_statistics)]
    if len(found) != 1 or not len(found[0].x):
        return later
    later = replace(later, x=later.x + _shift(_where(rows, rows["first_seq"] >= store.oldest), store, choice.site.id))
    return _joined(found[0], later)


def _shift(rows: Rows, store: Store, site: int) -> float:
    """Return the number of steps before the first step that the store counts."""
    rows = _where(rows, rows["site"] == site)
    if not len(rows["site"]):
        return 0.0
    first = int(np.argmin(rows["first_seq"]))
    positions, _ = store.history.firings(site)
    x = store.history.places(site)[0][: len(positions)]
    own = x[(positions[: len(x)] >= rows["first_seq"][first]) & (positions[: len(x)] <= rows["last_seq"][first])]
    return float(rows["low_x"][first] - own.min()) if len(own) else 0.0


def _joined(earlier: Series, later: Series) -> Series:
    names = list(dict.fromkeys([*earlier.strand_names, *later.strand_names]))
    strands = [
        np.array([names.index(name) for name in one.strand_names], np.int64)[one.strands] for one in (earlier, later)
    ]
    exact = later.values.reshape(len(later.values), -1)
    if exact.shape[1] == 1:  # The overview has further columns for NaN and the infinities.
        exact = np.repeat(exact, earlier.values.shape[1], axis=1)
    assert earlier.ends is not None
    return replace(
        later,
        x=np.concatenate([earlier.x, later.x]),
        values=np.concatenate([earlier.values, exact]),
        strands=np.concatenate(strands),
        strand_names=names,
        ends=np.concatenate([earlier.ends, exact[:, :2] if later.ends is None else later.ends]),
    )


def _series(name: str, own: Rows, low: np.ndarray, high: np.ndarray, odd: np.ndarray, devices: list[str]) -> Series:
    marks = np.array([np.nan, np.inf, -np.inf])
    mean = np.where(np.isnan(own["mean"]), np.select([*odd.T], [*marks], np.nan), own["mean"])
    values = np.concatenate([mean[:, None], np.where(odd, marks, mean[:, None])], axis=1)
    x = (own["low_x"] + own["high_x"]) / 2
    x = np.floor(x) if (own["low_x"] == np.floor(own["low_x"])).all() else x
    strands, number = np.unique(np.stack([own["device"], own["lane"]], axis=1), axis=0, return_inverse=True)
    names = [
        " ".join([f"lane {lane}"] * (lane >= 0) + ([devices[device]] if device >= 0 else []))
        for device, lane in strands.tolist()
    ]
    order = np.argsort(x, kind="stable")
    ends = np.stack([low, high], axis=1)
    return Series(name, x[order], values[order], number.ravel()[order], names, ends[order])


def _where(rows: Rows, chosen: np.ndarray) -> Rows:
    return {name: column[chosen] for name, column in rows.items()}
