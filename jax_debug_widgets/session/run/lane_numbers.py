"""Find values that are one number in each lane of a `vmap`: the loss of a training that is vmapped.

The twin of `js/src/store/lanes.ts`; both are tested on `tests/overview_cases.json`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.events import Watched


def lane_count(watch: Watched) -> int:
    """Return how many lanes have one number each; 0 if a lane has an array, or if there are no lanes."""
    is_number = bool(watch.vmapped) and len(watch.vmapped) == len(watch.shape)
    return math.prod(watch.vmapped) if is_number else 0


def mean_text(count: int, bad: int) -> str:
    """Write of how many lanes a number is the mean, and how many of them are not finite: `mean of 8 lanes, 1 not finite`."""
    return f"mean of {count} lanes" + (f", {bad} not finite" if bad else "")
