"""Describe the cost of a breakpoint: which values it keeps whole, which it copies, and what waits for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from jax_debug_widgets.events.amounts import in_bytes, plural

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall
    from jax_debug_widgets.events import Tap


def cost_of(tap: Tap, equation: DebugCall) -> str:
    """Return the cost, `3 values, 4.2 kB: they are computed before the stop, …`, without a full stop."""
    point = equation.stop
    assert point is not None
    skipped = int(point.conditional)
    shapes, dtypes = equation.shapes[skipped:], equation.dtypes[skipped:]
    size = sum(math.prod(shape) * dtype.itemsize for shape, dtype in zip(shapes, dtypes, strict=True))
    when = "where the condition holds" if point.conditional else "each time"
    values = plural(len(shapes), "value")
    moved = (
        f"{values}, {in_bytes(size)}: they are computed before the stop, and copied to the host {when}"
        if shapes
        else f"calls the host {when}"
    )
    waits = (
        "; the program goes on with the values that come back"
        if point.tree is not None and point.tree.num_leaves
        else ""
    )
    nesting = tap.nesting
    devices = ""
    if nesting.groups > 1:
        devices = f"; on one device of each of {nesting.groups} groups"
    elif nesting.on_each_device and nesting.replicas > 1:
        devices = f"; on each of {nesting.replicas} devices"
    order = "ordered with other ordered effects" if equation.ordered else "other effects may come before or after it"
    return f"{moved}{waits}{devices}; {order}"
