"""Arrange a program in nested boxes: functions, then their lines, scopes and bodies, then equations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from jax_debug_widgets.events.function_names import short_function
from jax_debug_widgets.graphs.box import Box, Kind
from jax_debug_widgets.graphs.levels import Levels
from jax_debug_widgets.graphs.program import CALLS, Body, Equation, Program, Source


class _Node:
    """A box under construction."""

    def __init__(self, kind: Kind, what: str = "", source: Source | None = None, number: int = -1) -> None:
        self.kind: Kind = kind
        self.what, self.source, self.number = what, source, number
        self.inside: dict[object, _Node] = {}
        self._bodies: Counter[tuple[str, bool]] = Counter()

    def child(self, key: object, kind: Kind, what: str = "", source: Source | None = None, number: int = -1) -> _Node:
        if key not in self.inside:
            self.inside[key] = _Node(kind, what, source, number)
        return self.inside[key]

    def pair(self, what: str, number: int, *, is_forward: bool) -> object:
        """Return a key that an equation with bodies shares with its derivative.

        The derivative of the last such equation comes first.
        """
        before = self._bodies[what, is_forward]
        self._bodies[what, is_forward] += 1
        forward = self._bodies[what, True]
        place = before if is_forward else forward - 1 - before
        return (what, place) if place >= 0 else number

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the equations in the node, in order."""
        if self.number >= 0:
            yield self.number
        for one in self.inside.values():
            yield from one.numbers()


class Boxes:
    """All boxes of a program.

    Attributes:
      root: the box of the whole program.
      all: every box, by its number.
      of_equation: the innermost box of each equation without bodies.
    """

    def __init__(self, program: Program, lines: Mapping[Source, str]) -> None:
        self._equations, self._lines = program.equations, lines
        self._levels = Levels(program.equations)
        root = _Node("program")
        self._numbers = iter(range(len(program.equations)))
        for one in program.body.equations:
            self._put(root, one, 0)
        self.root = self._program(root, program.name)
        self.all = list(self.root.walk())
        self.of_equation: dict[int, Box] = {}
        for number, box in enumerate(self.all):
            box.number = number
            for child in box.children:
                child.parent = box
            if not box.children:
                self.of_equation.update((one, box) for one in box.equations)

    def _put(self, node: _Node, equation: Equation, skip: int) -> None:
        """Add an equation to the node of its frames, and the equations of its bodies to its own node.

        The `skip` outermost frames belong to the equations around it.
        """
        number = next(self._numbers)
        frames = [one for one in (*reversed(equation.callers), equation.source) if one is not None]
        for at, frame in enumerate(frames[skip:], skip):
            if at or frame.function:
                node = node.child(
                    ("function", frame.file, frame.function), "function", short_function(frame.function), frame
                )
            node = node.child(("line", frame.file, frame.line), "line", "", frame)
        kind, runs = ("body", _runs(equation)) if equation.bodies else ("equation", equation.primitive)
        key = node.pair(runs, number, is_forward=equation.role == "forward") if equation.bodies else number
        node = node.child(key, kind, runs, equation.source, number)
        for body in equation.bodies:
            inner = node if len(equation.bodies) == 1 else node.child(body.key, "body", body.key, equation.source)
            self._put_all(inner, body, len(frames))

    def _put_all(self, node: _Node, body: Body, skip: int) -> None:
        for one in body.equations:
            self._put(node, one, skip)

    def _program(self, node: _Node, name: str) -> Box:
        """Make the box of the whole program.

        If the program is one equation or one loop, the box of the equation or loop is inside it.
        """
        box = self._box(node) if node.inside else Box("program", name)
        if box.equations and (not box.children or self._only_loop_of(node)):
            return Box("program", name, equations=box.equations, children=[box])
        box.kind, box.title = "program", name
        return box

    def _only_loop_of(self, node: _Node) -> str:
        """Return text such as `scan × 4` if a node has only one equation with bodies, which is not a call; else empty."""
        while len(node.inside) == 1:
            (node,) = node.inside.values()
            if node.kind == "body" and node.number >= 0 and self._equations[node.number].primitive not in CALLS:
                return node.what
        return ""

    def _box(self, node: _Node) -> Box:
        """Make the box of a node; a node with a single child is merged with it."""
        if not node.inside:
            equation = self._equations[node.number]
            return Box("equation", _name(equation), _unless_named(equation), node.source, (node.number,))
        children = [self._box(one) for one in node.inside.values()]
        if len(children) == 1:
            return self._merged(node, children[0])
        numbers = tuple(number for one in children for number in one.equations)
        what = "" if "<" in node.what else node.what
        named = self._names_in(node)
        called = ", ".join(dict.fromkeys(one.title for one in children if one.kind == "function"))
        title = named or what or self._text_of(node) or called or self._equations[numbers[-1]].primitive
        box = Box(node.kind, title, what if title != what else "", node.source, numbers, self._levels.of(children))
        box.gives = self._gives(node)
        times = self._times(numbers) if node.kind in ("function", "line") else 1
        box.what = _joined(box.what, f"× {times}" if times > 1 else "")
        return box

    def _merged(self, node: _Node, only: Box) -> Box:
        """Merge a node with its only child."""
        runs = "" if "<" in node.what or node.what in CALLS else node.what
        if node.kind == "function" and not runs:
            return only
        if node.kind == "function":
            what = (only.what or self._only_loop_of(node)) if only.children else ""
            return Box("function", runs, what, node.source, only.equations, only.children)
        inner = _joined(only.title, only.what) if only.kind == "function" else only.what
        detail = _joined(runs, inner if only.kind == "function" and only.title != runs else "") or inner
        title = self._names_in(node) or (only.title if node.kind != "body" else detail) or only.title
        kind = "function" if only.kind == "function" else node.kind if only.children else "equation"
        detail = detail.removeprefix(title).strip() if f"{detail} ".startswith(f"{title} ") else detail
        gives = self._gives(node) or (only.gives if node.kind == "line" else "")
        return Box(kind, title, detail, node.source, only.equations, only.children, gives)

    def _gives(self, node: _Node) -> str:
        """Return the type of the first named result of an equation with bodies, or of its first result."""
        if node.kind != "body" or node.number < 0:
            return ""
        one = self._equations[node.number]
        return next(
            (str(kind) for kind, noted in zip(one.types, one.noted, strict=True) if noted),
            str(one.types[0]) if one.types else "",
        )

    def _text_of(self, node: _Node) -> str:
        return self._lines.get(node.source, "") if node.source and node.kind == "line" else ""

    def _names_in(self, node: _Node) -> str:
        """Return the names in the source for the results of a line, or of an equation with bodies."""
        if node.kind == "body" and node.number >= 0:
            return ", ".join(_short(_noted(self._equations[node.number]))[:_NAMES])
        if node.kind != "line":
            return ""
        own = [one for one in map(self._equations.__getitem__, node.numbers()) if _is_at(one, node.source)]
        own = [one for one in own if any(_noted(one))]
        own = [one for one in own if one.role == "forward"] or own
        depth = min((one.depth for one in own), default=0)
        names = [name for one in own if one.depth == depth for name in _noted(one)]
        names = [name for name in _short(names) if len(name) <= _LONGEST]
        return ", ".join(names[-_NAMES:])

    def _times(self, numbers: Sequence[int]) -> int:
        """Return how often a box is repeated: the greatest common divisor of the counts of its operations."""
        own = [one for number in numbers if (one := self._equations[number]).role == "forward"]
        counts = Counter((one.source, one.primitive, one.path) for one in own)
        return math.gcd(*counts.values()) if counts else 1


_NAMES = 3
"""The most names of one line that its box shows."""

_LONGEST = 24
"""The most characters of a name in a box; longer names are expressions."""


def _name(equation: Equation) -> str:
    names = _noted(equation)
    return (
        ", ".join(names[:_NAMES]) if names else next((one for one in equation.names if one != "_"), equation.primitive)
    )


def _noted(equation: Equation) -> list[str]:
    return [name for name, noted in zip(equation.names, equation.noted, strict=True) if noted and name != "_"]


def _is_at(equation: Equation, source: Source | None) -> bool:
    own = equation.source
    return own is not None and source is not None and (own.file, own.line) == (source.file, source.line)


def _runs(equation: Equation) -> str:
    """Return the name of an equation with bodies."""
    if equation.primitive in CALLS:
        return equation.params.get("name", equation.primitive)
    return equation.primitive + (f" × {equation.repeats}" if (equation.repeats or 1) > 1 else "")


def _short(names: Sequence[str]) -> list[str]:
    """Return each name once; several leaves of one tree become the name of the tree."""
    plain = [name.partition("#")[0] for name in names]
    roots = Counter(name.partition("[")[0] for name in dict.fromkeys(plain))
    shortened = [root if roots[root := name.partition("[")[0]] > 1 and root else name for name in plain]
    return list(dict.fromkeys(shortened))


def _unless_named(equation: Equation) -> str:
    return equation.primitive if _noted(equation) else ""


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)
