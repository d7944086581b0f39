"""Make findings about retraces, stale reads, keys and exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets.checks import Kind
from jax_debug_widgets.events import Finding

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets.checks import Explanation
    from jax_debug_widgets.checks.retraces import FunctionTraces
    from jax_debug_widgets.events import StaleRead
    from jax_debug_widgets.taps.sites import NameFile


def of_retraces(found: FunctionTraces, name_file: NameFile) -> Finding:
    """Make the finding about a function that was traced again and again."""
    where = f"{name_file(found.file)}:{found.span[0]}"
    message = f"{where}: {found.headline}. {' '.join(f'{reason}.' for reason in found.reasons)}"
    reasons = " ".join(f"{reason}." for reason in found.reasons)
    return Finding(
        Kind.RETRACE.word,
        None,
        0,
        found.count,
        0,
        message,
        where,
        (),
        found.headline,
        reasons,
        "",
        found.file,
        found.span,
    )


def of_stale(read: StaleRead) -> Finding:
    """Make the finding about an old value that a cached program still uses."""
    span = read.line, -1, read.line, -1
    texts = read.headline, read.reason if read.headline else ""
    return Finding(Kind.STALE.word, None, 0, 0, 0, read.message, read.where, (), *texts, "", read.file, span)


def of_lane_loop(loop: Frame, choice: Frame, name_file: NameFile) -> str:
    """Write the note about a loop in a branch that a `vmap` runs for every lane."""
    where, chosen = (f"{name_file(one.file)}:{one.line}" for one in (loop, choice))
    return (
        f"{where}: under vmap this loop ends when its condition is false in all lanes, also in those whose result {chosen} "
        "leaves out: a cond runs both branches for every lane. If it does not end, choose what these lanes begin with as well: "
        "jnp.where(pred, x, safe)."
    )


def explained(explanation: Explanation, name_file: NameFile) -> Finding:
    """Make the finding about an exception."""
    where = f"{name_file(explanation.file)}:{explanation.line}"
    sentences = [f"{where}: {explanation.headline}.", explanation.why, explanation.advice]
    if explanation.fix:
        sentences.insert(2, f"Write: {'; '.join(line.strip() for line in explanation.fix)}")
    message = " ".join(filter(None, sentences))
    span = explanation.line, explanation.column, explanation.end_line, explanation.end_column
    own = explanation.headline, explanation.why, explanation.advice, explanation.file, span
    return Finding(explanation.kind.word, None, 0, 0, 0, message, where, explanation.fix, *own)
