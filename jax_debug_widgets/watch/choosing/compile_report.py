"""What was found in the programs that were compiled for a watch, and what its user should know of that."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.watch.choosing import lanes
from jax_debug_widgets.watch.choosing.condition import Condition
from jax_debug_widgets.watch.choosing.select import some_of, unmatched
from jax_debug_widgets.watch.choosing.why_unwatched import in_library, without_values

if TYPE_CHECKING:
    from collections.abc import Collection

    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.watch.choosing.price import Work
    from jax_debug_widgets.watch.choosing.select import Watch
    from jax_debug_widgets.watch.syntax.statements import Span


UNCOMPILED = (
    "Nothing is watched: no function was compiled here; what is un-jitted, or compiled ahead of time, has no names."
)

HINDERED = (
    "Something else traces Python's lines here (a debugger, or what measures coverage), so that nobody could note what they "
    "assign: where a statement assigns several values, or calls your functions, some have no names."
)


@dataclass
class Seen:
    """What was found in the programs compiled for one `Watch`.

    Attributes:
      names: all that has a name there; `scopes`, `primitives`: the named scopes and primitives of all values, where some
        pattern was no name.
      places: file, range and name of each value that has one there, and whether it is watched.
      keys: file, range and name of each argument that is a typed PRNG key.
      mingled: file and range of what computes several values of which nothing tells which name they have.
      functions: file and name of each function that was traced for them.
      matched: pattern -> the sites of the values that it has found; none where all are untaken.
      hindered: the sites of programs that were traced while something else had Python's lines.
      conditional: whether a body has all that the condition names; `untaken`: what is in bodies that have not.
      unasked: what is in conditions of loops that cannot be watched.
      failures: programs that could not be watched, and why.
      laneless: what was asked for by lane and has none that are known.
      sites: by the identity of a value, see `watch.names.Named`, with its file, range and name its site; None where JAX runs
        one body several times.
      carried: in the same way what an iteration of a loop was given by the one before.
      works: by the number of a site what its program computes, and what watching adds.
    """

    names: dict[str, None] = field(default_factory=dict)
    scopes: dict[str, None] = field(default_factory=dict)
    primitives: dict[str, None] = field(default_factory=dict)
    places: dict[tuple[str, Span, str], bool] = field(default_factory=dict)
    keys: set[tuple[str, Span, str]] = field(default_factory=set)
    mingled: set[tuple[str, Span]] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    matched: dict[str, set[int]] = field(default_factory=dict)
    hindered: set[int] = field(default_factory=set)
    conditional: bool = False
    untaken: dict[str, None] = field(default_factory=dict)
    unasked: dict[str, None] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    laneless: dict[str, None] = field(default_factory=dict)
    sites: dict[Any, CallSite | None] = field(default_factory=dict)
    carried: set[Any] = field(default_factory=set)
    works: dict[int, Work] = field(default_factory=dict)
    _reasons: dict[tuple[str, int], str] = field(default_factory=dict)

    def notes(self, watch: Watch, sites: Collection[CallSite]) -> list[str]:
        """What its user should know: patterns that have found none of these sites, programs that run unwatched, and so on."""
        numbers = {site.id for site in sites}
        if not (sites or self.failures) and (watch.everything or watch.ops or not self.functions):
            return [UNCOMPILED]

        def is_missing(name: str) -> bool:
            found = self.matched.get(name)
            is_elsewhere = bool(found) and numbers.isdisjoint(found) and name not in self.unasked
            return found is None or is_elsewhere

        missing = [name for name in watch.names if is_missing(name)] if not self.failures else []
        told = {name: why for name in missing if (why := self._why_without_values(name))}
        return [
            *unmatched([name for name in missing if name not in told], self.names, self.scopes, self.primitives),
            *told.values(),
            *_of_condition(watch, self),
            *_of_loops(self, sites),
            *([] if self.hindered.isdisjoint(numbers) else [HINDERED]),
            *lanes.note(self.laneless, sites),
            *(
                f"{name} runs unwatched, with its taps it could not be compiled: {why}"
                for name, why in self.failures.items()
            ),
        ]

    def _why_without_values(self, name: str) -> str:
        """See `told.without_values`; notes are asked for while programs run, so that is looked up once."""
        key = name, len(self.functions) + len(self.places) + len(self.keys)
        if key not in self._reasons:
            self._reasons[key] = without_values(name, self) or in_library(name, self)
        return self._reasons[key]


def _of_condition(watch: Watch, seen: Seen) -> list[str]:
    """Values that are never taken because the condition cannot be looked at beside them."""
    if not (watch.when and seen.untaken):
        return []
    if not seen.conditional:
        names = Condition(watch.when).names
        told = " and ".join(names)
        missing = f"Nothing is taken: no function or loop body compiled here computes {told}, by which `{watch.when}`"
        unknown = [name for name in names if name not in seen.names]
        near = [close for name in unknown for close in difflib.get_close_matches(name, seen.names, n=1)]
        hint = f" Did you mean {' and '.join(map(repr, near))}?" if near else ""
        return [f"{missing} is told.{hint} There are: {some_of(seen.names)}."]
    return [
        f"Not taken: {some_of(seen.untaken)}, computed in other functions or loop bodies than what `{watch.when}` names."
    ]


def _of_loops(seen: Seen, sites: Collection[CallSite]) -> list[str]:
    """Values in conditions of loops that are left as they are."""
    left = seen.unasked.keys() - {site.label for site in sites if site.watch}
    if not left:
        return []
    why = "which a loop asks more often where it is sampled (--every), or where its lanes end one by one beside prints"
    return [f"Not taken: {some_of(left)}, in the condition of a `while`, {why}."]
