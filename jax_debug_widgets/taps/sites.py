"""Call sites: from an equation to the place in the user's program, the same for every compilation of it."""

from __future__ import annotations

import linecache
import os
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets.events import CallSite
from jax_debug_widgets.taps.source import CallText, call_text

if TYPE_CHECKING:
    from jax_debug_widgets._jax.equation import Equation, Frame
    from jax_debug_widgets.events import Phase

_TRANSFORM = re.compile(r"(\w+)\(")
"""In a name stack, `transpose(jvp(f))/while/body`: what wraps."""

NameFile = Callable[[str], str]
"""File as the interpreter knows it -> what a person calls it: `train.py`, or `In [7]` for a cell."""


def short_name(file: str) -> str:
    """The last part of a path: what a traceback-reading person calls a module's file."""
    return os.path.basename(file) or file


class Switch:
    """Whether a site is muted; thrown at run time, without recompiling anything."""

    __slots__ = ("off",)

    def __init__(self) -> None:
        self.off = False


class SiteBook:
    """The call sites of this process, each with its id. Safe from any thread: lowering may happen in several."""

    def __init__(self, name_file: NameFile = short_name) -> None:
        self.name_file = name_file
        self._lock = threading.Lock()
        self._sites: dict[object, CallSite] = {}
        self._switches: dict[int, Switch] = {}

    def site_of(self, equation: Equation) -> CallSite:
        """The site of this equation; the one made before, if it is the same place in the same program."""
        frame = equation.frame
        key = (equation.kind, equation.ordered, frame, equation.name_stack, equation.format, equation.in_tree)
        with self._lock:
            site = self._sites.get(key)
            if site is None:
                site = self._sites[key] = self._make(len(self._sites), equation)
            return site

    def line_of(self, frame: Frame) -> str:
        """A frame in one line: `train.py:41 in step: jv(v - 1, z)`; the whole line where a call is not all in it."""
        source = linecache.getline(frame.file, frame.line)
        if frame.line == frame.end_line and 0 <= frame.column < frame.end_column:
            source = source.encode()[frame.column : frame.end_column].decode(errors="replace")
        source = source.strip()
        return f"{self.name_file(frame.file)}:{frame.line} in {frame.function}{f': {source}' if source else ''}"

    def switch_of(self, site_id: int) -> Switch:
        """The switch that the recorders of a site look at each time it fires."""
        with self._lock:
            return self._switches.setdefault(site_id, Switch())

    def muted(self) -> frozenset[int]:
        """The sites whose switch is off."""
        with self._lock:
            return frozenset(site_id for site_id, switch in self._switches.items() if switch.off)

    def _make(self, site_id: int, equation: Equation) -> CallSite:
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
            where=f"{self.name_file(frame.file)}:{frame.line}",
            function=frame.function,
            source=text.line,
            label=values[0] if len(values) == 1 else equation.format,
            values=values,
            format=equation.format,
            name_stack=equation.name_stack,
            transforms=tuple(_TRANSFORM.findall(equation.name_stack)),
            phase=phase_of(equation.name_stack),
            order=equation.order,
            keywords=value_keywords(equation),
        )


def phase_of(name_stack: str) -> Phase:
    """Forward, backward or recompute, from JAX's name stack.

    A recomputation lies inside the transposed program, so it is asked for first.
    """
    if "rematted_computation" in name_stack:
        return "recompute"
    return "backward" if "transpose(" in name_stack else "forward"


def value_names(equation: Equation, text: CallText) -> tuple[str, ...]:
    """The source expression of each array that the equation passes; parts of a pytree get their path: `params['w']`."""
    if equation.in_tree is None:
        return tuple(f"args[{index}]" for index in range(len(equation.shapes)))
    if equation.kind in ("pure", "io"):  # After the function come the types of its results, then what is passed.
        text = replace(text, positional=text.positional[1:])
    return tuple(_root_name(path, text) + jax.tree_util.keystr(path[2:]) for path in _value_paths(equation))


def value_keywords(equation: Equation) -> tuple[str, ...]:
    """The keyword that each array is passed as, with its path in a pytree; empty for positional ones."""
    if equation.in_tree is None:
        return ("",) * len(equation.shapes)
    roots = [(_keyword(path), jax.tree_util.keystr(path[2:])) for path in _value_paths(equation)]
    return tuple(root + rest if root else "" for root, rest in roots)


def _value_paths(equation: Equation) -> list[tuple[Any, ...]]:
    """Where in `(args, kwargs)` each array is."""
    tree = jax.tree.unflatten(equation.in_tree, range(equation.in_tree.num_leaves))
    return [path for path, leaf in jax.tree_util.tree_leaves_with_path(tree) if leaf not in equation.static]


def _keyword(path: tuple[Any, ...]) -> str:
    return "" if getattr(path[0], "idx", None) == 0 else str(getattr(path[1], "key", ""))


def _root_name(path: tuple[Any, ...], text: CallText) -> str:
    """The expression of the argument that a leaf of `(args, kwargs)` lies in."""
    keyword = _keyword(path)
    if keyword:
        return text.keywords.get(keyword, keyword)
    index = getattr(path[1], "idx", 0)
    return text.positional[index] if index < len(text.positional) else f"args[{index}]"
