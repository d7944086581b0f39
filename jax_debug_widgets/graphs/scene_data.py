"""Convert the drawing of a graph to plain data: boxes, wires, colours, and the marked equations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jax_debug_widgets.graphs.flow import Way
from jax_debug_widgets.graphs.graph import Graph
from jax_debug_widgets.graphs.layout import Placed, Scene
from jax_debug_widgets.graphs.tones import COLOURS, tones_of

_MOST_FOUND = 100
"""The most search results that are listed."""


def scene_data(graph: Graph, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the drawing of a graph as plain data.

    Args:
      graph: the graph.
      request: a mapping with these keys, which are all optional.
        opened: the numbers of open boxes; None for those that are open at first.
        colour: what the colours show.
        find: a text to search.
        way: the path to mark. `outputs`, `inputs` and `dtype` begin at the box `box`, on its `side`; `nan` goes from all
          values that are not finite to the outputs.
        reveal: the number of an equation to show.
    """
    asked = request.get("opened")
    opened = graph.opened if asked is None else frozenset(map(int, asked)) | {0}
    marked, description = _marked(graph, request)
    reveal = request.get("reveal")
    if isinstance(reveal, int):
        opened = graph.opened_for([reveal], opened)
    scene = graph.scene(opened)
    colour = request.get("colour")
    colour = colour if colour in COLOURS else "role"
    placed = [one.equations for one in scene.placed]
    tones = tones_of(graph.program.equations, placed, colour, graph.seen, graph.program.devices)
    return {
        "width": scene.width,
        "height": scene.height,
        "opened": sorted(opened),
        "boxes": [_box(graph, one, tone, marked) for one, tone in zip(scene.placed, tones.of, strict=True)],
        "wires": [
            {
                "start": one.start,
                "end": one.end,
                "points": [round(each) for point in one.points for each in point],
                "shown": one.is_shown,
                "description": _wire_text(graph, one.numbers),
            }
            for one in scene.wires
        ],
        "legend": tones.legend,
        "colours": [one for one in COLOURS if one != "nan" or graph.seen.not_finite],
        "description": description,
        "spoilt": sum(map(bool, graph.seen.not_finite.values())),
        "found": _found(graph, request, scene),
        "shown": None if not isinstance(reveal, int) else scene.of_equation.get(reveal),
    }


def _box(graph: Graph, one: Placed, tone: tuple[str, str], marked: Collection[int] | None) -> dict[str, Any]:
    box = one.box
    count = len(one.equations)
    return {
        "box": box.number,
        "side": one.side,
        "at": [round(one.x), round(one.y), round(one.width), round(one.height)],
        "open": one.is_open,
        "opens": bool(box.children),
        "title": box.title,
        "what": box.what,
        "detail": graph.detail(box, one.equations),
        "type": graph.type_of(box, one.equations),
        "source": str(box.source or ""),
        "parent": box.parent.number if box.parent else -1,
        "count": count,
        "tone": tone[0],
        "tooltip": " · ".join(word for word in (tone[1], graph.seen.of(one.equations[-1:])) if word),
        "lit": marked is None or any(each in marked for each in one.equations),
    }


def _wire_text(graph: Graph, numbers: Collection[int]) -> str:
    """Describe the values of a wire: their types, and the watched values."""
    types = list(dict.fromkeys(str(kind) for one in sorted(numbers) for kind in graph.program.equations[one].types))
    more = f" and {len(types) - 3} more types" if len(types) > 3 else ""  # noqa: PLR2004 - a tooltip is short.
    many = f"{len(numbers)} values: " if len(numbers) > 1 else ""
    seen = graph.seen.of(sorted(numbers))
    return f"{many}{', '.join(types[:3])}{more}{f': {seen}' if seen else ''}"


def _marked(graph: Graph, request: Mapping[str, Any]) -> tuple[Collection[int] | None, str]:
    """Return the equations that the request marks (None: all of them), and a sentence about them."""
    text = str(request.get("find") or "").strip()
    if text:
        found = graph.numbers_with(text)
        return frozenset(found), f"{len(found):,} of {len(graph.program.equations):,} equations have “{text}”"
    if request.get("way"):
        way = _way(graph, request)
        return way.equations, way.description
    return None, ""


def _way(graph: Graph, request: Mapping[str, Any]) -> Way:
    if request["way"] == "nan":
        return _from_not_finite(graph)
    box = graph.boxes.all[int(request["box"])]
    is_backward = request.get("side") == "backward"
    own = [one for one in box.equations if (graph.program.equations[one].role != "forward") == is_backward] or list(
        box.equations
    )
    match request["way"]:
        case "outputs":
            return graph.flow.to_outputs(own, graph.results)
        case "inputs":
            return graph.flow.from_inputs(own)
        case "dtype":
            return graph.flow.why_dtype(own[-1])
        case unknown:
            msg = f"unknown way {unknown!r}"
            raise ValueError(msg)


def _from_not_finite(graph: Graph) -> Way:
    """Return the paths from all values that were not finite; the sentence begins with the first of them."""
    numbers = sorted(one for one, count in graph.seen.not_finite.items() if count)
    way = graph.flow.to_outputs(numbers, graph.results)
    if not numbers:
        return way
    first = graph.program.equations[numbers[0]]
    where = f" ({first.source})" if first.source else ""
    return Way(way.equations, f"first in {first.names[0]}{where}; {way.description}")


def _found(graph: Graph, request: Mapping[str, Any], scene: Scene) -> list[dict[str, Any]]:
    """Return the first search results, and the indices of the boxes that show them."""
    numbers = graph.numbers_with(str(request.get("find") or ""))[:_MOST_FOUND]
    return [
        {
            "equation": number,
            "name": ", ".join(graph.program.equations[number].names),
            "primitive": graph.program.equations[number].primitive,
            "source": str(graph.program.equations[number].source or ""),
            "at": scene.of_equation.get(number),
        }
        for number in numbers
    ]
