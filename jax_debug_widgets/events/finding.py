"""Something about a run that its user should know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.events.site import CallSite


@dataclass(frozen=True)
class Finding:
    """A call site that tells less, or fired less often, than one would think.

    Attributes:
      kind: `formatted` (while tracing: an f-string shows the tracer), `hoisted` (moved out of its loop by XLA), `lost`
        (dropped by XLA), `missing` (fewer, for a reason not known), `phantom` (some fired only because of a `vmap`) or
        `nonfinite` (NaN or infinite values: `seen` counts them).
      site: the call site.
      expected: firings that the program says, over the calls concerned; at least so many for `lost`; events that are no
        phantoms; 0 where it is not about their number.
      seen: firings, or events, that came.
      calls: how many calls it concerns.
      message: a sentence: what happened, why, and what to write instead.
    """

    kind: str
    site: CallSite
    expected: int
    seen: int
    calls: int
    message: str

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.message}>"


@dataclass(frozen=True)
class NonFinite:
    """How many numbers were NaN and how many infinite, and the position of the first event with one."""

    nan: int
    inf: int
    first: int
