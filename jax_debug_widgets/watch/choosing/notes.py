"""Write notes for the user of a watch: names that match nothing, programs that run unwatched, and why."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from jax_debug_widgets.watch.choosing import lanes
from jax_debug_widgets.watch.choosing.condition import Condition
from jax_debug_widgets.watch.choosing.select import some_of, unmatched
from jax_debug_widgets.watch.choosing.why_unwatched import in_library, without_values
from jax_debug_widgets.watch.statistics.full_values import MAX_ELEMENTS, sample_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.watch.choosing.compile_report import CompiledPrograms
    from jax_debug_widgets.watch.choosing.select import Watch

UNCOMPILED = (
    "Nothing is watched: no function was compiled here; what is un-jitted, or compiled ahead of time, has no names."
)

HINDERED = (
    "Something else traces Python's lines here (a debugger, or what measures coverage), so that nobody could note what they "
    "assign: where a statement assigns several values, or calls your functions, some have no names."
)


def notes_of(seen: CompiledPrograms, watch: Watch, sites: Collection[CallSite]) -> list[str]:
    """Return the notes for the user: patterns that matched none of these sites, programs that run unwatched, and so on."""
    numbers = {site.id for site in sites}
    missing = not_found(seen, watch, sites)
    if missing == [UNCOMPILED]:
        return missing
    return [
        *missing,
        *_of_condition(watch, seen),
        *_of_loops(seen, sites),
        *([] if seen.hindered.isdisjoint(numbers) else [HINDERED]),
        *lanes.note(seen.laneless, sites),
        *_of_ended_lanes(sites),
        *_of_samples(sites),
        *(f"{name} runs unwatched: {failure.why}" for name, failure in seen.failures.items()),
    ]


def _of_ended_lanes(sites: Collection[CallSite]) -> list[str]:
    """Return a sentence about values whose statistics count lanes that have left their loop."""
    names = [site.label for site in sites if site.watch and site.watch.has_ended_lanes]
    if not names:
        return []
    why = "under `vmap` JAX computes a `while_loop` for all lanes until the last one has left it."
    return [
        f"Statistics of {some_of(names)} count lanes that have left their loop, too: {why} `--lanes` shows each lane."
    ]


def _of_samples(sites: Collection[CallSite]) -> list[str]:
    """Return a sentence about large values that are sampled."""
    shapes = {site.label: site.watch.shape for site in sites if site.watch and site.watch.full}
    large = {name: words for name, shape in shapes.items() if (words := sample_text(shape))}
    if not large:
        return []
    first, words = next(iter(large.items()))
    why = f"an array that is taken whole has at most {MAX_ELEMENTS:,} elements. Statistics are of all elements."
    return [f"--values takes a sample of {some_of(large)} (of {first} {words}): {why}"]


def not_found(seen: CompiledPrograms, watch: Watch, sites: Collection[CallSite]) -> list[str]:
    """Return a sentence for each pattern that matched none of these sites, or one sentence if nothing is watched at all."""
    numbers = {site.id for site in sites}
    if not (sites or seen.failures or seen.untaken) and (watch.everything or watch.ops or not seen.functions):
        return [UNCOMPILED]

    def is_missing(name: str) -> bool:
        found = seen.matched.get(name)
        is_elsewhere = bool(found) and numbers.isdisjoint(found) and name not in seen.unasked
        return found is None or is_elsewhere

    missing = [name for name in watch.names if is_missing(name)] if not seen.failures else []
    explained = {name: why for name in missing if (why := no_values(seen, name))}
    return [
        *unmatched([name for name in missing if name not in explained], seen.names, seen.scopes, seen.primitives),
        *explained.values(),
    ]


def no_values(seen: CompiledPrograms | None, name: str) -> str:
    """Return a sentence about why a name has no values; empty if that is not known, or nothing is watched.

    The result of `why_unwatched.without_values` is cached: notes are requested while programs run.
    """
    if seen is None:
        return ""
    key = name, len(seen.functions) + len(seen.places) + len(seen.keys)
    if key not in seen.reasons:
        seen.reasons[key] = without_values(name, seen) or in_library(name, seen)
    return seen.reasons[key]


def _of_condition(watch: Watch, seen: CompiledPrograms) -> list[str]:
    """Return a sentence about values that are never taken because their body does not have all names of the condition."""
    if not (watch.when and seen.untaken):
        return []
    names = Condition(watch.when).names
    unknown = [name for name in names if name not in seen.names]
    elsewhere = f"computed in other functions or loop bodies than what `{watch.when}` names."
    if seen.conditional:
        return [f"Not taken: {some_of(seen.untaken)}, {elsewhere}"]
    if not unknown:
        if len(names) > 1:
            return [f"Nothing is taken: no function or loop body computes all of {', '.join(names)}."]
        return [f"Nothing is taken: what is watched ({some_of(seen.untaken)}) is {elsewhere}"]
    names = " and ".join(_in_full(name, watch.when) for name in unknown)
    missing = f"Nothing is taken: no function or loop body compiled here computes {names}, which `{watch.when}` names."
    near = [close for name in unknown for close in difflib.get_close_matches(name, seen.names, n=1)]
    hint = f" Did you mean {' and '.join(map(repr, near))}?" if near else ""
    hint += " The gradient of h is written grad.h." if "grad" in unknown and "grad." not in watch.when else ""
    return [f"{missing}{hint} There are: {some_of(seen.names)}."]


def _in_full(name: str, text: str) -> str:
    """Return the name as a condition writes it: `grad.h`, not `grad`."""
    found = re.search(rf"\b{re.escape(name)}\.\w+", text) if name == "grad" else None
    return found[0] if found else name


def _of_loops(seen: CompiledPrograms, sites: Collection[CallSite]) -> list[str]:
    """Return a sentence about values in conditions of loops, which stay unwatched."""
    left = seen.unasked.keys() - {site.label for site in sites if site.watch}
    if not left:
        return []
    why = "which a loop asks more often where it is sampled (--every), or where its lanes end one by one beside prints"
    return [f"Not taken: {some_of(left)}, in the condition of a `while`, {why}."]
