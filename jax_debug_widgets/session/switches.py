"""Mute and sample call sites while programs run, without recompiling."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from jax_debug_widgets.checks import named_now, options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.taps.sites import SiteBook, Switch


class Switches:
    """Switches the sites that the runs of a session know. A site has one switch in a process, for all its runs."""

    def __init__(
        self,
        book: SiteBook,
        collect: Callable[[], None],
        runs: Callable[[], Iterable[Run]],
        recording: Callable[[], Iterable[Run]],
    ) -> None:
        """Switch the sites in `book`.

        Args:
          collect: moves firings into the stores.
          runs: returns all known runs.
          recording: returns the runs that firings may still come to.
        """
        self._collect, self._runs, self._recording = collect, runs, recording
        self._book = book
        self._muted_checks: set[str] = set()

    def sites(self) -> list[CallSite]:
        """Return the sites of all runs in the order of their ids: those that have fired and those that have not."""
        self._collect()
        runs = list(self._runs())
        sites = {number: site for run in runs for number, site in run.dispatched.items() if not site.watch}
        sites |= {site.id: site for run in runs for site in run.store.sites()}
        return [sites[number] for number in sorted(sites)]

    def called(self, word: str) -> list[int]:
        """Return the ids of the sites that `word` means.

        A word is an id, a place (`train.py:41`), a label or a value's expression. `h@train.py:41` means the label or
        expression at one place only.

        Raises:
          KeyError: the word means no site.
        """
        names = {site.id: (site.where, site.label, *site.values) for site in self.sites()}
        found = [
            number
            for number, (where, *own) in names.items()
            if word in (str(number), where, *own, *(f"{name}@{where}" for name in own))
        ]
        if not found:
            what = "has the number" if word.isdecimal() else "is called"
            near = difflib.get_close_matches(word, sorted({name for own in names.values() for name in own}), n=1)
            suggestion = f" Did you mean {near[0]}?" if near else ""
            msg = f"no call site {what} {word}.{suggestion} `%jaxdebug sites` lists them"
            raise KeyError(msg)
        return found

    def muted(self) -> frozenset[int]:
        """Return the ids of the muted sites."""
        return self._book.muted()

    def muted_checks(self) -> frozenset[str]:
        """Return the names of the checks with hidden findings."""
        return frozenset(self._muted_checks)

    def mute_check(self, name: str, *, muted: bool) -> None:
        """Hide the findings of a check; with `muted=False`, show them again.

        Raises:
          KeyError: there is no such check.
        """
        own = named_now(name)
        if own not in options():
            msg = f"there is no check {name}; there are {', '.join(options())}"
            raise KeyError(msg)
        (self._muted_checks.add if muted else self._muted_checks.discard)(own)

    def mute(self, site_id: int, *, muted: bool) -> None:
        """Stop recording a site in all programs that contain it; with `muted=False`, record it again.

        Raises:
          KeyError: there is no such site.
        """
        self._switch_of(site_id).mute(muted=muted)
        self._switched(site_id)

    def sampled(self) -> dict[int, int]:
        """Return the sites for which `sample` set one firing of n to be recorded: id -> n."""
        return self._book.sampled()

    def sample(self, site_id: int, every: int | None) -> None:
        """Record one firing of `every` of a site, from now on, in all programs that contain it.

        Args:
          site_id: the id of the site.
          every: 1 for all firings, None for the setting of the capture (`--every`).

        Raises:
          KeyError: there is no such site.
          ValueError: `every` is less than 1.
        """
        if every is not None and every < 1:
            msg = f"every must be at least 1, got {every}"
            raise ValueError(msg)
        self._switch_of(site_id).sample(every)
        self._switched(site_id)

    def _switch_of(self, site_id: int) -> Switch:
        if site_id not in {site.id for site in self.sites()}:
            msg = f"no call site has the number {site_id}; `%jaxdebug sites` lists them"
            raise KeyError(msg)
        return self._book.switch_of(site_id)

    def _switched(self, site_id: int) -> None:
        plain, every = site_id not in self._book.changed(), self.sampled().get(site_id)
        for run in self._recording():
            run.switched(site_id, plain=plain, every=every)
