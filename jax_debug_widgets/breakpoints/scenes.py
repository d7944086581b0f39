"""Make the location of a stop from the tap that fired and its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.compat.arrays import shown
from jax_debug_widgets._jax.origins.stack import StackFrame
from jax_debug_widgets.breakpoints.firing_frames import frame_at, frames_of_firing, variables_shown
from jax_debug_widgets.breakpoints.nonfinite import nonfinite_text
from jax_debug_widgets.breakpoints.stop import Replaceable, StopLocation
from jax_debug_widgets.events import CallSite, Tap
from jax_debug_widgets.taps.source import CallText, call_text, is_statement

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import StopPoint
    from jax_debug_widgets.taps.gate import Firings

Arrays = tuple[np.ndarray, ...]
Lanes = Sequence[tuple[int, ...]]


def text_of(site: CallSite) -> CallText:
    """Return the call at a site as written."""
    return call_text(*_range_of(site))


def _range_of(site: CallSite) -> tuple[str, int, int, int, int]:
    return site.file, site.line, site.column, site.end_line, site.end_column


def breakpoint_scene(tap: Tap, arrays: Arrays, point: StopPoint, condition: str, hits: int) -> StopLocation:
    """Make the location of a stop at a breakpoint in the program."""
    stopped = stopped_lanes(tap, arrays, point)

    def frames(lane: tuple[int, ...]) -> list[StackFrame]:
        values = [shown(np.asarray(value)) for value in tap.values_of(arrays, lane)]
        return point.frames(values) or [frame_of_site(tap, arrays, lane)]

    words = nonfinite_text(tap, arrays) if condition else ""
    reason = words or (f"{condition} at {tap.site.where}" if condition else f"{_called(tap.site)} at {tap.site.where}")
    return _scene(
        "breakpoint", tap, arrays, reason, point.name, hits, stopped if tap.lanes and condition else None, frames
    )


def event_scene(
    kind: Any,
    tap: Tap,
    arrays: Arrays,
    reason: str,
    firings: Firings,
    known: Callable[[int], Firings],
    hits: int = 0,
    stopped: Lanes | None = None,
) -> StopLocation:
    """Make the location of a stop at another event: a pause, or a condition of `--break-on` that holds.

    Args:
      firings: all firings that came together.
      known: returns the other firings that are known of this step, see `Policy`.
    """

    def frames(lane: tuple[int, ...]) -> list[StackFrame]:
        together = {one.site.id for one, _ in firings}
        before = [fired for fired in known(tap.site.id) if fired[0].site.id not in together]
        return frames_of_firing(tap, arrays, lane, [*before, *firings])

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
) -> StopLocation:
    return StopLocation(
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
    """Return the lanes in which a breakpoint's condition holds; all lanes without a condition."""
    if not point.conditional:
        return list(tap.lane_order)
    return [lane for lane in sorted(tap.lane_order) if bool(tap.values_of(arrays, lane)[0])]


def replaceable_of(tap: Tap, arrays: Arrays, point: StopPoint) -> Replaceable | None:
    """Return the values that a program goes on with after a breakpoint; None if it uses none."""
    if point.tree is None or not point.tree.num_leaves or is_statement(*_range_of(tap.site)):
        return None
    text = text_of(tap.site)
    name = text.first or text.keywords.get("x", "") or point.name or "value"
    return Replaceable(name, point.tree, arrays[point.going_on], tap.mapped[point.going_on])


def frame_of_site(tap: Tap, arrays: Arrays, lane: tuple[int, ...]) -> StackFrame:
    """Make a frame for the place of a tap, with its values as variables."""
    site = tap.site
    return frame_at(site.file, site.line, site.function, variables_shown(tap, arrays, lane))


def _called(site: CallSite) -> str:
    """Describe a breakpoint by its call: `jax.debug.breakpoint()`, or `breakpoint` with its name."""
    start = site.source.find("jax.debug.breakpoint")
    if start >= 0:
        return "jax.debug.breakpoint()"
    return f"breakpoint {site.format!r}" if site.format != "breakpoint" else "breakpoint"
