"""Show a program as a graph of nested boxes: which are open, which match a search, and the paths between values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from jax_debug_widgets.events.amounts import in_bytes, plural
from jax_debug_widgets.graphs.box import Box
from jax_debug_widgets.graphs.boxes import Boxes
from jax_debug_widgets.graphs.flow import Flow, Way
from jax_debug_widgets.graphs.graph_svg import picture
from jax_debug_widgets.graphs.layout import Scene, scene_of
from jax_debug_widgets.graphs.page import Page, PageRow
from jax_debug_widgets.graphs.program import Amount, Equation, Program, Source, text_of
from jax_debug_widgets.graphs.seen import Seen
from jax_debug_widgets.graphs.table import ProgramTable
from jax_debug_widgets.graphs.tones import Colour, in_short, tones_of

MOST_SHOWN = 40
"""The most boxes that are shown at first, in the text and in a saved notebook."""

EMPTY = "The program has no equations: it returns its arguments or constants."
FOLDED = "Boxes with ▸ contain more boxes, which can be opened in a notebook."


class Graph:
    """The program of a call as nested boxes: functions, lines, scopes, loops, equations.

    Attributes:
      results: the names of the results of the program.
      lines: the text of its source lines.
      seen: what runs have shown about its equations.
    """

    def __init__(
        self,
        program: Program,
        results: Sequence[str] = (),
        lines: Mapping[Source, str] | None = None,
        seen: Seen | None = None,
    ) -> None:
        self.program, self.results, self.lines = program, tuple(results), lines or {}
        self.seen = seen or Seen()

    @cached_property
    def boxes(self) -> Boxes:
        """All boxes of the program."""
        return Boxes(self.program, self.lines)

    @cached_property
    def flow(self) -> Flow:
        """The flow of values between the equations."""
        return Flow(self.program)

    @cached_property
    def opened(self) -> frozenset[int]:
        """The numbers of the boxes that are open at first: functions and loops, while at most `MOST_SHOWN` boxes are shown."""
        opened, shown = {0}, len(self.boxes.root.children)
        todo = list(self.boxes.root.children)
        while todo:
            box = todo.pop(0)
            if not _is_opened(box):
                continue
            if shown + len(box.children) - 1 <= MOST_SHOWN:
                opened.add(box.number)
                shown += len(box.children) - 1
                todo += box.children
        return frozenset(opened)

    def scene(self, opened: Collection[int] | None = None) -> Scene:
        """Return boxes and wires with their positions; `opened` are the numbers of the open boxes, None for `self.opened`."""
        return scene_of(self.boxes, self.flow, self.opened if opened is None else opened)

    def find(self, text: str, most: int = 200) -> list[Equation]:
        """Return the equations without bodies that contain a text, ignoring case.

        Name, primitive, dtype, shape, scope, function and source line are searched.
        """
        wanted, found = text.casefold(), list[Equation]()
        for number in self.numbers_with(wanted):
            found.append(self.program.equations[number])
            if len(found) >= most:
                break
        return found

    def numbers_with(self, text: str) -> list[int]:
        """Return the numbers of the equations that `find` returns."""
        wanted = text.strip().casefold()
        return [
            number
            for number, one in enumerate(self.program.equations)
            if wanted and not one.bodies and wanted in self._words[number]
        ]

    @cached_property
    def _words(self) -> list[str]:
        def words(one: Equation) -> str:
            place = f"{one.source} {one.source.function} {self.lines.get(one.source, '')}" if one.source else ""
            return f"{text_of(one)} {one.scope} {place}".casefold()

        return list(map(words, self.program.equations))

    def to_outputs(self, number: int) -> Way:
        """Return the paths from an equation to the results of the program."""
        return self.flow.to_outputs([number], self.results)

    def opened_for(self, numbers: Collection[int], opened: Collection[int] = ()) -> frozenset[int]:
        """Return `opened` with all boxes around these equations."""
        around = {box.number for one in numbers for box in self.boxes.of_equation[one].around}
        return frozenset(around | set(opened) | {0})

    def type_of(self, box: Box, numbers: Sequence[int]) -> str:
        """Return dtype and shape of a box's last named value, or of its last value."""
        own = [self.program.equations[one] for one in numbers]
        if box.gives and any(one.role == "forward" for one in own):
            return box.gives
        named = [one for one in own if any(one.noted) and one.types and (set(one.names) & set(box.title.split(", ")))]
        last = next((one for one in reversed(named or own) if one.types), None)
        return str(last.types[0]) if last else ""

    def page(self) -> Page:
        """Return the boxes that are open at first, as an outline."""
        headers = ("box", "what", "type", "forward", "backward", "flops", "bytes", "source")
        count = len(self.boxes.root.children)
        boxes = "1 box" if count == 1 else f"{count:,} boxes"
        title = f"{self.program.name}: {plural(len(self.program.equations), 'equation')} in {boxes}"
        outline = self._outline(self.boxes.root)
        lines = [self._line(one) for one in outline]
        notes = [FOLDED] if any(map(self._is_folded, outline)) else [] if outline else [EMPTY]
        return Page(
            f"{title}; nothing has run", headers, lines, notes, frozenset({"forward", "backward", "flops", "bytes"})
        )

    def _outline(self, box: Box) -> list[Box]:
        inside = box.children if box.number in self.opened else ()
        return [each for one in inside for each in (one, *self._outline(one))]

    def _is_folded(self, box: Box) -> bool:
        return bool(box.children) and box.number not in self.opened

    def _line(self, box: Box) -> PageRow:
        own = [self.program.equations[one] for one in box.equations]
        forward = [one for one in box.equations if self.program.equations[one].role == "forward"]
        backward = len(own) - len(forward)
        return PageRow(
            (
                f"{box.title}{' ▸' if self._is_folded(box) else ''}",
                box.what,
                "" if box.number in self.opened else self.type_of(box, forward or box.equations),
                str(len(forward) or ""),
                str(backward or ""),
                _sum(own, "flops").text(in_short),
                _sum(own, "nbytes").text(in_bytes),
                str(box.source or ""),
            ),
            indent=len(box.around) - 1,
        )

    def picture(self, colour: Colour = "role") -> str:
        """Return the picture of the boxes that are open at first, as SVG."""
        scene = self.scene()
        tones = tones_of(
            self.program.equations, [one.equations for one in scene.placed], colour, self.seen, self.program.devices
        )
        return picture(scene, [self.detail(one.box, one.equations) for one in scene.placed], tones, self.program.name)

    def detail(self, box: Box, numbers: Sequence[int]) -> str:
        """Return the second line of a box: its line as `:12`, its operation, the type of its result."""
        line = f":{box.source.line}" if box.source else ""
        type_text = _DTYPE.sub(lambda found: found[1] + found[2], self.type_of(box, numbers)) if numbers else ""
        return " · ".join(word for word in (line, box.what, type_text) if word)

    def __repr__(self) -> str:
        return self.page().text()

    def _repr_html_(self) -> str:
        table = ProgramTable(self.program, "line")
        return f"{self.picture()}<details><summary>by line</summary>{table.page().html()}</details>"


_OPENED = frozenset({"body", "function", "scope"})


def _is_opened(box: Box) -> bool:
    """Return whether a box is open at first if there is room: a line only if it runs a function or a loop of the user."""
    if box.kind != "line":
        return box.kind in _OPENED and bool(box.children)
    return any(one.kind == "function" or any(inner.kind == "line" for inner in one.children) for one in box.children)


_DTYPE = re.compile(r"\b(bf|f|u?i|c)(?:loat|nt|omplex)(\d+)")
"""Matches dtypes to shorten: `float32` becomes `f32` in a box."""


def _sum(equations: Sequence[Equation], what: str) -> Amount:
    return sum((Amount(getattr(one, what), is_most=one.conditional).times(one.times) for one in equations), Amount())
