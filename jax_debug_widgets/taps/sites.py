"""Find the call site of an equation, which is a place in the user's source. It is the same for each compilation."""

from __future__ import annotations

import itertools
import linecache
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from jax_debug_widgets._jax.compat.processes import own_number
from jax_debug_widgets.events import CallSite
from jax_debug_widgets.events.function_names import short_function
from jax_debug_widgets.taps.source import call_text
from jax_debug_widgets.taps.value_names import nameless, value_aliases, value_names

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets.events import Phase

_TRANSFORM = re.compile(r"(\w+)\(")
"""The pattern of a transformation in a name stack: `transpose` and `jvp` in `transpose(jvp(f))/while/body`."""

_DERIVATIVE = re.compile(r"\b(?:jvp|transpose)\(")

_AGAIN = re.compile(r"(?<!jit\()\brematted_computation\b")
"""The pattern of JAX's name for a recomputation; it does not match a user's jitted function of that name."""

_TRANSPOSED = re.compile(r"\btranspose\((?:\w+\()*jvp\(")
"""The pattern of the transposed part of a derivative; it does not match a user's scope called `transpose(w)`."""

NameFile = Callable[[str], str]
"""File as the interpreter names it -> its name for people: `train.py`, or `In [7]` for a cell."""


def short_name(file: str) -> str:
    """Return the last part of a path, the name of the file."""
    return os.path.basename(file) or file


class Waiting(Protocol):
    """Firings that wait to be recorded, see `Switch.written`."""

    def settle(self) -> None:
        """Select the firings to record by the switch as it is before the change."""
        ...


class Switch:
    """Selects the firings of a site that are recorded. It changes at run time, without recompiling.

    Attributes:
      off: whether the site is muted.
      every: one firing of `every` is recorded; None for the setting of the capture.
      is_plain: whether the switch leaves all firings to the setting of the capture. It is an attribute and no property,
        because each firing reads it.
      written: firings that wait to be recorded. They are settled before the switch changes.
    """

    __slots__ = ("_fired", "every", "is_plain", "off", "written")

    def __init__(self) -> None:
        self.off = False
        self.every: int | None = None
        self.is_plain = True
        self.written: weakref.WeakSet[Waiting] = weakref.WeakSet()
        self._fired = itertools.count()

    def mute(self, *, muted: bool) -> None:
        """Record no firings of the site; with `muted=False`, record them again."""
        self._change(muted, self.every)

    def sample(self, every: int | None) -> None:
        """Record one firing of `every`; None for the setting of the capture."""
        self._change(self.off, every)

    def _change(self, off: bool, every: int | None) -> None:
        for waiting in list(self.written):
            waiting.settle()
        self.off, self.every = off, every
        self.is_plain = not self.off and self.every in (None, 1)

    def restart(self) -> None:
        """Restart the count of firings, so that a sampled site records its next firing."""
        self._fired = itertools.count()

    def takes(self, every: int) -> bool:
        """Whether to record the firing that has just come; the capture records one of `every`. Call it once a firing."""
        if self.off:
            return False
        wanted = self.every or every
        return wanted == 1 or not next(self._fired) % wanted


@dataclass(frozen=True, eq=False)
class _Structure:
    """A pytree's structure in a key. JAX cannot compare two in which a class of the user's keeps an array beside its leaves."""

    tree: Any

    def __hash__(self) -> int:
        return hash(self.tree)

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, _Structure)
        try:
            return self.tree == other.tree
        except ValueError:
            return str(self.tree) == str(other.tree)


class SiteBook:
    """Holds the call sites of this process and gives each an id. Safe from any thread: several threads may lower programs."""

    def __init__(self, name_file: NameFile = short_name) -> None:
        self.name_file = name_file
        self._lock = threading.Lock()
        self._sites: dict[object, CallSite] = {}
        self._switches: dict[int, Switch] = {}
        self._counters: list[Switch] = []

    def site_of(self, equation: DebugCall) -> CallSite:
        """Return the site of an equation; equations of the same place in the same program share a site."""
        frame = equation.frame
        callers = tuple(dict.fromkeys(equation.callers))
        tree = _Structure(equation.in_tree)
        key = (equation.kind, equation.ordered, frame, equation.name_stack, equation.format, tree, callers)
        with self._lock:
            site = self._sites.get(key)
            site = self._make(len(self._sites), equation) if site is None else self._called_now(site, callers)
            # The program may have changed, so that another effect now comes before this one.
            site = self._sites[key] = site if site.order == equation.order else replace(site, order=equation.order)
            return site

    def site_for(self, key: object, make: Callable[[int], CallSite]) -> CallSite:
        """Return the site of a key. `make` makes a new site from its id."""
        with self._lock:
            site = self._sites.get(key)
            site = self._sites[key] = make(len(self._sites)) if site is None else self._called_now(site, ())
            return site

    def line_of(self, frame: Frame) -> str:
        """Describe a frame in one line: `train.py:41 in step: jv(v - 1, z)`. A call over several lines shows its first line."""
        source = linecache.getline(frame.file, frame.line)
        if frame.line == frame.end_line and 0 <= frame.column < frame.end_column:
            source = source.encode()[frame.column : frame.end_column].decode(errors="replace")
        source = source.strip()
        return f"{self.name_file(frame.file)}:{frame.line} in {short_function(frame.function)}{f': {source}' if source else ''}"

    def switch_of(self, site_id: int) -> Switch:
        """Return the switch of a site, which its recorders read at each firing."""
        with self._lock:
            return self._switches.setdefault(site_id, Switch())

    def counter(self) -> Switch:
        """Make a counter for a program's calls; it counts them as a site's switch counts firings."""
        with self._lock:
            self._counters.append(Switch())
            return self._counters[-1]

    def restart(self) -> None:
        """Restart the counts of all sites' firings and of all programs' calls."""
        with self._lock:
            for switch in (*self._switches.values(), *self._counters):
                switch.restart()

    def muted(self) -> frozenset[int]:
        """Return the ids of the muted sites."""
        with self._lock:
            return frozenset(site_id for site_id, switch in self._switches.items() if switch.off)

    def sampled(self) -> dict[int, int]:
        """Return the sites that the user set to record one firing of n: id -> n."""
        with self._lock:
            return {site_id: switch.every for site_id, switch in self._switches.items() if switch.every is not None}

    def changed(self) -> frozenset[int]:
        """Return the ids of the sites that record fewer firings because the user changed their switch."""
        with self._lock:
            return frozenset(site_id for site_id, switch in self._switches.items() if not switch.is_plain)

    def _called_now(self, site: CallSite, callers: Iterable[Frame]) -> CallSite:
        """Return the site with the present names of its files: a cell that runs again with the same text has a new number."""
        where = self._where(site)
        return site if where == site.where else replace(site, where=where, callers=tuple(map(self._where, callers)))

    def _where(self, place: CallSite | Frame) -> str:
        return f"{self.name_file(place.file)}:{place.line}"

    def _make(self, site_id: int, equation: DebugCall) -> CallSite:
        frame = equation.frame
        text = call_text(frame.file, frame.line, frame.column, frame.end_line, frame.end_column)
        values = value_names(equation, text)
        return CallSite(
            id=site_id,
            kind=equation.kind,
            ordered=equation.ordered,
            file=frame.file,
            line=frame.line,
            column=frame.column,
            end_line=frame.end_line,
            end_column=frame.end_column,
            where=self._where(frame),
            function=frame.function,
            source=text.line,
            label=values[0]
            if len(values) == 1 and values != (nameless(0),) and equation.stop is None
            else equation.format,
            values=values,
            format=equation.format,
            name_stack=equation.name_stack,
            transforms=transforms_of(equation.name_stack),
            phase=phase_of(equation.name_stack),
            order=equation.order,
            aliases=value_aliases(equation, text),
            callers=tuple(map(self._where, dict.fromkeys(equation.callers))),
            process=own_number(),
        )


def transforms_of(name_stack: str) -> tuple[str, ...]:
    """Return the transformations in a name stack, outermost first."""
    return tuple(_TRANSFORM.findall(name_stack))


def phase_of(name_stack: str) -> Phase:
    """Return the phase (forward, backward or recompute) that JAX's name stack shows.

    A recomputation lies inside the transposed program, so its name is looked for first.
    """
    if _DERIVATIVE.search(name_stack) and _AGAIN.search(name_stack):
        return "recompute"
    return "backward" if _TRANSPOSED.search(name_stack) else "forward"
