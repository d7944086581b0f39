"""Give access to the watched values of a run by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from jax_debug_widgets.events.identifiers import as_python_has
from jax_debug_widgets.session.run.by_name import choices, untaken, watched_sites
from jax_debug_widgets.session.run.naming import are_same, as_name, leaves_of
from jax_debug_widgets.session.run.watched_value import WatchedValue
from jax_debug_widgets.watch import LANES

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.session.run.ports import Values

_MOST = 20
"""The most names that an error lists."""


class WatchedValues(Mapping[str, WatchedValue]):
    """The watched values of a run by name: `logits`, or `logits@model.py:12` if several places have this name.

    If a Python loop runs a line several times in one program, each execution is a value: `x@model.py:12#2`. Its gradient is
    `grad/x@model.py:12#2`.
    """

    def __init__(self, run: Values) -> None:
        self._run = run

    def sites(self) -> dict[str, CallSite]:
        """Return shortest unique name -> site; the forward pass comes first."""
        return watched_sites(self._run)

    def __contains__(self, name: object) -> bool:
        """Whether any value has this name. If several have it, `values[name]` raises an error that lists them."""
        sites = self.sites()
        return bool(_called(name, sites) or (isinstance(name, str) and _called(as_python_has(name), sites)))

    def __getitem__(self, name: str) -> WatchedValue:
        sites, name = self.sites(), as_name(name)
        name = name if _called(name, sites) else as_python_has(name)
        found = self._without_copies(_called(name, sites))
        if len(found) == 1 or name in found:
            return WatchedValue(self._run, found.get(name) or next(iter(found.values())))
        if found and self._are_same(found):
            return WatchedValue(self._run, next(iter(found.values())))
        if found:
            raise KeyError(f"{name!r} is watched at several places; say which: {', '.join(found)}")
        if leaves := leaves_of(name, (site.label for site in sites.values())):
            raise KeyError(f"{name!r} is a tree; its leaves are {', '.join(leaves)}")
        is_captured = any(name in choice.names for choice in choices(self._run))
        hint = f". What is printed and called back of it: run.series({name!r})" if is_captured else ""
        if self._run.options.watch is None:
            how = f"ask for it with --watch {name}, or watch={name!r}"
            raise KeyError(f"{name!r} is not watched, nor is anything else in this run: {how}{hint}")
        never = untaken(self._run)
        if why := never.about(name):
            raise KeyError(f"{why.removesuffix('.')}{hint}")
        if why := _about_part(name, sites):
            raise KeyError(why)
        if gradients := _called(f"grad/{name}", sites):
            raise KeyError(
                f"{name!r} has no value in this run, but a gradient: {', '.join(gradients)}. Either it is recorded "
                "under another name, or only the derivative uses it, and JAX removes it from the program"
            )
        near = difflib.get_close_matches(name, [*sites, *never.labels], n=3)
        suggestion = f"did you mean {' or '.join(near)}? " if near else ""
        known = ", ".join(list(sites)[:_MOST]) + (", …" if len(sites) > _MOST else "")
        raise KeyError(
            f"{name!r} is not watched in this run; {suggestion}there are {known or 'no watched values'}{hint}"
        )

    def of_each_process(self, name: str) -> list[str]:
        """Return the names of a value in all processes, if it differs between them; else its own name."""
        found = self._without_copies(_called(name, self.sites()))
        is_one_each = len({site.process for site in found.values()}) == len(found)
        return [*found] if len(found) > 1 and is_one_each and not self._are_same(found) else [name]

    def _without_copies(self, sites: dict[str, CallSite]) -> dict[str, CallSite]:
        """Return the one site if the others are its copies in other processes; else all sites."""
        single = {name: site for name, site in sites.items() if site.id not in self._run.copies}
        return single if len(single) == 1 else sites

    def _are_same(self, sites: Mapping[str, CallSite]) -> bool:
        first, *_ = values = [WatchedValue(self._run, site) for site in sites.values()]
        return len({site.values for site in sites.values()}) == 1 and all(
            are_same([value[kind] for value in values]) for kind in first
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.sites())

    def __len__(self) -> int:
        return len(self.sites())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {value!r}" for name, value in self.items()) or "<no watched values>"


def _about_part(name: str, sites: Mapping[str, CallSite]) -> str:
    """Say what to write for `h.mean` or `h.lanes`; empty if it is not a statistic or property of a watched value."""
    own, _, part = name.rpartition(".")
    values = next((site.values for full, site in sites.items() if own in (full, site.label)), ())
    if part in values and part != LANES:
        return f"{name!r} is a statistic of a watched value: write run[{own!r}][{part!r}]"
    is_property = bool(values) and isinstance(getattr(WatchedValue, part, None), property)
    return f"{name!r} belongs to a watched value: write run[{own!r}].{part}" if is_property else ""


def _called(name: object, sites: Mapping[str, CallSite]) -> dict[str, CallSite]:
    return {own: site for own, site in sites.items() if name in (own, site.label, f"{site.label}@{site.where}")}
