"""Draw the values of a run with matplotlib and treescope, for `Run.plot`, `show` and `tree`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events.amounts import lane_text
from jax_debug_widgets.plots import Series, draw_array, draw_histograms, draw_series
from jax_debug_widgets.session.run.by_name import choice_called, choices, choices_matching, numbers_of
from jax_debug_widgets.session.run.from_overview import with_earlier
from jax_debug_widgets.session.run.histograms import histograms_of, histograms_watched
from jax_debug_widgets.session.run.naming import SelectedValue, full_names
from jax_debug_widgets.session.run.watched import WatchedValues
from jax_debug_widgets.session.run.watched_value import WatchedValue
from jax_debug_widgets.watch import sample_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jax_debug_widgets.session.run.ports import Values
    from jax_debug_widgets.store import Store

_MOST_LISTED = 6
"""The most steps that an error lists one by one."""


def draw_lines(run: Values, names: Sequence[str], *, ax: Axes | None, log: bool, band: bool) -> Axes:
    """See `Run.plot`."""
    names = [one for name in names for one in WatchedValues(run).of_each_process(name)]
    drawn = [_range(run, name) for name in names if _is_of_statistics(run, name)]
    names = [name for name in names if not _is_of_statistics(run, name)]
    chosen = [choice for name in names for choice in choices_matching(run, name)]
    if not (names or drawn):
        chosen = [
            choice for choice in choices(run) if choice.site.id not in run.copies and choice.site.kind != "breakpoint"
        ]
    for choice, full_name in zip(chosen, full_names(chosen), strict=True):
        try:
            values = numbers_of(run, choice)
        except ValueError:  # The value has several shapes, so no line can be drawn.
            if names:
                raise
            continue
        if names or _is_scalar(values):
            drawn.append(_whole(run, _series(run.store, full_name, choice, values), choice))
    if not drawn:
        raise ValueError(_nothing_to_plot(chosen))
    return draw_series(drawn, ax=ax, log=log, band=band)


def series_of(run: Values, name: str) -> list[Series]:
    """Return the series that `Run.plot(name)` draws.

    Raises:
      KeyError: see `Run.series`. ValueError: the value has several shapes.
    """
    if _is_of_statistics(run, name):
        return [_range(run, name)]
    chosen = choices_matching(run, name)
    return [
        _whole(run, _series(run.store, full_name, choice, numbers_of(run, choice)), choice)
        for choice, full_name in zip(chosen, full_names(chosen), strict=True)
    ]


def _is_of_statistics(run: Values, name: str) -> bool:
    """Whether a name is a watched array with statistics only."""
    return name in WatchedValues(run) and "mean" in WatchedValues(run)[name] and "value" not in WatchedValues(run)[name]


def _range(run: Values, name: str) -> Series:
    """Return the mean of the elements of a watched array along the steps, with their range."""
    value = WatchedValues(run)[name]
    odd = {"posinf": np.inf, "neginf": -np.inf, "nan": np.nan}
    columns = [value[statistic] for statistic in ("min", "max", "mean", *odd)]
    count = min(map(len, columns))  # Events may have come between the reads.
    low, high, mean, *counts = (column[:count] for column in columns)
    found = [number > 0 for number in counts]
    mean = np.where(np.isnan(mean), np.select(found, [*odd.values()], np.nan), mean)  # No element is finite there.
    marked = [np.where(where, what, mean) for where, what in zip(found, odd.values(), strict=True)]
    table = np.stack([low, high, mean, *marked], axis=1)
    drawn = _series(run.store, f"{name}, mean and range over elements", SelectedValue(value.site, 0), table)
    drawn = replace(drawn, values=drawn.values[:, 2:], ends=drawn.values[:, :2])
    return _whole(run, drawn, SelectedValue(value.site, 0), of_statistics=True)


def _whole(run: Values, drawn: Series, choice: SelectedValue, *, of_statistics: bool = False) -> Series:
    """Add the earlier part of a series from the overview, for a run with events that are only in its file."""
    if drawn.values.ndim > 1 and not of_statistics:
        return drawn
    rows = run.earlier(choice.site.id)
    if rows is None:
        return drawn
    return with_earlier(drawn, rows, run.store, choice, of_statistics=of_statistics)


def draw_spread(run: Values, names: Sequence[str], kind: str, *, ax: Axes | None) -> Axes:
    """See `Run.plot` with `kind="ridge"`, `"heat"` and `"lanes"`."""
    if kind not in ("ridge", "heat", "lanes"):
        msg = f"kind must be 'line', 'ridge', 'heat' or 'lanes', got {kind!r}"
        raise ValueError(msg)
    if len(names) != 1:
        msg = f"a {kind} shows one value: say which, e.g. run.plot('logits', kind={kind!r})"
        raise ValueError(msg)
    if kind == "lanes":
        return _draw_lanes(run, names[0], ax=ax)
    if _is_of_statistics(run, names[0]):
        return draw_histograms(histograms_watched(WatchedValues(run)[names[0]]), kind, ax=ax)
    choice = choice_called(run, names[0])
    return draw_histograms(histograms_of(run, choice.name, choice.site.id, choice.value), kind, ax=ax)


def _draw_lanes(run: Values, name: str, *, ax: Axes | None) -> Axes:
    """Draw a heat map of a statistic (`h.std`; for `h` the mean): a row for each lane, a column for each execution."""
    if name in WatchedValues(run):
        lanes, statistic = WatchedValues(run)[name].lanes, ""
    else:
        choice = choice_called(run, name)
        lanes, statistic = WatchedValue(run, choice.site).lanes, choice.site.values[choice.value]
    statistic = "value" if "value" in lanes else statistic or "mean"
    table = lanes[statistic]
    drawn = draw_array(f"{statistic} of {name} by lane", table.reshape(len(table), -1).T, ax=ax)
    drawn.set_xlabel("execution")
    drawn.set_ylabel("lane")
    return drawn


def _listed(steps: np.ndarray) -> str:
    """Write these steps in words: all if they are few, the ends of consecutive ones, else the first three and the last."""
    if len(steps) <= _MOST_LISTED:
        return ", ".join(map(str, steps)) or "none"
    if steps[-1] - steps[0] == len(steps) - 1:
        return f"{steps[0]} to {steps[-1]}"
    return f"{', '.join(map(str, steps[:3]))}, …, {steps[-1]}"


def value_at(run: Values, name: str, step: float, lane: int) -> tuple[str, np.ndarray]:
    """Return the title of a figure, and one value of an array; see `Run.show`."""
    choice = choice_called(run, name)
    positions, _ = run.store.history.firings(choice.site.id, phantoms=True)
    steps = run.store.history.steps(choice.site.id, phantoms=True)
    count = min(len(steps), len(positions))  # Events may have come or gone between the two reads.
    positions, steps = positions[len(positions) - count :], steps[len(steps) - count :]
    kept = np.unique(steps)
    wanted = kept[int(step)] if step < 0 and -step <= len(kept) else step
    lanes = positions[steps == wanted]
    if choice.site.watch and len(lanes) and not -len(lanes) <= lane < len(lanes):
        axes = (
            f"run[{choice.name!r}]['value'] has them as axes, and run[{choice.name!r}].lanes their statistics (--lanes)"
        )
        msg = f"lane is for prints; a watched value is one array of all its lanes: {axes}. Show it without lane"
        raise IndexError(msg)
    if not -len(lanes) <= lane < len(lanes):
        which = f"step {step} with lane {lane}" if lane or len(lanes) > 1 else f"step {step}"
        raise IndexError(f"{choice.place} has no {which}; steps that are kept: {_listed(kept)}")
    event = run.store.event(int(lanes[lane]))
    where = f", {lane_text(event.lane)}" if event.lane else ""
    watch = choice.site.watch
    if (
        watch
        and watch.full
        and event.values[choice.value].shape != watch.shape
        and (sample := sample_text(watch.shape))
    ):
        where += f", {sample}"
    return f"{choice.name}, step {wanted}{where}", event.values[choice.value]


def _nothing_to_plot(arrays: Sequence[SelectedValue]) -> str:
    """Write the advice for a run without scalars."""
    if arrays:
        ways = f"an array is drawn when it is named, e.g. run.plot({arrays[0].name!r})"
    else:
        ways = "print one (`jax.debug.print('{loss}', loss=loss)`), or watch one without a print (`%%jaxdebug --watch loss`)"
    return f"no scalar value was captured, so there is nothing to plot: {ways}"


def _series(store: Store, name: str, choice: SelectedValue, values: np.ndarray) -> Series:
    x, lane, device = store.history.places(choice.site.id)
    lanes = int(lane.max(initial=-1)) + 2
    pairs = (device + 1) * lanes + lane + 1  # As one number: NumPy is slow with columns.
    found = np.unique(pairs)
    keys, strands = np.stack(np.divmod(found, lanes)) - 1, np.searchsorted(found, pairs)
    devices = store.devices
    names = [
        " ".join(([f"lane {lane}"] if lane >= 0 else []) + ([devices[device]] if device >= 0 else []))
        for device, lane in keys.T.tolist()
    ]
    count = min(len(values), len(x))  # Events may have come or gone between the two reads.
    x, values, strands = (column[len(column) - count :] for column in (x, values, strands))
    order = np.argsort(x, kind="stable")  # In a loop that runs from its end, the last step comes first.
    return Series(name, x[order], values[order], strands[order], names)


def _is_scalar(values: np.ndarray) -> bool:
    return values.ndim == 1 and len(values) > 0 and values.dtype.kind != "c"
