"""Make findings about indices of `lax.switch` that no branch has (S6)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.moments import moment
from jax_debug_widgets.events import Finding
from jax_debug_widgets.events.amounts import plural

if TYPE_CHECKING:
    from jax_debug_widgets._jax.passes.switches import Switch
    from jax_debug_widgets.checks.written import SourceExpression
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile


def missing_branch(seen: LineHits, written: SourceExpression, name_file: NameFile) -> Finding | None:
    """Make the finding about an index that no branch has; None if the source does not show the call of `switch`."""
    if written.called != "switch":
        return None
    frame, facts = seen.checked.frames[0], _facts_of(seen)
    position, index, last = seen.numbers[1 + seen.checked.loops :]
    at = np.unravel_index(position, facts.shape) if facts.shape else ()
    lanes = [int(at[lane]) for lane in facts.lanes]
    headline = f"index {index} is outside the {last + 1} branches{moment(seen, lanes)}"
    often = f" {seen.count} indices were outside, in {plural(seen.calls, 'call')}." if seen.count > 1 else ""
    why = f"lax.switch raises no IndexError: branch {0 if index < 0 else last} was taken.{often}"
    where, span = f"{name_file(frame.file)}:{frame.line}", (frame.line, frame.column, frame.end_line, frame.end_column)
    told = (Kind.OUT_OF_BOUNDS.word, where, headline, why, (), _advice(written, last))
    return Finding.at(*told, file=frame.file, span=span, seen=seen.count, lane=tuple(lanes))


def _facts_of(seen: LineHits) -> Switch:
    return seen.checked.facts


def _advice(written: SourceExpression, last: int) -> str:
    valid = f"The branches are 0 to {last}."
    match written.node:
        case ast.Call(args=[index, *_]) if not isinstance(index, ast.Starred):
            return f"{valid} If an index outside is meant, say so: jnp.clip({ast.unparse(index)}, 0, {last})."
    return valid
