"""Make findings about 64-bit numbers that JAX truncated to 32 bits (S12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets._jax.tracing.precision import USED
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.events import Finding

if TYPE_CHECKING:
    from jax_debug_widgets._jax.tracing.precision import Truncated
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_ADVICE = "Keep 64 bits: set it before the first array is made, or JAX_ENABLE_X64=1; or say 32 bits yourself."


def truncated_to_32_bits(seen: LineHits, name_file: NameFile) -> Finding:
    """Make the finding of 64-bit numbers that were truncated to 32 bits."""
    frame = seen.checked.frames[0]
    facts: Truncated = seen.checked.facts
    used = USED[facts.dtype]
    how = "was asked for" if facts.asked else f"came as `{facts.name}`" if facts.name else "came"
    where = f"{name_file(frame.file)}:{frame.line}"
    why = f"JAX computes in 32 bits unless jax_enable_x64 is set.{_lost(facts)}"
    fix = ('jax.config.update("jax_enable_x64", True)',)
    span = frame.line, frame.column, frame.end_line, frame.end_column
    headline = f"{facts.dtype} {how}; {used} is used"
    return Finding.at(Kind.X64.word, where, headline, why, fix, _ADVICE, file=frame.file, span=span, seen=seen.calls)


def _lost(facts: Truncated) -> str:
    if facts.wrapped:
        return f" {facts.wrapped} of {facts.size} values wrapped around: {facts.first} became {facts.became}."
    if facts.infinite:
        return f" {facts.infinite} of {facts.size} values became infinite: {facts.first}."
    return f" The largest relative error is {facts.error:.1e}." if facts.error else ""
