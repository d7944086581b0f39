"""What checks have found in programs that ran, as findings: a table has who tells what each check has found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jax_debug_widgets.checks.births import born
from jax_debug_widgets.checks.casts import nan_argument, unsafe_cast
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.oob import out_of_bounds
from jax_debug_widgets.checks.x64 import truncated_to_32_bits

if TYPE_CHECKING:
    from jax_debug_widgets.events import Finding
    from jax_debug_widgets.taps.check_log import Seen
    from jax_debug_widgets.taps.sites import NameFile

_TELLERS: dict[str, Callable[[Seen, NameFile], Finding | None]] = {
    "oob": out_of_bounds,
    "nonfinite": born,
    "casts": unsafe_cast,
    "numpy": nan_argument,
    "x64": truncated_to_32_bits,
}
"""Check -> what tells of one line, if it is to be told."""


def found_while_running(seen: Sequence[Seen], name_file: NameFile) -> list[Finding]:
    """The findings, in the order of time."""
    told = [_TELLERS[one.checked.option](one, name_file) for one in seen]
    findings = {(one.file, one.span, one.kind): one for one in reversed(told) if one is not None}
    # What is read outside of the bounds may be NaN: that is one finding, the index.
    outside = {(one.file, one.span) for one in findings.values() if one.kind == Kind.OUT_OF_BOUNDS.word}
    return [
        one
        for one in reversed(findings.values())
        if one.kind != Kind.NONFINITE.word or (one.file, one.span) not in outside
    ]
