"""Define the commands of `%jaxdebug` that list and switch sites: `sites`, `mute`, `unmute`, `every`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from jax_debug_widgets.checks import named_now
from jax_debug_widgets.checks import options as check_names
from jax_debug_widgets.magics.sites import table_of, words_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.switches import Switches


def print_sites(switches: Switches) -> None:
    """Print the sites that have fired, with their numbers and states."""
    sites = switches.sites()
    print(
        table_of(sites, switches.muted(), switches.sampled())
        if sites
        else "jaxdebug: no print, callback or watched value has run yet"
    )


def sample(switches: Switches, rest: str) -> None:
    """Record one firing of n of some sites: `10 loss`.

    Raises:
      UsageError: a number or a site is missing, or there is no such site.
    """
    every, *words = words_of(rest) or [""]
    if not words or not every.isdecimal():
        raise UsageError(
            "jaxdebug: say how often, and which call site: `%jaxdebug every 10 loss` records every 10th execution of "
            "the call site `loss`; `%jaxdebug sites` lists them"
        )
    _for_sites(switches, words, lambda number: switches.sample(number, int(every)), f"every {every}")


def mute(switches: Switches, rest: str, *, muted: bool) -> None:
    """Mute sites and checks, or record them again: `3`, `loss`, `check:oob`.

    Raises:
      UsageError: no site is named, or there is no such site or check.
    """
    word = "mute" if muted else "unmute"
    words = words_of(rest)
    if not words:
        raise UsageError(
            f"jaxdebug: say which call site, by number, name or place: `%jaxdebug {word} 3`; `%jaxdebug sites` lists them"
        )
    sites = []
    is_after_check = False
    for one in words:
        kind, _, name = one.partition(":")
        # `check:oob,casts` comes as two words.
        is_after_check = (kind == "check" and bool(name)) or (is_after_check and named_now(one) in check_names())
        if not is_after_check:
            sites.append(one)
            continue
        try:
            switches.mute_check(name or one, muted=muted)
        except KeyError as error:
            raise UsageError(f"jaxdebug: {error.args[0]}") from None
        print(f"jaxdebug: {word}d: check:{named_now(name or one)}")
    _for_sites(switches, sites, lambda number: switches.mute(number, muted=muted), f"{word}d")


def _for_sites(switches: Switches, words: list[str], switch: Callable[[int], None], done: str) -> None:
    """Switch all sites that the words mean, and print them. If one word means no site, switch none."""
    sites = {site.id: site for site in switches.sites()}
    try:
        found = {word: switches.called(word) for word in words}
        for number in [number for numbers in found.values() for number in numbers]:
            switch(number)
            print(f"jaxdebug: {done}: {number}  {sites[number].where}  {sites[number].label}")
    except (KeyError, ValueError) as error:
        raise UsageError(f"jaxdebug: {error.args[0]}") from None
    for word, numbers in found.items():
        if len(places := list(dict.fromkeys(sites[number].where for number in numbers))) > 1:
            print(f"jaxdebug: {word} is at {len(places)} places; {word}@{places[0]} names only the one there")
