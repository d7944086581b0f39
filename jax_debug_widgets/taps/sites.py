"""Call sites: from an equation to the place in the user's program, the same for every compilation of it."""

from __future__ import annotations

import itertools
import linecache
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import jax

from jax_debug_widgets._jax.compat.processes import own_number
from jax_debug_widgets.events import CallSite
from jax_debug_widgets.events.function_names import short_function
from jax_debug_widgets.taps.source import CallText, call_text

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets.events import Phase

_TRANSFORM = re.compile(r"(\w+)\(")
"""In a name stack, `transpose(jvp(f))/while/body`: what wraps."""

_DERIVATIVE = re.compile(r"\b(?:jvp|transpose)\(")

_AGAIN = re.compile(r"(?<!jit\()\brematted_computation\b")
"""JAX's name for what it computes again; not a function of the user's that is called so."""

_TRANSPOSED = re.compile(r"\btranspose\((?:\w+\()*jvp\(")
"""The pattern of a transposed part of a derivative, which was linearized; not of a user's scope called `transpose(w)`."""

NameFile = Callable[[str], str]
"""File as the interpreter knows it -> what a person calls it: `train.py`, or `In [7]` for a cell."""


def short_name(file: str) -> str:
    """The last part of a path: what a traceback-reading person calls a module's file."""
    return os.path.basename(file) or file


class Waiting(Protocol):
    """See `Switch.written`."""

    def settle(self) -> None:
        """Choose now, by what the switch says until now."""
        ...


class Switch:
    """The setting of a site, which of its firings are recorded; changed at run time, without recompiling anything.

    Attributes:
      off: whether it is muted.
      every: of how many firings one is recorded; None for what the capture says.
      is_plain: whether nobody has switched it so that less is recorded. An attribute: each event reads it.
      written: what has fired and waits to be recorded as the switch says; it is settled before the switch changes.
    """

    __slots__ = ("_fired", "every", "is_plain", "off", "written")

    def __init__(self) -> None:
        self.off = False
        self.every: int | None = None
        self.is_plain = True
        self.written: weakref.WeakSet[Waiting] = weakref.WeakSet()
        self._fired = itertools.count()

    def mute(self, *, muted: bool) -> None:
        """Record nothing of the site, or what is asked for again."""
        self._change(muted, self.every)

    def sample(self, every: int | None) -> None:
        """Record one firing of `every`; None for what the capture says."""
        self._change(self.off, every)

    def _change(self, off: bool, every: int | None) -> None:
        for waiting in list(self.written):
            waiting.settle()
        self.off, self.every = off, every
        self.is_plain = not self.off and self.every in (None, 1)

    def restart(self) -> None:
        """Count anew: of the firings that are sampled, the next is recorded."""
        self._fired = itertools.count()

    def takes(self, every: int) -> bool:
        """Whether the firing that has just come is recorded, in a capture that records one of `every`."""
        if self.off:
            return False
        wanted = self.every or every
        return wanted == 1 or not next(self._fired) % wanted


class SiteBook:
    """The call sites of this process, each with its id. Safe from any thread: lowering may happen in several."""

    def __init__(self, name_file: NameFile = short_name) -> None:
        self.name_file = name_file
        self._lock = threading.Lock()
        self._sites: dict[object, CallSite] = {}
        self._switches: dict[int, Switch] = {}
        self._counters: list[Switch] = []

    def site_of(self, equation: DebugCall) -> CallSite:
        """The site of this equation; the one made before, if it is the same place in the same program."""
        frame = equation.frame
        callers = tuple(dict.fromkeys(equation.callers))
        key = (equation.kind, equation.ordered, frame, equation.name_stack, equation.format, equation.in_tree, callers)
        with self._lock:
            site = self._sites.get(key)
            site = self._make(len(self._sites), equation) if site is None else self._called_now(site, callers)
            # The program may be another one now, in which something else stands before it.
            site = self._sites[key] = site if site.order == equation.order else replace(site, order=equation.order)
            return site

    def site_for(self, key: object, make: Callable[[int], CallSite]) -> CallSite:
        """The site of this key; `make` is given the id of one that is not known yet."""
        with self._lock:
            site = self._sites.get(key)
            site = self._sites[key] = make(len(self._sites)) if site is None else self._called_now(site, ())
            return site

    def line_of(self, frame: Frame) -> str:
        """A frame in one line: `train.py:41 in step: jv(v - 1, z)`; the whole line where a call is not all in it."""
        source = linecache.getline(frame.file, frame.line)
        if frame.line == frame.end_line and 0 <= frame.column < frame.end_column:
            source = source.encode()[frame.column : frame.end_column].decode(errors="replace")
        source = source.strip()
        return f"{self.name_file(frame.file)}:{frame.line} in {short_function(frame.function)}{f': {source}' if source else ''}"

    def switch_of(self, site_id: int) -> Switch:
        """The switch that the recorders of a site look at each time it fires."""
        with self._lock:
            return self._switches.setdefault(site_id, Switch())

    def counter(self) -> Switch:
        """The counter of a program's calls, as a site's switch counts its firings."""
        with self._lock:
            self._counters.append(Switch())
            return self._counters[-1]

    def restart(self) -> None:
        """Count the firings of all sites, and the calls of programs, anew."""
        with self._lock:
            for switch in (*self._switches.values(), *self._counters):
                switch.restart()

    def muted(self) -> frozenset[int]:
        """The sites whose switch is off."""
        with self._lock:
            return frozenset(site_id for site_id, switch in self._switches.items() if switch.off)

    def sampled(self) -> dict[int, int]:
        """The sites that record each n-th firing, because somebody said so: id -> n."""
        with self._lock:
            return {site_id: switch.every for site_id, switch in self._switches.items() if switch.every is not None}

    def changed(self) -> frozenset[int]:
        """The sites that do not record all firings, as somebody has changed their switch."""
        with self._lock:
            return frozenset(site_id for site_id, switch in self._switches.items() if not switch.is_plain)

    def _called_now(self, site: CallSite, callers: Iterable[Frame]) -> CallSite:
        """By the names that its files have now: a cell that is run again with the same text has another number."""
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
            if len(values) == 1 and values != (_nameless(0),) and equation.stop is None
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
    """The transformations in a name stack, outermost first."""
    return tuple(_TRANSFORM.findall(name_stack))


def phase_of(name_stack: str) -> Phase:
    """Forward, backward or recompute, from JAX's name stack.

    A recomputation lies inside the transposed program, so it is asked for first.
    """
    if _DERIVATIVE.search(name_stack) and _AGAIN.search(name_stack):
        return "recompute"
    return "backward" if _TRANSPOSED.search(name_stack) else "forward"


def value_names(equation: DebugCall, text: CallText) -> tuple[str, ...]:
    """The source expression of each array that the equation passes; parts of a pytree get their path: `params['w']`."""
    if equation.stop is not None and len(equation.stop.names) == len(equation.shapes):
        return equation.stop.names
    if equation.in_tree is None:
        return tuple(map(_nameless, range(len(equation.shapes))))
    if equation.kind in ("pure", "io"):  # After the function come the types of its results, then what is passed.
        text = replace(text, positional=text.positional[1:])
    return tuple(_root_name(path, text) + jax.tree_util.keystr(path[2:]) for path in _value_paths(equation))


def value_aliases(equation: DebugCall, text: CallText) -> tuple[str, ...]:
    """The other name of each array that is passed as a keyword; empty for positional ones."""
    if equation.in_tree is None:
        return ("",) * len(equation.shapes)
    roots = [(_names_of(_keyword(path), text)[1], jax.tree_util.keystr(path[2:])) for path in _value_paths(equation)]
    return tuple(root + rest if root else "" for root, rest in roots)


def _value_paths(equation: DebugCall) -> list[tuple[Any, ...]]:
    """Where in `(args, kwargs)` each array is."""
    tree = jax.tree.unflatten(equation.in_tree, range(equation.in_tree.num_leaves))
    return [path for path, leaf in jax.tree_util.tree_leaves_with_path(tree) if leaf not in equation.static]


def _keyword(path: tuple[Any, ...]) -> str:
    return "" if getattr(path[0], "idx", None) == 0 else str(getattr(path[1], "key", ""))


def _root_name(path: tuple[Any, ...], text: CallText) -> str:
    """The expression of the argument that a leaf of `(args, kwargs)` lies in."""
    keyword = _keyword(path)
    if keyword:
        return _names_of(keyword, text)[0]
    index = getattr(path[1], "idx", 0)
    return text.positional[index] if index < len(text.positional) else _nameless(index)


_PLAIN = re.compile(r"""[^\W\d]\w+|[^\W\d]\w*[.\[][\w.\[\]'"]*""")
"""A variable that is called by more than a letter, or a part of one."""


def _names_of(keyword: str, text: CallText) -> tuple[str, str]:
    """The two names of a value that is passed as a keyword: the keyword first where it says more than the expression.

    `loss` of `loss=l` and of `loss=jnp.mean(errors)`; `total` of `loss=total`, `x.sum()` of `x=x.sum()`.
    """
    expression = text.keywords.get(keyword, keyword)
    if not keyword or len(keyword) == 1 or _PLAIN.fullmatch(expression):
        return expression, keyword
    return keyword, expression


def _nameless(index: int) -> str:
    """The name of an argument whose expression the source does not tell."""
    return f"args[{index}]"
