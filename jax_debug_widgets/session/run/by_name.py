"""Find the values of a run by name."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from jax_debug_widgets.events import NO_VALUE
from jax_debug_widgets.session.run.gradients import gradients_of
from jax_debug_widgets.session.run.naming import SelectedValue, UnavailableValues, choose, matching, no_reason
from jax_debug_widgets.watch import why_unwatched

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.session.run.ports import Values

Found = TypeVar("Found", SelectedValue, list[SelectedValue])


def sites_of(run: Values) -> list[CallSite]:
    """Return the sites that have fired until now, in the order of their first event."""
    run.collect()
    return run.store.sites()


def choices(run: Values) -> list[SelectedValue]:
    """Return all values of a run."""
    return [SelectedValue(site, index) for site in sites_of(run) for index in range(len(site.values))]


def choice_called(run: Values, name: str) -> SelectedValue:
    """Return the value with this name.

    Raises:
      KeyError: no value has this name, or several places have it; the message lists the names.
    """
    return _found(run, partial(choose, name))


def choices_matching(run: Values, name: str) -> list[SelectedValue]:
    """Return the values that a name or pattern means, see `naming.matching`."""
    return _found(run, partial(matching, name))


def _found(run: Values, find: Callable[..., Found]) -> Found:
    """Find a value of one process, if the other processes have only copies of it; else find among all values."""
    every = choices(run)
    single = [choice for choice in every if choice.site.id not in run.copies]
    if len(single) < len(every):
        with suppress(KeyError):
            found = find(single, partial(numbers_of, run), untaken(run))
            if len({one.site.process for one in (found if isinstance(found, list) else [found])}) == 1:
                return found
    return find(every, partial(numbers_of, run), untaken(run))


def numbers_of(run: Values, choice: SelectedValue) -> np.ndarray:
    """Return the numbers of a value in the order of `SiteHistory.series`."""
    return run.store.history.series(choice.site.id, choice.value)[2]


def untaken(run: Values) -> UnavailableValues:
    """Return the watched values that were never recorded."""
    taken = {site.id for site in sites_of(run)}
    watch = run.options.watch
    seldom = "it has not been computed (a branch that was not taken, a loop without steps, a program that ended before)"
    why = f"`{watch.when}` has not held there" if watch and watch.when else seldom
    sites = sorted((site for site in run.watched if site.id not in taken), key=lambda site: (site.where, site.label))
    found = [SelectedValue(site, index) for site in sites for index in range(len(site.values))]
    seen = run.watch_seen()
    return UnavailableValues(found, why, partial(why_unwatched, seen=seen) if seen else no_reason)


def watched_sites(run: Values) -> dict[str, CallSite]:
    """Return shortest unique name -> watched site, the forward pass first. A run of several processes has the sites of all.

    Gradients come backwards: for a line that a Python loop unrolled, the gradient of the last execution comes first. A gradient
    has the number of its value. Several derivatives of one value come in their order.
    """
    of_processes: dict[int, list[CallSite]] = {}
    for site in sites_of(run):
        if site.watch is not None:
            of_processes.setdefault(site.process, []).append(site)
    named = {process: _watched_by_name(sites) for process, sites in of_processes.items()}
    times = Counter(name for names in named.values() for name in names)
    return {
        name if times[name] == 1 else f"{name} · process {process}": site
        for process, names in named.items()
        for name, site in names.items()
    }


def _watched_by_name(sites: Sequence[CallSite]) -> dict[str, CallSite]:
    """Return name -> watched site of one process."""
    gradients = [site for site in sites if site.watch and site.watch.role == "gradient"]
    values = [site for site in sites if site.watch and site.watch.role == "value"]
    taken_for = Counter(site.watch and site.watch.value for site in gradients)

    def in_order(gradient: CallSite) -> int:
        value = gradient.watch and gradient.watch.value
        is_of_several = value not in (None, NO_VALUE) and taken_for[value] > 1
        return gradient.order if is_of_several else -gradient.order

    sites = [*sorted(values, key=lambda site: site.phase != "forward"), *sorted(gradients, key=in_order)]
    labels = Counter(site.label for site in sites)
    places = Counter(f"{site.label}@{site.where}" for site in sites)
    found: dict[str, CallSite] = {}
    values_of = {gradient.id: number for number, gradient in gradients_of(sites).items()}
    numbers: dict[int, str] = {}
    for site in sites:
        name = site.label if labels[site.label] == 1 else f"{site.label}@{site.where}"
        if number := numbers.get(values_of.get(site.id, -1)):
            name = f"{site.label}@{site.where}{number}"
        elif labels[site.label] > 1 and places[name] > 1:
            # A gradient without a site of its value must not get the number of another value.
            others = f"{site.watch.name}@{site.where}" if site.watch and site.watch.value == NO_VALUE else name
            numbers_of_all = (f"#{n}" for n in itertools.count(1))
            number = next(n for n in numbers_of_all if name + n not in found and others + n not in found)
            name, numbers[site.id] = f"{name}{number}", number
        found[name] = site
    return found
