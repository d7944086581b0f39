"""What a capture can be asked to do."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from jax_debug_widgets.store import Budget

_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Options:
    """The options of `%%jaxdebug` and of `jax_debug_widgets.capture`.

    Attributes:
      echo: also write prints to stdout, exactly as JAX would.
      barrier: wait at the end until all effects have drained.
      timeout: seconds after which that wait gives up; None waits for ever.
      stuck_after: seconds after which a host function that has not returned is called stuck.
      max_events, max_mb: how much of the run is kept, in events and MiB; the oldest goes first, and is counted.

    Raises:
      ValueError: a number that is not positive.
    """

    echo: bool = False
    barrier: bool = True
    timeout: float | None = 60.0
    stuck_after: float = 10.0
    max_events: int = 2_000_000
    max_mb: float = 256.0

    def __post_init__(self) -> None:
        for name in ("timeout", "stuck_after", "max_events", "max_mb"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and not math.isnan(value)):
                msg = f"{name} must be greater than 0, got {value!r}"
                raise ValueError(msg)

    @property
    def budget(self) -> Budget:
        """What the store may hold."""
        return Budget(self.max_events, int(min(max(self.max_mb * _MEBIBYTE, 1), sys.maxsize)))
