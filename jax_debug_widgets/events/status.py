"""How a run as a whole is doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

BarrierState = Literal["off", "idle", "pending", "drained", "timeout", "failed"]
"""`off`: no automatic barrier; `idle`: no effects yet; `timeout`: the barrier gave up, effects are still pending."""

RunState = Literal["running", "waiting", "done", "failed"]
"""`waiting`: the program has returned, its effects have not drained."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """The effects barrier: `pending` names the calls whose effects have not drained, oldest first; `waited` in seconds."""

    state: BarrierState
    pending: tuple[str, ...]
    waited: float
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Status:
    """What the header of the panel and `%jaxdebug status` say.

    Attributes:
      started: seconds since the epoch; `elapsed`: seconds since then.
      events: how many have fired; `rate`: per second, over the last second.
      dropped: how many of them the store no longer holds; `dropped_by_site`: the same by site id.
      muted: ids of the sites that are switched off.
      notes: what could not be done and why, in sentences.
    """

    state: RunState
    title: str
    started: float
    elapsed: float
    events: int
    rate: float
    dropped: int
    dropped_by_site: Mapping[int, int]
    muted: tuple[int, ...]
    barrier: Barrier
    notes: tuple[str, ...]
