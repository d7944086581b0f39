"""Make findings of the records of checks in programs that ran; a table has the function for each check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.passes.births import ARGUMENTS
from jax_debug_widgets.checks.births import born
from jax_debug_widgets.checks.casts import nan_argument, unsafe_cast
from jax_debug_widgets.checks.key_calls import key_of_two_calls
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.leaks import leak
from jax_debug_widgets.checks.lists import numbers_as_arguments
from jax_debug_widgets.checks.oob import out_of_bounds
from jax_debug_widgets.checks.purity.findings import side_effect
from jax_debug_widgets.checks.x64 import truncated_to_32_bits
from jax_debug_widgets.events import Finding
from jax_debug_widgets.watch import is_library

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_TELLERS: dict[str, Callable[[LineHits, NameFile], Finding | None]] = {
    "oob": out_of_bounds,
    "nonfinite": born,
    "casts": unsafe_cast,
    "numpy": nan_argument,
    "x64": truncated_to_32_bits,
    "purity": side_effect,
    "leaks": leak,
    "keys": key_of_two_calls,
    "lists": numbers_as_arguments,
}
"""Check -> the function that makes a finding of what was seen at one line, or None where that is no finding."""


def _teller_of(option: str) -> Callable[[LineHits, NameFile], Finding | None]:
    if option not in _TELLERS:
        msg = f"the check {option} has no row in `_TELLERS` of checks/device.py"
        raise LookupError(msg)
    return _TELLERS[option]


def found_while_running(
    seen: Sequence[LineHits], name_file: NameFile, event_of: Callable[[LineHits], int]
) -> list[Finding]:
    """The findings, in the order of time; `event_of` says which event shows a NaN that was born, -1 for none."""
    # What was not finite before is given to the calls that follow.
    odd = [one for one in seen if one.checked.option == Kind.NONFINITE.option]
    told = [(one, _told(one, name_file)) for one in seen if one.checked.primitive != ARGUMENTS or one is odd[0]]
    shown = [
        replace(finding, event=event_of(one)) if finding.kind == Kind.NONFINITE.word else finding
        for one, finding in told
        if finding is not None
    ]
    findings = {(one.file, one.span, one.kind): one for one in reversed(shown)}
    # What is read outside of the bounds may be NaN: that is one finding, the index.
    outside = {(one.file, one.span) for one in findings.values() if one.kind == Kind.OUT_OF_BOUNDS.word}
    return [
        one
        for one in reversed(findings.values())
        if one.kind != Kind.NONFINITE.word or (one.file, one.span) not in outside
    ]


def _at_users_line(finding: Finding, seen: LineHits, name_file: NameFile) -> Finding:
    """The finding in a library's line, moved to the line of the user's that has called it."""
    own = next((frame for frame in seen.checked.frames if not is_library(frame.file)), None)
    if own is None or not is_library(finding.file):
        return finding
    where, span = f"{name_file(own.file)}:{own.line}", (own.line, own.column, own.end_line, own.end_column)
    headline = f"{finding.headline}, in {finding.where}"
    made = Finding.at(finding.kind, where, headline, finding.why, (), finding.advice, file=own.file, span=span)
    return replace(made, seen=finding.seen)


def _told(seen: LineHits, name_file: NameFile) -> Finding | None:
    """The finding of one line; where its words cannot be found, that something was seen there."""
    try:
        finding = _teller_of(seen.checked.option)(seen, name_file)
        return None if finding is None else _at_users_line(finding, seen, name_file)
    except Exception as error:  # noqa: BLE001 - a fault of ours: the user's cell and the other findings go on.
        frame = seen.checked.frames[0]
        option = seen.checked.option
        word = next((kind.word for kind in Kind if kind.option == option), option)
        why = f"What it is cannot be told: {type(error).__name__}: {error}."
        where = f"{name_file(frame.file)}:{frame.line}"
        span = frame.line, frame.column, frame.end_line, frame.end_column
        headline = f"the check {option} has found something in {seen.checked.primitive}"
        return Finding.at(word, where, headline, why, file=frame.file, span=span, seen=seen.count)
