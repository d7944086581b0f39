"""What a run has watched, by name, and what the browser asks of it."""

from __future__ import annotations

import difflib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events import NO_VALUE
from jax_debug_widgets.session.added import bare
from jax_debug_widgets.session.run.by_name import choices, untaken
from jax_debug_widgets.session.run.gradients import gradients_of
from jax_debug_widgets.session.run.naming import are_same, as_name, leaves_of
from jax_debug_widgets.session.run.watched_value import WatchedValue
from jax_debug_widgets.transport import reply
from jax_debug_widgets.watch import BY_LANE, LANES, is_library, named_places

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.session import Session


class WatchedValues(Mapping[str, WatchedValue]):
    """The watched values of a run: by name where that is at one place, `logits@model.py:12` where at several.

    Of a line that Python's loops run several times in one program each execution is a value: `x@model.py:12#2`, whose
    gradient is `grad/x@model.py:12#2`.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def sites(self) -> dict[str, CallSite]:
        """Each site by its shortest name that is its own; the forward pass comes first.

        Gradients come backwards: what a loop in Python unrolled has that of its last execution first. They have the number
        of their value. Where several derivatives are taken for one value they come in the order of these.
        """
        sites = [site for site in self._run.sites if site.watch is not None]
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
                # A gradient whose value has no site has no number of another value's.
                others = f"{site.watch.name}@{site.where}" if site.watch and site.watch.value == NO_VALUE else name
                numbers_of_all = (f"#{n}" for n in itertools.count(1))
                number = next(n for n in numbers_of_all if name + n not in found and others + n not in found)
                name, numbers[site.id] = f"{name}{number}", number
            found[name] = site
        return found

    def __contains__(self, name: object) -> bool:
        """Whether any is called so; of several `values[name]` asks which."""
        return bool(_called(name, self.sites()))

    def __getitem__(self, name: str) -> WatchedValue:
        sites = self.sites()
        found = _called(as_name(name), sites)
        if len(found) == 1 or name in found:
            return WatchedValue(self._run, found.get(name) or next(iter(found.values())))
        if found and len({site.values for site in found.values()}) == 1:
            first, *_ = values = [WatchedValue(self._run, site) for site in found.values()]
            if all(are_same([value[kind] for value in values]) for kind in first):
                return first
        if found:
            raise KeyError(f"{name!r} is watched at several places; say which: {', '.join(found)}")
        if leaves := leaves_of(name, (site.label for site in sites.values())):
            raise KeyError(f"{name!r} is a tree, of which there are {', '.join(leaves)}")
        is_captured = any(name in choice.names for choice in choices(self._run))
        hint = f". What is printed and called back of it: run.series({name!r})" if is_captured else ""
        if self._run.options.watch is None:
            how = f"ask for it with --watch {name}, or watch={name!r}"
            raise KeyError(f"{name!r} is not watched, nor is anything else in this run: {how}{hint}")
        never = untaken(self._run)
        if said := never.said_of(name):
            raise KeyError(f"{said.removesuffix('.')}{hint}")
        if said := _said_of_part(name, sites):
            raise KeyError(said)
        if gradients := _called(f"grad/{name}", sites):
            raise KeyError(
                f"{name!r} has no value in this run, and a gradient: {', '.join(gradients)}. It is what is there already by "
                "another name, or nothing but what the derivative computes uses it, and JAX leaves it out"
            )
        near = difflib.get_close_matches(name, [*sites, *never.labels], n=3) or list(sites)
        raise KeyError(
            f"{name!r} is not watched in this run; there are {', '.join(near[:20]) or 'no watched values'}{hint}"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.sites())

    def __len__(self) -> int:
        return len(self.sites())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {value!r}" for name, value in self.items()) or "<no watched values>"


def _said_of_part(name: str, sites: Mapping[str, CallSite]) -> str:
    """What to write for `h.mean` or `h.lanes`; empty for what is no statistic or property of a watched value."""
    own, _, part = name.rpartition(".")
    values = next((site.values for full, site in sites.items() if own in (full, site.label)), ())
    if part in values and part != LANES:
        return f"{name!r} is a statistic of a watched value: write run[{own!r}][{part!r}]"
    is_property = bool(values) and isinstance(getattr(WatchedValue, part, None), property)
    return f"{name!r} is told of a watched value: write run[{own!r}].{part}" if is_property else ""


def _called(name: object, sites: Mapping[str, CallSite]) -> dict[str, CallSite]:
    return {own: site for own, site in sites.items() if name in (own, site.label, f"{site.label}@{site.where}")}


def answer_watch(session: Session, run: Run, number: int, request: Mapping[str, Any]) -> Message:
    """The answer to `source` or `watch`.

    Raises:
      LookupError: there is nothing of what was asked for; the message says why.
    """
    if request["type"] == "source":
        return _source(run, number, str(request["file"]))
    return _switch(session, run, number, [str(name) for name in request["names"]], on=bool(request["on"]))


def _source(run: Run, request: int, file: str) -> Message:
    if file not in {site.file for site in run.store.sites()}:
        raise LookupError(f"nothing of this run comes from {file!r}")
    source, places = named_places(file, run.watch_seen())
    if not source.lines:
        raise LookupError(f"the source of {run.name_file(file)} is not to be had")
    message = reply(
        "source",
        run.key,
        request,
        file=file,
        where=run.name_file(file),
        first_line=1,
        lines=[line.rstrip("\r\n") for line in source.lines],
        functions=[{"name": one.name, "first": one.first, "last": one.last} for one in source.functions],
        names=[
            {**one.span._asdict(), "name": one.name, "why": one.why, "pattern": one.pattern(file), "root": one.root}
            for one in places
        ],
    )
    return message, b""


def _switch(session: Session, run: Run, request: int, names: list[str], *, on: bool) -> Message:
    sites = _watched_as(names, run.store.sites())
    for site in sites:
        session.switches.mute(site.id, muted=not on)
    if not on:
        for name in names:
            session.added.discard(name)
        return reply("done", run.key, request, sites=[site.id for site in sites]), b""
    missing = [name for name in names if name not in {site.watch.name for site in sites if site.watch}]
    again = [one for one in (run.options.watch.added if run.options.watch else ()) if bare(one) in names]
    for pattern in (*missing, *again):
        session.added.add(_in_its_file(pattern, run.store.sites()))
    # What an earlier run has had of it may have been switched off.
    for site in _watched_as(map(bare, missing), session.switches.sites()):
        session.switches.mute(site.id, muted=False)
    return reply("done", run.key, request, sites=[site.id for site in sites]), b""


def _in_its_file(pattern: str, sites: Iterable[CallSite]) -> str:
    """`lanes/h` where `h` is of the user's files; those of a library are watched where it is named."""
    files = [site.file for site in sites if site.watch and pattern == f"{BY_LANE}{site.watch.name}"]
    return f"{pattern}@{files[0]}" if files and all(map(is_library, files)) else pattern


def _watched_as(names: Iterable[str], sites: Iterable[CallSite]) -> list[CallSite]:
    wanted = set(names)
    return [site for site in sites if site.watch is not None and site.watch.name in wanted]
