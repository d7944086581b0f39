"""Turn what checks have recorded in running programs into findings. A table has the function for each check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.passes.births import ARGUMENTS
from jax_debug_widgets._jax.passes.derivative_records import DERIVATIVE
from jax_debug_widgets.checks.births import (
    born,
    is_infinite_argument,
    is_of_residual,
    makes_residual,
    with_argument,
    with_later,
)
from jax_debug_widgets.checks.casts import is_of_nan, unsafe_cast
from jax_debug_widgets.checks.key_findings import key_of_two_calls
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.leaks import is_kept_tracer, leak
from jax_debug_widgets.checks.lists import numbers_as_arguments
from jax_debug_widgets.checks.numpy_differences import numpy_difference
from jax_debug_widgets.checks.oob import HitsAndFinding, out_of_bounds, with_the_same_index
from jax_debug_widgets.checks.purity.findings import side_effect
from jax_debug_widgets.checks.x64 import truncated_to_32_bits
from jax_debug_widgets.events import Finding
from jax_debug_widgets.watch import is_library

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_MAKERS: dict[str, Callable[[LineHits, NameFile], Finding | None]] = {
    "oob": out_of_bounds,
    "nonfinite": born,
    "casts": unsafe_cast,
    "numpy": numpy_difference,
    "x64": truncated_to_32_bits,
    "purity": side_effect,
    "leaks": leak,
    "keys": key_of_two_calls,
    "lists": numbers_as_arguments,
}
"""Check -> the function that makes a finding from the hits at one line, or returns None if there is nothing to report."""


def _maker_of(option: str) -> Callable[[LineHits, NameFile], Finding | None]:
    if option not in _MAKERS:
        msg = f"the check {option} has no row in `_MAKERS` of checks/device.py"
        raise LookupError(msg)
    return _MAKERS[option]


def found_while_running(
    seen: Sequence[LineHits],
    name_file: NameFile,
    event_of: Callable[[LineHits], int],
    *,
    is_leak_explained: bool = False,
) -> list[Finding]:
    """Make the findings, ordered by time.

    Args:
      seen: what the checks have found.
      name_file: returns the name of a file for people.
      event_of: returns the position of the event that shows a NaN or infinity; -1 if none does.
      is_leak_explained: whether an exception about a leaked tracer is explained.
    """
    seen = [one for one in seen if not is_kept_tracer(one, seen, is_leak_explained=is_leak_explained)]
    # A NaN from outside is a finding only if it comes first: a NaN found earlier may be passed to later calls.
    odd = [one for one in seen if one.checked.option == Kind.NONFINITE.option]
    infinite = {id(then): one for one, then in pairwise(odd) if is_infinite_argument(one) and _is_born_of(one, then)}
    chosen = [
        (one, _finding_of(one, name_file))
        for one in seen
        if not _comes_from_outside(one) or (one is odd[0] and one not in infinite.values())
    ]
    chosen = [
        (one, with_argument(finding, infinite[id(one)]) if finding and id(one) in infinite else finding)
        for one, finding in chosen
    ]
    shown = _without_consequences(chosen, infinite, event_of)
    findings = dict[Any, Finding]()
    for one in shown:
        findings.setdefault((one.file, one.span, one.kind), one)
    for one in shown:  # An infinity may be intended, as in log(0). A NaN at the same line is not, and replaces it.
        first = findings[one.file, one.span, one.kind]
        if one.kind == Kind.NONFINITE.word and "NaN" in one.headline and "NaN" not in first.headline:
            findings[one.file, one.span, one.kind] = one
    # A cast of a NaN is left out if a finding says where a NaN of the same call arose.
    calls = {(one.call, one.newest) for one, finding in chosen if finding and finding.kind == Kind.NONFINITE.word}
    of_nan = {id(one) for seen, one in chosen if one and is_of_nan(one) and (seen.call, seen.newest) in calls}
    findings = {key: one for key, one in findings.items() if id(one) not in of_nan}
    # A read out of bounds may give NaN. Then only the index is reported.
    outside = {(one.file, one.span) for one in findings.values() if one.kind == Kind.OUT_OF_BOUNDS.word}
    return [one for one in findings.values() if one.kind != Kind.NONFINITE.word or (one.file, one.span) not in outside]


def _without_consequences(
    chosen: Sequence[HitsAndFinding], infinite: Mapping[int, LineHits], event_of: Callable[[LineHits], int]
) -> list[Finding]:
    """Return the findings. A NaN that a later program made from an earlier infinity is added to the finding about that.

    Args:
      chosen: the records with their findings.
      infinite: id of a record -> the record about the infinite arguments of the same call.
      event_of: see `found_while_running`.
    """
    shown: list[Finding] = []
    first, residual = None, None  # The positions of the first NaN or infinity, and of the latest of a forward pass.
    for one, finding in with_the_same_index(chosen):
        if finding is None:
            continue
        is_birth = finding.kind == Kind.NONFINITE.word
        cause = first if id(one) in infinite else residual if is_of_residual(one) else None
        if is_birth and cause is not None:
            shown[cause] = with_later(shown[cause], finding)
            continue
        if is_birth:
            first = len(shown) if first is None else first
            residual = len(shown) if makes_residual(one) else residual
        shown.append(replace(finding, event=event_of(one)) if is_birth else finding)
    return shown


def _is_born_of(given: LineHits, then: LineHits) -> bool:
    """Return whether the second record is about a value that arose in the call with the infinite argument."""
    return not _comes_from_outside(then) and (given.call, given.newest) == (then.call, then.newest)


def _comes_from_outside(seen: LineHits) -> bool:
    """Return whether a record is about a NaN or infinity that arrived in a program or in an un-jitted derivative."""
    return seen.checked.primitive in (ARGUMENTS, DERIVATIVE)


def _at_users_line(finding: Finding, seen: LineHits, name_file: NameFile) -> Finding:
    """Move a finding at a line of a library to the user's line that called the library."""
    own = next((frame for frame in seen.checked.frames if not is_library(frame.file)), None)
    if own is None or not is_library(finding.file):
        return finding
    where, span = f"{name_file(own.file)}:{own.line}", (own.line, own.column, own.end_line, own.end_column)
    headline = f"{finding.headline}, in {finding.where}"
    made = Finding.at(finding.kind, where, headline, finding.why, (), finding.advice, file=own.file, span=span)
    return replace(made, seen=finding.seen)


def _finding_of(seen: LineHits, name_file: NameFile) -> Finding | None:
    """Make the finding about one line. If that fails, make one which says only that the check has found something there."""
    try:
        finding = _maker_of(seen.checked.option)(seen, name_file)
        return None if finding is None else _at_users_line(finding, seen, name_file)
    except Exception as error:  # noqa: BLE001 - an error of this package must not stop the user's cell.
        frame = seen.checked.frames[0]
        option = seen.checked.option
        word = next((kind.word for kind in Kind if kind.option == option), option)
        why = f"The explanation failed: {type(error).__name__}: {error}."
        where = f"{name_file(frame.file)}:{frame.line}"
        span = frame.line, frame.column, frame.end_line, frame.end_column
        headline = f"the check {option} has found something in {seen.checked.primitive}"
        return Finding.at(word, where, headline, why, file=frame.file, span=span, seen=seen.count)
