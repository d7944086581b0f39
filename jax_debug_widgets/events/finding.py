"""Something about a run that its user should know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.events.site import CallSite


@dataclass(frozen=True)
class Finding:
    """A call site that fired otherwise than its program says.

    Attributes:
      kind: `hoisted` (moved out of its loop by XLA), `lost` (dropped by XLA) or `missing` (fewer, for a reason not known).
      site: the call site.
      expected: firings that the program says, over the calls concerned; at least so many for `lost`.
      seen: firings that came.
      calls: how many calls it concerns.
      message: a sentence: what happened, why, and what to write instead.
    """

    kind: str
    site: CallSite
    expected: int
    seen: int
    calls: int
    message: str
