"""Lay out boxes in rows, in the order of the program: forward equations at the left, their derivatives at the right.

Rows keep the order in which the source is read and put the two halves of a line beside each other. A layered graph
layout does not. The layout takes linear time, and the kernel draws the same picture for a page and for a saved
notebook.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from jax_debug_widgets.graphs.box import Box
from jax_debug_widgets.graphs.boxes import Boxes
from jax_debug_widgets.graphs.flow import Flow

Side = Literal["forward", "backward"]

WIDE, HIGH, GAP, PAD, HEAD, LANE = 176, 36, 18, 12, 26, 8
"""In pixels: width and height of a box, the gap below it, padding and title of an open box, and the width of a lane."""

_MIDDLE = 44
_LANES: dict[str, int] = {"left": 6, "middle": 3, "right": 6}
"""Place of lanes -> their number. A lane holds one wire; further wires are drawn only if one of their ends is selected."""


@dataclass(eq=False)
class Placed:
    """A box at its position, or one half of the box.

    Attributes:
      equations: the numbers of its equations.
      is_open: whether the boxes inside it are shown.
    """

    box: Box
    side: Side
    equations: tuple[int, ...]
    x: float
    y: float
    width: float
    height: float
    is_open: bool = False


@dataclass(eq=False)
class Wire:
    """Values that go from one box to another; `start` and `end` are their indices in `Scene.placed`.

    Attributes:
      numbers: the equations that compute the values.
      is_shown: whether a lane is free, so that the wire is always drawn.
    """

    start: int
    end: int
    numbers: frozenset[int]
    points: tuple[tuple[float, float], ...] = ()
    is_shown: bool = True


@dataclass(eq=False)
class Scene:
    """The boxes and wires to draw."""

    placed: list[Placed]
    wires: list[Wire]
    width: float
    height: float

    @cached_property
    def of_equation(self) -> dict[int, int]:
        """Maps each equation to the index of the innermost box that shows it."""
        return {number: at for at, one in enumerate(self.placed) if not one.is_open for number in one.equations}


class _Layout:
    def __init__(self, boxes: Boxes, backward: Collection[int], opened: Collection[int]) -> None:
        self._backward, self._opened = backward, opened
        self._halves: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._sizes: dict[int, tuple[float, float]] = {}
        self.placed: list[Placed] = []
        self._root = boxes.root

    def scene(self) -> tuple[list[Placed], float, float]:
        """Return the boxes at their positions, with width and height of the scene."""
        width, height = self._size(self._root)
        left, right = ((_LANES[side] + 1) * LANE for side in ("left", "right"))
        self._place(self._root, left, 0, width)
        return self.placed, left + width + right, height

    def halves(self, box: Box) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the forward equations of a box, and the others."""
        if box.number not in self._halves:
            forward = tuple(one for one in box.equations if one not in self._backward)
            self._halves[box.number] = forward, tuple(one for one in box.equations if one in self._backward)
        return self._halves[box.number]

    def _is_open(self, box: Box) -> bool:
        return bool(box.children) and box.number in self._opened

    def _rows(self, box: Box) -> list[tuple[Box | None, Box | None]]:
        """Return the pairs of boxes that are beside each other; an open box has a row to itself."""
        rows: list[tuple[Box | None, Box | None]] = []
        free: list[Box] = []
        for one in box.children:
            forward, backward = self.halves(one)
            if self._is_open(one):
                rows.append((one, one))
            elif forward:
                rows.append((one, one if backward else None))
            else:
                free.append(one)
        places = [at for at, (one, other) in enumerate(rows) if other is None and one is not None]
        for one in reversed(free):  # The derivative of the first line is computed last, and gets the first row.
            if places:
                at = places.pop(0)
                rows[at] = rows[at][0], one
            else:
                rows.append((None, one))
        return rows

    def _has_both(self, box: Box) -> bool:
        return all(self.halves(box))

    def _size(self, box: Box) -> tuple[float, float]:
        if box.number in self._sizes:
            return self._sizes[box.number]
        if not self._is_open(box):
            return WIDE, HIGH
        width, height = (2 * WIDE + _MIDDLE if self._has_both(box) else WIDE), float(HEAD)
        for one, _ in (row for row in self._rows(box)):
            wide, high = self._size(one) if one is not None and self._is_open(one) else (WIDE, HIGH)
            width, height = max(width, wide), height + high + GAP
        self._sizes[box.number] = width + 2 * PAD, height - GAP + PAD
        return self._sizes[box.number]

    def _place(self, box: Box, x: float, y: float, width: float) -> None:
        own = self._size(box)
        forward, backward = self.halves(box)
        side: Side = "forward" if forward or not backward else "backward"
        self.placed.append(Placed(box, side, box.equations, x, y, width, own[1], is_open=self._is_open(box)))
        if not self._is_open(box):
            return
        inner, at = width - 2 * PAD, y + HEAD
        right = x + PAD + (inner - WIDE if self._has_both(box) else 0)
        for one, other in self._rows(box):
            if one is not None and one is other and self._is_open(one):
                self._place(one, x + PAD, at, inner)
                at += self._size(one)[1] + GAP
                continue
            if one is not None:
                self.placed.append(Placed(one, "forward", self.halves(one)[0], x + PAD, at, WIDE, HIGH))
            if other is not None:
                self.placed.append(Placed(other, "backward", self.halves(other)[1], right, at, WIDE, HIGH))
            at += HIGH + GAP


def scene_of(boxes: Boxes, flow: Flow, opened: Collection[int]) -> Scene:
    """Lay out the boxes, with those in `opened` open, and the wires between them."""
    backward = {number for number, one in enumerate(flow.equations) if one.role != "forward"}
    placed, width, height = _Layout(boxes, backward, opened).scene()
    scene = Scene(placed, [], width, height)
    found: dict[tuple[int, int], set[int]] = {}
    for number, taken in enumerate(flow.takes):
        end = scene.of_equation.get(number)
        for one in taken:
            start = scene.of_equation.get(one)
            if start is not None and end is not None and start != end:
                found.setdefault((start, end), set()).add(one)
    scene.wires = [Wire(start, end, frozenset(numbers)) for (start, end), numbers in found.items()]
    _Ways(scene).draw()
    return scene


class _Ways:
    """Draws wires: straight between neighbours, else in lanes beside the boxes."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._columns = {side: list(self._column(side)) for side in ("forward", "backward")}
        self._ranks = {at: rank for own in self._columns.values() for rank, at in enumerate(own)}
        closed = [one for one in scene.placed if not one.is_open]
        left = [one.x + one.width for one in closed if one.side == "forward"]
        right = [one.x for one in closed if one.side == "backward"]
        self._middle = (max(left, default=0) + min(right, default=scene.width)) / 2
        self._taken: dict[str, list[list[tuple[float, float]]]] = {
            side: [[] for _ in range(count)] for side, count in _LANES.items()
        }

    def _column(self, side: str) -> Iterator[int]:
        own = [at for at, one in enumerate(self._scene.placed) if not one.is_open and one.side == side]
        return iter(sorted(own, key=lambda at: self._scene.placed[at].y))

    def draw(self) -> None:
        """Set the points of each wire, the shortest wires first."""
        placed = self._scene.placed

        def span(wire: Wire) -> float:
            return abs(placed[wire.start].y - placed[wire.end].y)

        for wire in sorted(self._scene.wires, key=span):
            start, end = placed[wire.start], placed[wire.end]
            wire.points = tuple(self._points(wire, start, end))

    def _points(self, wire: Wire, start: Placed, end: Placed) -> Sequence[tuple[float, float]]:
        if start.side == end.side:
            step = self._ranks[wire.end] - self._ranks[wire.start]
            if abs(step) == 1:
                x = (max(start.x, end.x) + min(start.x + start.width, end.x + end.width)) / 2
                return (
                    [(x, start.y + start.height), (x, end.y)] if step > 0 else [(x, start.y), (x, end.y + end.height)]
                )
            return self._beside(wire, start, end, "left" if start.side == "forward" else "right")
        if start.y == end.y:
            y = start.y + start.height / 2
            return (
                [(start.x + start.width, y), (end.x, y)] if start.x < end.x else [(start.x, y), (end.x + end.width, y)]
            )
        return self._beside(wire, start, end, "middle" if start.side == "forward" else "right")

    def _beside(self, wire: Wire, start: Placed, end: Placed, side: str) -> Sequence[tuple[float, float]]:
        down = 1 if end.y > start.y else -1
        first, last = start.y + start.height / 2 + 6 * down, end.y + end.height / 2 - 6 * down
        lane = self._lane(side, first, last)
        if lane is None:
            wire.is_shown, lane = False, _LANES[side]
        if side == "left":
            x = (_LANES["left"] - lane) * LANE
            return [(start.x, first), (x, first), (x, last), (end.x, last)]
        if side == "middle":
            x = self._middle + (lane - _LANES["middle"] / 2) * LANE
            return [(start.x + start.width, first), (x, first), (x, last), (end.x, last)]
        x = self._scene.width - (_LANES["right"] - lane) * LANE
        if end.side == "backward":
            return [(start.x + start.width, first), (x, first), (x, last), (end.x + end.width, last)]
        above, over = end.y - GAP / 2, end.x + end.width * 0.75
        return [(start.x + start.width, first), (x, first), (x, above), (over, above), (over, end.y)]

    def _lane(self, side: str, first: float, last: float) -> int | None:
        low, high = min(first, last), max(first, last)
        for number, own in enumerate(self._taken[side]):
            if all(high < begin or end < low for begin, end in own):
                own.append((low, high))
                return number
        return None
