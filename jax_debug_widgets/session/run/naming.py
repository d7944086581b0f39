"""Find the value that the user means by a name."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jax_debug_widgets.events import CallSite, distinguishing_texts
from jax_debug_widgets.events.identifiers import as_python_has, is_like
from jax_debug_widgets.session.run.gradients import gradients_of

_PATH = re.compile(r"(\[[^\]()]*\]|\.\w+)+")
"""The pattern of a leaf's path in its tree: `['layers'][0].weight`."""


@dataclass(frozen=True)
class SelectedValue:
    """The value with the index `value` of a site."""

    site: CallSite
    value: int

    @property
    def name(self) -> str:
        """The source expression; for a watched value, with the statistic."""
        name = self.site.values[self.value]
        if self.site.watch is None:
            return name
        return self.site.label if name == "value" else f"{self.site.label}.{name}"

    @property
    def place(self) -> str:
        """The source expression and the place, with the phase if it is not the forward pass."""
        phase = "" if self.site.phase == "forward" else f" ({self.site.phase})"
        return f"{self.name}@{self.site.where}{phase}"

    @property
    def alias(self) -> str:
        """The other name of the value: the keyword that it was passed as, or the expression."""
        return self.site.aliases[self.value] if self.value < len(self.site.aliases) else ""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the value, the most specific first."""
        own = (self.place, f"{self.name}@{self.site.where}", self.name, self.alias)
        watch = self.site.watch
        if watch is not None:
            is_norm = watch.role == "gradient" and self.site.values[self.value] in ("l2", "value")
            return (*own, f"grad_norm/{watch.name}") if is_norm else own
        return (*own, self.site.label) if len(self.site.values) == 1 else own


def no_reason(_name: str) -> str:
    """Return an empty text: nothing is known about a name."""
    return ""


@dataclass(frozen=True)
class UnavailableValues:
    """The watched values of a run that were never recorded, and why.

    Attributes:
      unwatched: name -> why the run does not watch a value that the source has; returns an empty text if that is not known.
    """

    choices: Sequence[SelectedValue] = ()
    why: str = ""
    unwatched: Callable[[str], str] = no_reason

    def about(self, pattern: str) -> str:
        """Return what is known about the values that a name or pattern finds; empty if it finds none."""
        found = {
            f"{one.site.label!r} ({one.site.where})": None
            for one in self.choices
            if any(is_like(own, pattern) for own in _asked(one) if own)
        }
        verb = "is" if len(found) == 1 else "are"
        has = "has" if len(found) == 1 else "have"
        return (
            f"{', '.join(found)} {verb} watched and {has} no values: {self.why}" if found else self.unwatched(pattern)
        )

    @property
    def labels(self) -> list[str]:
        """The labels of all values."""
        return sorted({one.site.label for one in self.choices})


NOTHING_UNTAKEN = UnavailableValues()


def _asked(choice: SelectedValue) -> tuple[str, ...]:
    return (*choice.names, choice.site.label, f"{choice.site.label}@{choice.site.where}")


def full_names(choices: Sequence[SelectedValue]) -> list[str]:
    """Return the names of values. Equal ones get their caller, `h · model.py:41`, or their process, `loss · process 1`."""
    return _with_callers(choices, [choice.name for choice in choices])


def matching(
    pattern: str,
    choices: Sequence[SelectedValue],
    read: Callable[[SelectedValue], np.ndarray] | None = None,
    untaken: UnavailableValues = NOTHING_UNTAKEN,
) -> list[SelectedValue]:
    """Return the values that a pattern finds (`grad_norm/*`), or the value with this name.

    Raises:
      KeyError, TypeError: see `choose`.
    """
    pattern = _as_captured(as_name(pattern), choices)
    if not any(sign in pattern for sign in "*?"):
        try:
            return [choose(pattern, choices, read, untaken)]
        except KeyError:
            if each := _of_each_process(pattern, choices):
                return each
            raise
    found = [one for one in choices if any(is_like(own, pattern) for own in one.names if own)]
    return found or [choose(pattern, choices, read, untaken)]


def _of_each_process(name: str, choices: Sequence[SelectedValue]) -> list[SelectedValue]:
    """Return the values with this name, if each process has at most one; else none."""
    found = [one for one in choices if name in one.names]
    return found if len({one.site.process for one in found}) == len(found) else []


def choose(
    name: str,
    choices: Sequence[SelectedValue],
    read: Callable[[SelectedValue], np.ndarray] | None = None,
    untaken: UnavailableValues = NOTHING_UNTAKEN,
) -> SelectedValue:
    """Return the value called `name`. Of several, return the one in the forward pass, or the first one if all are equal.

    Args:
      read: returns the numbers of a watched value, for comparison. A function's result often has the same name in its caller.
      untaken: the watched values without recorded values.

    Raises:
      KeyError: no value has the name, or several places have it; the message lists the names. TypeError: it is not a name.
    """
    name = _as_captured(as_name(name), choices)
    plain, _, number = name.partition("#")
    kinds = max((len(choice.names) for choice in choices), default=0)
    names = [[choice.names[kind] if kind < len(choice.names) else "" for choice in choices] for kind in range(kinds)]
    # A line that is called from several places has a value for each.
    for kind in [*(_with_callers(choices, names[index]) for index in (0, 2, 3) if names), *names]:
        found = [choice for choice, called in zip(choices, kind, strict=True) if plain and called == plain]
        numbered = _numbered(found, choices)
        chosen = _watched_among(list(numbered.values()))
        if number.isdecimal() and int(number) in numbered:
            return numbered[int(number)]
        # An expression that one call passes twice is one value.
        if len({choice.site.id for choice in chosen}) == 1:
            return chosen[0]
        are_watched = all(choice.site.watch is not None for choice in chosen)
        is_one_a_process = len({choice.site.process for choice in chosen}) == len(chosen)
        may_be_one = bool(chosen) and (are_watched or is_one_a_process)
        if may_be_one and read is not None and are_same([read(choice) for choice in chosen]):
            return chosen[0]
        if chosen:
            msg = f"{name!r} is captured at several places; say which: {', '.join(_distinct_names(numbered))}"
            raise KeyError(msg)
    raise KeyError(_why_absent(name, choices, untaken))


def _why_absent(name: str, choices: Sequence[SelectedValue], untaken: UnavailableValues) -> str:
    """Return why no captured value is called `name`, with the names that exist."""
    watched = dict.fromkeys(one.name for one in choices if one.site.watch is not None and one.site.label == name)
    if watched:
        there_are = ", ".join(watched)
        return f"of {name!r} there are {there_are}; the whole array only where it was asked for (--values, values=True)"
    leaves = leaves_of(name, (choice.site.label for choice in choices if choice.site.watch))
    if leaves:
        return f"{name!r} is a tree; its leaves are {', '.join(leaves)}; a pattern asks for several: {name + '*.l2'!r}"
    if why := untaken.about(name):
        return why
    # A watched value is listed by its name only, because it has nine statistics.
    known = sorted({choice.site.label if choice.site.watch else _listed(choice) for choice in choices})
    near = difflib.get_close_matches(
        name, [*sorted({n for one in choices for n in one.names if n}), *untaken.labels], n=1
    )
    hint = f" Did you mean {near[0]!r}?" if near else ""
    without = f"; watched and without values: {', '.join(untaken.labels)}" if untaken.labels else ""
    return f"no captured value is called {name!r}.{hint} There are: {', '.join(known) or 'none'}{without}"


def _watched_among(choices: list[SelectedValue]) -> list[SelectedValue]:
    """Return only the watched values of a name that is printed and watched, as `run[name]` does; all if none is watched."""
    return [choice for choice in choices if choice.site.watch is not None] or choices


def as_name(name: object) -> str:
    """Return a name that the user passed, after checking it.

    Raises:
      TypeError: it is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"a value is asked for by its name, in a string ('loss'), not by {name!r}; events by their number: run.events[0]"
        )
    return name


def _as_captured(name: str, choices: Sequence[SelectedValue]) -> str:
    """Return a name in the form that the run has: as written for a print, normalised by Python for a watched value."""
    own, *_ = name.partition("#")
    is_written = own.isascii() or any(own in one.names for one in choices)
    return name if is_written else as_python_has(name)


def are_same(values: Sequence[np.ndarray]) -> bool:
    """Whether watched values of the same name have the same numbers each time."""
    first, *rest = values
    return all(
        first.shape == one.shape and np.array_equal(first, one, equal_nan=first.dtype.kind in "fc") for one in rest
    )


def leaves_of(name: str, labels: Iterable[str]) -> list[str]:
    """Return the labels that are parts of a tree with this name: `params['w']`, `state.step`."""
    return [one for one in dict.fromkeys(labels) if one.startswith(name) and _PATH.fullmatch(one, len(name))]


def _listed(choice: SelectedValue) -> str:
    return f"{choice.name} ({choice.alias})" if choice.alias not in ("", choice.name) else choice.name


def _numbered(found: Sequence[SelectedValue], choices: Sequence[SelectedValue]) -> dict[int, SelectedValue]:
    """Return number of an execution -> value, for a name with several values. A gradient has the number of its value."""
    forward = [choice for choice in found if choice.site.phase == "forward"]
    if not found or not all(one.site.watch and one.site.watch.role == "gradient" for one in found):
        return dict(enumerate(forward or found, 1))
    sites = list({choice.site.id: choice.site for choice in choices if choice.site.watch}.values())
    places = Counter[tuple[str, str]]()
    numbers: dict[int, int] = {}
    own = gradients_of(sites)
    for site in sorted(sites, key=lambda site: site.phase != "forward"):
        if site.watch and site.watch.role == "value":
            places[site.where, site.label] += 1
            if site.id in own:
                numbers[own[site.id].id] = places[site.where, site.label]
    free = (number for number in itertools.count(1) if number not in numbers.values())
    # The gradient of a line's last execution is computed first.
    in_order = sorted(found, key=lambda one: -one.site.order)
    numbered = {numbers[one.site.id] if one.site.id in numbers else next(free): one for one in in_order}
    return dict(sorted(numbered.items()))


def _distinct_names(numbered: Mapping[int, SelectedValue]) -> list[str]:
    """Return distinct names: with callers, or with places, numbered if the places are the same."""
    choices = list(numbered.values())
    of_one_line = len({choice.site.where for choice in choices}) == 1
    for names in (full_names(choices) if of_one_line else (), _with_callers(choices, [one.place for one in choices])):
        if len(set(names)) == len(choices):
            return sorted(names)
    return [f"{choice.place}#{number}" for number, choice in numbered.items()]


def _with_callers(choices: Sequence[SelectedValue], names: Sequence[str]) -> list[str]:
    callers = distinguishing_texts({choice.site.id: choice.site for choice in choices}.values())
    found = [callers.get(choice.site.id, "") for choice in choices]
    return [f"{name} · {caller}" if caller else name for name, caller in zip(names, found, strict=True)]
