"""Where a program stands, seen from the tap that fired."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.compat.arrays import shown
from jax_debug_widgets._jax.origins.stack import StackFrame
from jax_debug_widgets.breakpoints.conditions import variables_of
from jax_debug_widgets.breakpoints.nonfinite import nonfinite_words
from jax_debug_widgets.breakpoints.stop import Replaceable, Scene
from jax_debug_widgets.breakpoints.summarised import Summarised
from jax_debug_widgets.events import CallSite, Tap
from jax_debug_widgets.taps.source import CallText, call_text

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import StopPoint

Arrays = tuple[np.ndarray, ...]
Lanes = Sequence[tuple[int, ...]]


def text_of(site: CallSite) -> CallText:
    """The call at a site, as written."""
    return call_text(site.file, site.line, site.column, site.end_line, site.end_column)


def breakpoint_scene(tap: Tap, arrays: Arrays, point: StopPoint, condition: str, hits: int) -> Scene:
    """At a breakpoint of the program's own."""
    stopped = stopped_lanes(tap, arrays, point)

    def frames(lane: tuple[int, ...]) -> list[StackFrame]:
        values = [shown(np.asarray(value)) for value in tap.values_of(arrays, lane)]
        return point.frames(values) or [frame_of_site(tap, arrays, lane)]

    words = nonfinite_words(tap, arrays) if condition else ""
    said = words or (f"{condition} at {tap.site.where}" if condition else f"{_called(tap.site)} at {tap.site.where}")
    return _scene(
        "breakpoint", tap, arrays, said, point.name, hits, stopped if tap.lanes and condition else None, frames
    )


def event_scene(kind: Any, tap: Tap, arrays: Arrays, reason: str, hits: int = 0, stopped: Lanes | None = None) -> Scene:
    """At an event that is no breakpoint: a pause, or a condition that holds."""

    def frames(lane: tuple[int, ...]) -> list[StackFrame]:
        return [frame_of_site(tap, arrays, lane)]

    return _scene(kind, tap, arrays, reason, tap.site.label, hits, stopped if tap.lanes else None, frames)


def _scene(
    kind: Any,
    tap: Tap,
    arrays: Arrays,
    reason: str,
    name: str,
    hits: int,
    stopped: Lanes | None,
    frames: Callable[[tuple[int, ...]], list[StackFrame]],
) -> Scene:
    return Scene(
        kind=kind,
        site=tap.site.id,
        name=name,
        reason=reason,
        phase=tap.site.phase,
        step=(),
        device=tap.nesting.device(tap.coordinates_of(arrays)) if tap.nesting.axes else "",
        hits=hits,
        sizes=tap.lanes,
        stopped=stopped,
        frames=frames,
    )


def stopped_lanes(tap: Tap, arrays: Arrays, point: StopPoint) -> list[tuple[int, ...]]:
    """The lanes in which a breakpoint's condition holds; all where it has none."""
    if not point.conditional:
        return list(tap.lane_order)
    return [lane for lane in sorted(tap.lane_order) if bool(tap.values_of(arrays, lane)[0])]


def replaceable_of(tap: Tap, arrays: Arrays, point: StopPoint) -> Replaceable | None:
    """What goes on from a breakpoint, if anything does."""
    if point.tree is None or not point.tree.num_leaves:
        return None
    text = text_of(tap.site)
    name = text.first or text.keywords.get("x", "") or point.name or "value"
    return Replaceable(name, point.tree, arrays[point.going_on], tap.mapped[point.going_on])


def frame_of_site(tap: Tap, arrays: Arrays, lane: tuple[int, ...]) -> StackFrame:
    """The place of a tap as a frame, its values as variables."""
    site = tap.site
    return StackFrame(
        file=site.file,
        line=site.line,
        function=site.function,
        first_line=1,
        source=tuple(line.rstrip("\n") for line in linecache.getlines(site.file)),
        variables=_variables(tap, arrays, lane),
        globals=globals_of(site.file),
        unset=f"only what has fired is here; write jdw.breakpoint() in {site.function} to see its variables",
    )


def _variables(tap: Tap, arrays: Arrays, lane: tuple[int, ...]) -> dict[str, Any]:
    site, values = tap.site, variables_of(tap, arrays, lane)
    if site.watch is None:
        return {name: shown(np.asarray(value)) for name, value in values.items()}
    if "value" in site.values:
        return {site.label: shown(np.asarray(values["value"]))}
    return {site.label: Summarised(site.watch.shape, site.watch.dtype, values)}


def globals_of(file: str) -> dict[str, Any]:
    """The globals of the module that a file is of; those of the notebook for a cell."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            return vars(module)
    return vars(sys.modules["__main__"])


def _called(site: CallSite) -> str:
    """`jax.debug.breakpoint()`, out of the line it stands in."""
    start = site.source.find("jax.debug.breakpoint")
    if start >= 0:
        return "jax.debug.breakpoint()"
    return f"breakpoint {site.format!r}" if site.format != "breakpoint" else "breakpoint"
