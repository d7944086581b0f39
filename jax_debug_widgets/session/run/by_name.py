"""The values of a run that can be asked for by name: which there are, and which of them a name means."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jax_debug_widgets.session.run.naming import Choice, Untaken, choose, matching, says_nothing
from jax_debug_widgets.watch import why_unwatched

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets.session.run.run import Run


def choices(run: Run) -> list[Choice]:
    """All of them."""
    return [Choice(site, index) for site in run.sites for index in range(len(site.values))]


def choice_called(run: Run, name: str) -> Choice:
    """The value of that name.

    Raises:
      KeyError: none, or several places have it; the message lists what there is.
    """
    return choose(name, choices(run), partial(numbers_of, run), untaken(run))


def choices_matching(run: Run, name: str) -> list[Choice]:
    """The values that a name or pattern means, see `naming.matching`."""
    return matching(name, choices(run), partial(numbers_of, run), untaken(run))


def numbers_of(run: Run, choice: Choice) -> np.ndarray:
    """The numbers of a value, in the order in which they came."""
    return run.store.series(choice.site.id, choice.value)[2]


def untaken(run: Run) -> Untaken:
    """What is watched and has never been taken."""
    taken = {site.id for site in run.sites}
    watch = run.options.watch
    seldom = "it has not been computed (a branch that was not taken, a loop without steps, a program that ended before)"
    why = f"`{watch.when}` has not held there" if watch and watch.when else seldom
    sites = sorted((site for site in run.watched if site.id not in taken), key=lambda site: (site.where, site.label))
    found = [Choice(site, index) for site in sites for index in range(len(site.values))]
    seen = run.watch_seen()
    return Untaken(found, why, partial(why_unwatched, seen=seen) if seen else says_nothing)
