"""Find the source range of a Python instruction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import CodeType

from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.compat.private import xla_client

_FAR = 2**13
"""From this offset on, an instruction is looked up in a cached list, because Python reads a code's positions from the
beginning.
"""


def location_of(code: CodeType, offset: int) -> tuple[int, int, int, int]:
    """Return line, column, last line and last column of an instruction; -1 for unknown ones."""
    if offset < _FAR:
        return xla_client.Traceback.code_addr2location(code, offset)
    line, end_line, column, end_column = (-1 if one is None else one for one in _positions_of(code)[offset // 2])
    return line, column, end_line, end_column


@partial(cached_by_identity, most=8)
def _positions_of(code: CodeType) -> Sequence[tuple[int | None, int | None, int | None, int | None]]:
    return tuple(code.co_positions())
