"""When something was found first, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jax_debug_widgets.events.amounts import lane_words

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits


def moment(seen: LineHits, lanes: Sequence[int] = ()) -> str:
    """`, call 2, step 3, lane 1`: as far as there are any; the first call is not told."""
    steps = seen.numbers[1 : 1 + seen.checked.loops]
    said = [f"call {seen.call}"] if seen.call else []
    if steps:
        said.append(f"step {', '.join(map(str, steps))}" if len(steps) == 1 else f"steps {', '.join(map(str, steps))}")
    if lanes:
        said.append(lane_words(lanes))
    return "".join(f", {one}" for one in said)
