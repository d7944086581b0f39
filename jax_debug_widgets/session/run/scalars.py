"""Choose the numbers of a run that are drawn by default, and measure the time of a step, by the rules of the overview."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.session.run.counters import Counters
from jax_debug_widgets.session.run.groups import kind_of, path_of
from jax_debug_widgets.session.run.headline import headline, numbers_of, pace_of, pace_of_calls, rank_of
from jax_debug_widgets.session.run.lane_numbers import lane_count

if TYPE_CHECKING:
    from jax_debug_widgets.events import Call
    from jax_debug_widgets.session.run.naming import SelectedValue
    from jax_debug_widgets.store import Store

_EXPRESSION = 4
"""The rank of an expression, see `rank_of`."""

_STREAMED = 64
"""A loop of more steps hands over its events while it runs."""


@dataclass(frozen=True)
class Scalar:
    """A number of a run with its whole history.

    Attributes:
      lanes: of how many lanes of a `vmap` the numbers are the mean; 0 if they are no means.
    """

    rank: int
    choice: SelectedValue
    name: str
    values: np.ndarray
    lanes: int = 0


def scalars(store: Store, copies: Container[int] = ()) -> Iterator[Scalar]:
    """Yield the numbers of a run, the most important first. The twin of `scalarsOf` in `js/src/views/overview/contents.ts`.

    Numbers that count steps are left out. A number that is printed and watched under the same name comes once. Expressions come
    only if no number has a name.

    Args:
      copies: sites to leave out, because another process has the same values.
    """
    candidates = [
        (choice, _without_statistic(choice, name))
        for choice, name in headline(site for site in store.sites() if site.id not in copies)
        if _is_number(choice)
    ]
    printed = {choice.name for choice, _ in candidates if choice.site.watch is None}
    ranked = sorted(
        (
            (rank_of(name, forward=choice.site.phase == "forward", watched=bool(choice.site.watch)), choice, name)
            for choice, name in candidates
        ),
        key=lambda one: one[0],
    )
    given: list[Scalar] = []
    counters = Counters(store, (choice for choice, _ in candidates))
    for rank, choice, name in [one for one in ranked if one[0] < _EXPRESSION] or ranked:
        watch = choice.site.watch
        if watch and choice.site.label in printed:
            continue
        values = numbers_of(store, choice)
        if values is None or counters.has(choice, values):
            continue
        scalar = Scalar(rank, choice, name, values, lane_count(watch) if watch else 0)
        if not any(_is_same(scalar, other) for other in given):
            given.append(scalar)
            yield scalar


def longest(store: Store, copies: Container[int] = ()) -> int | None:
    """Return the site of the watched array with the most events. It gives the steps if no value is a number (`vmap`)."""
    seen = store.seen_by_site()
    sites = [site for site in store.sites() if site.watch and site.phase == "forward" and site.id not in copies]
    return max((site.id for site in sites), key=lambda number: seen.get(number, 0), default=None)


def pace_at(store: Store, calls: Sequence[Call], site: int, steps: np.ndarray, since: float = 0.0) -> float | None:
    """Return the seconds of a step of the loop around `site`; None if they are not known.

    They are measured by the calls; in a loop so long that its events come while it runs, by the events' times.

    Args:
      steps: the steps of the site's events.
      since: when the debugger last let the program go on, in seconds since the run began; earlier times do not count.
    """
    times_ns, call_ids = store.history.arrivals(site)
    if not len(times_ns) or not len(steps):
        return None
    call = next((one for one in calls if one.id == call_ids[-1]), None)
    if call is None:
        return None
    timed = [
        (one.name, one.started_ns * 1e-9, one.compile, None if one.ready_ns is None else one.ready_ns * 1e-9)
        for one in calls
    ]
    pace = pace_of_calls(timed, call.name, int(steps[-1]) + 1, since)
    if pace is not None:
        return pace
    times = times_ns * 1e-9
    both = min(len(times), len(steps))
    begun = max(call.started_ns * 1e-9, since)
    streamed = both - int(np.searchsorted(times[len(times) - both :], begun))
    return pace_of(steps[-streamed:], times[-streamed:]) if streamed > _STREAMED else None


def _is_number(choice: SelectedValue) -> bool:
    watch = choice.site.watch
    if watch is None:
        return True
    path = path_of(watch.name)
    is_tree = path is not None and path.leaf != "" and kind_of(path.root) != ""
    statistic = choice.site.values[choice.value]
    is_number = (watch.shape == () and statistic == "value") or (lane_count(watch) > 0 and statistic == "mean")
    return watch.role == "value" and is_number and watch.primitive != "argument" and not is_tree


def _without_statistic(choice: SelectedValue, name: str) -> str:
    """Return the name of a value as the panel has it: the mean over lanes has the name of the value."""
    return choice.site.label + name.removeprefix(choice.name) if choice.site.watch else name


def _is_same(one: Scalar, other: Scalar) -> bool:
    """Whether two numbers are the same value. A function's result often has the same name in its caller."""
    is_float = one.values.dtype.kind == "f"
    return is_float and one.name == other.name and np.array_equal(one.values, other.values, equal_nan=True)
