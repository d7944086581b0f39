"""Give access to the programs that are compiled in a capture.

To the user, such a program shows what JAX makes without us.
"""

from __future__ import annotations

from functools import partial
from typing import Any


def tapped(lowered: Any) -> Any:
    """Return the `jax.stages.Lowered` with our taps for a result of `lower` in a capture; else return the argument."""
    return lowered.compile.args[0].__self__ if isinstance(lowered.compile, partial) else lowered
