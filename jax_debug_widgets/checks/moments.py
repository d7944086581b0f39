"""Describe in words when a check first found something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jax_debug_widgets.events.amounts import lane_text

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits


def moment(seen: LineHits, lanes: Sequence[int] = ()) -> str:
    """Return words such as `, call 2 of its program, step 3, device 2, lane 1`; call 0 is left out.

    For nested loops there are several steps: `, step 3, 0`.
    """
    steps = seen.numbers[1 : 1 + seen.checked.loops]
    call = f"call {seen.call} of its program" if seen.call else ""
    step = f"step {', '.join(map(str, steps))}" if steps else ""
    device = "" if seen.checked.device is None else f"device {seen.checked.device}"
    return "".join(f", {one}" for one in (call, step, device, lane_text(lanes)) if one)
