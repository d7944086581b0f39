"""Decide whether the operands of a program's prints may be further results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import jax

from jax_debug_widgets._jax.compat.private import config
from jax_debug_widgets._jax.passes.result_passing import (
    ReportingProgram,
    is_quick,
    is_straight,
)


class HandoverSettings(Protocol):
    """The settings of a capture, as far as further results need them.

    Attributes:
      hands_over: whether programs return the operands of their prints as further results, if they can.
      handing: the same settings with `hands_over` True; None if that is not allowed.
      watch: the values to watch; None for none.
    """

    hands_over: bool
    handing: Any
    watch: Any


def are_given_away_already(lowered: Any) -> bool:
    """Return whether JAX has lowered a program with donated arguments, for any caller."""
    # The tuple of donated arguments is the only tuple of booleans in the cache's keys.
    parts = (part for key in lowered.cache_keys() for part in key[2])
    return any(isinstance(part, tuple) and True in map(_is_true, part) for part in parts)


def _is_true(one: object) -> bool:
    return one is True


def may_hand_over(program: Any, settings: HandoverSettings) -> bool:
    if settings.watch is None:
        return is_straight(program)
    return is_quick(program) and (is_straight(program) or not program.jaxpr.effects)


def must_call() -> bool:
    # With `debug_nans`, JAX would search our results for NaNs too. With several processes, each has only a part of a
    # result.
    return config.debug_nans.value or config.debug_infs.value or jax.process_count() > 1


def would_take(reporting: ReportingProgram, program: Any, donated: Sequence[bool]) -> bool:
    """Return whether JAX would give a donated buffer to a print's result; no result of the user can use that buffer."""

    def types(avals: Iterable[Any]) -> Counter[Any]:
        return Counter((aval.shape, aval.dtype) for aval in avals if hasattr(aval, "shape"))  # Tokens have no shape.

    given = types(aval for aval, is_donated in zip(program.in_avals, donated, strict=True) if is_donated)
    return bool((given - types(program.out_avals)) & types(reporting.program.out_avals[-reporting.count :]))
