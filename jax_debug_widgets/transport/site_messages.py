"""Make the messages of sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets.transport.run_messages import (
    SiteMessage,
    WatchMessage,
)

if TYPE_CHECKING:
    from jax_debug_widgets.events import (
        Tap,
        Watched,
    )


def site_message(tap: Tap, number: int) -> SiteMessage:
    """Make the message of a call site; `number` is the number of the type that it was compiled for."""
    site = tap.site
    return {
        "id": site.id,
        "type": number,
        "kind": site.kind,
        "ordered": site.ordered,
        "phase": site.phase,
        "where": site.where,
        "file": site.file,
        "line": site.line,
        "column": site.column,
        "end_line": site.end_line,
        "end_column": site.end_column,
        "function": site.function,
        "source": site.source,
        "label": site.label,
        "values": list(site.values),
        "shapes": [list(shape) for shape in tap.shapes],
        "dtypes": [dtype.name for dtype in tap.dtypes],
        "order": site.order,
        "loops": list(tap.nesting.loops),
        "reverse": list(tap.nesting.reverse),
        "leap": tap.nesting.leap,
        "name_stack": site.name_stack,
        "transforms": list(site.transforms),
        "callers": list(site.callers),
        "process": site.process,
        "watch": None if site.watch is None else _watch_message(site.watch),
    }


def _watch_message(watched: Watched) -> WatchMessage:
    return {
        "name": watched.name,
        "role": watched.role,
        "shape": list(watched.shape),
        "dtype": watched.dtype,
        "primitive": watched.primitive,
        "scope": watched.scope,
        "full": watched.full,
        "lanes": list(watched.lanes),
        "value": watched.value,
        "gradient": watched.gradient,
        "intended": list(watched.intended),
        "choice": watched.choice,
        "merges": list(watched.merges),
        "derivatives": [
            {"text": one.text, "file": one.file, "line": one.line, "where": one.where}
            for one in watched.derivatives
            if not one.or_later
        ],
        "given_on": list(watched.given_on),
        "has_ended_lanes": watched.has_ended_lanes,
        "vmapped": list(watched.vmapped),
        "position": list(watched.position),
    }
