"""The numbers of a run that are drawn without asking, and how long a step takes: the rules of the overview."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.session.run.groups import kind_of, path_of
from jax_debug_widgets.session.run.headline import counts, headline, numbers_of, pace_of, pace_of_calls, rank_of

if TYPE_CHECKING:
    from jax_debug_widgets.events import Call
    from jax_debug_widgets.session.run.naming import SelectedValue
    from jax_debug_widgets.store import Store

_EXPRESSION = 4
"""See `rank_of`."""

_STREAMED = 64
"""A loop of more steps than that hands over its events while it runs."""


@dataclass(frozen=True)
class Scalar:
    """A number of a run, with all that it was."""

    rank: int
    choice: SelectedValue
    name: str
    values: np.ndarray


def scalars(store: Store, copies: Container[int] = ()) -> Iterator[Scalar]:
    """The numbers, the most telling first; none that counts steps, and what is printed and watched under one name once.

    The sites in `copies` are those of other processes with the same values: they are left out.

    Expressions are among them only where nothing has a name. The twin of `scalarsOf` in `js/src/views/overview/contents.ts`.
    """
    told = [
        (choice, name)
        for choice, name in headline(site for site in store.sites() if site.id not in copies)
        if _is_number(choice)
    ]
    printed = {choice.name for choice, _ in told if choice.site.watch is None}
    ranked = sorted(
        (
            (rank_of(name, forward=choice.site.phase == "forward", watched=bool(choice.site.watch)), choice, name)
            for choice, name in told
        ),
        key=lambda one: one[0],
    )
    given: list[Scalar] = []
    for rank, choice, name in [one for one in ranked if one[0] < _EXPRESSION] or ranked:
        if choice.site.watch and choice.name in printed:
            continue
        values = numbers_of(store, choice)
        if values is None or counts(values):
            continue
        scalar = Scalar(rank, choice, name, values)
        if not any(_is_same(scalar, other) for other in given):
            given.append(scalar)
            yield scalar


def longest(store: Store, copies: Container[int] = ()) -> int | None:
    """The site of a watched array that came most often: it tells the steps where nothing is a number, as under `vmap`."""
    seen = store.seen_by_site()
    sites = [site for site in store.sites() if site.watch and site.phase == "forward" and site.id not in copies]
    return max((site.id for site in sites), key=lambda number: seen.get(number, 0), default=None)


def pace_at(store: Store, calls: Sequence[Call], site: int, steps: np.ndarray, since: float = 0.0) -> float | None:
    """Seconds a step of the loop that `site` is in; None where that cannot be told.

    By the calls; in a loop so long that its events come while it runs, by their times.

    Args:
      steps: of the events of the site.
      since: when the debugger last let the program go on, in seconds since the run began; what was before is not counted.
    """
    positions = store.history.series(site, 0)[0]
    if not len(positions) or not len(steps):
        return None
    event = next(iter(store.range(int(positions[-1]), int(positions[-1]) + 1)), None)
    call = next((one for one in calls if event is not None and one.id == event.call), None)
    if call is None:
        return None
    timed = [
        (one.name, one.started_ns * 1e-9, one.compile, None if one.ready_ns is None else one.ready_ns * 1e-9)
        for one in calls
    ]
    pace = pace_of_calls(timed, call.name, int(steps[-1]) + 1, since)
    if pace is not None:
        return pace
    times = _times(store, positions)
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
    return (
        watch.role == "value"
        and watch.shape == ()
        and choice.site.values[choice.value] == "value"
        and watch.primitive != "argument"
        and not is_tree
    )


def _is_same(one: Scalar, other: Scalar) -> bool:
    """A function and its caller often call what it returns by one name."""
    is_float = one.values.dtype.kind == "f"
    return is_float and one.name == other.name and np.array_equal(one.values, other.values, equal_nan=True)


def _times(store: Store, positions: np.ndarray) -> np.ndarray:
    """Seconds since the run started, of the events at these positions."""
    pieces = store.columns(int(positions.min()), int(positions.max()) + 1)
    times = np.concatenate([piece.time_ns for piece in pieces])
    places = (
        np.sort(positions) - pieces[0].first
    )  # The pieces follow one another; the oldest may have been dropped meanwhile.
    return times[places[places >= 0]] * 1e-9
