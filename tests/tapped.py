"""The programs that are compiled in a capture: who looks at one is shown what JAX makes without us."""

from __future__ import annotations

from functools import partial
from typing import Any


def tapped(lowered: Any) -> Any:
    """The `jax.stages.Lowered` with our taps, of what `lower` gives in a capture; outside of all that itself."""
    return lowered.compile.args[0].__self__ if isinstance(lowered.compile, partial) else lowered
