"""Make findings about casts to integers that cannot represent the numbers (S13)."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from jax_debug_widgets._jax.passes.words import number_of_words, wrapped
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.moments import moment
from jax_debug_widgets.checks.written import written_at
from jax_debug_widgets.events import Finding
from jax_debug_widgets.events.amounts import plural

if TYPE_CHECKING:
    from jax_debug_widgets._jax.passes.casts import Cast
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_CASTING = frozenset({"astype", "asarray", "array", "convert_element_type", "full_like", "view"})


def unsafe_cast(seen: LineHits, name_file: NameFile) -> Finding | None:
    """Make the finding about a cast that cannot represent the number; None if the user's source shows no cast."""
    frame, facts = seen.checked.frames[0], seen.checked.facts
    written = written_at(frame)
    if written is None or not (written.called in _CASTING or written.called == facts.new):
        return None
    cast: Cast = facts
    count, position, *words = (seen.numbers[0], *seen.numbers[1 + seen.checked.loops :])
    is_integer = cast.old.startswith(("int", "uint"))
    value = number_of_words(cast.kind, words)
    at = np.unravel_index(position, cast.shape) if cast.shape else ()
    lanes = [int(at[lane]) for lane in cast.lanes]
    text = str(value) if is_integer else _text(value, cast.kind)
    where = f"{name_file(frame.file)}:{frame.line}"
    verb = "does" if count == 1 else "do"
    headline = f"{plural(count, 'value')} {verb} not fit {cast.new}, the first is {text}{moment(seen, lanes)}"
    why = f"What a {cast.old} beyond the range of {cast.new} becomes is not defined: XLA saturates, NumPy wraps around."
    if is_integer:
        why = f"The lowest {jnp.iinfo(cast.new).bits} bits stay: {text} becomes {wrapped(value, cast.new)}."
    fix = _clipped(written.node, cast)
    span = frame.line, frame.column, frame.end_line, frame.end_column
    return Finding.at(Kind.CAST.word, where, headline, why, fix, file=frame.file, span=span, seen=seen.count)


def is_of_nan(finding: Finding) -> bool:
    """Return whether a finding is about a cast whose first wrong number is NaN."""
    return finding.kind == Kind.CAST.word and "the first is NaN" in finding.headline


def _text(value: float, kind: str) -> str:
    if math.isnan(value):
        return "NaN"
    return f"{value:.9g}" if float(f"{value:.9g}") == value or kind == "float32" else repr(value)


def _clipped(node: ast.expr, cast: Cast) -> tuple[str, ...]:
    info = jnp.iinfo(cast.new)  # NumPy does not know int4.
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "astype":
        return ()
    if info.bits > 16:  # noqa: PLR2004 - float32 cannot represent the bounds of larger types.
        return ()
    arguments = ", ".join(map(ast.unparse, node.args))
    return (f"jnp.clip({ast.unparse(node.func.value)}, {info.min}, {info.max}).astype({arguments})",)
