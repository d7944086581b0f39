"""Make the finding about a callback that JAX has refused. If only `vmap_method` is missing, it has the rewritten call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.words import WORDS
from jax_debug_widgets.checks.written import written_at
from jax_debug_widgets.events import Finding

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets.taps.refusals import RefusedCallback
    from jax_debug_widgets.taps.sites import NameFile

_REASONS = {
    "vmap": "under vmap",
    "jvp": "under a derivative",
    "vmap of cond": "in a cond under vmap",
    "vmap of while": "in a while under vmap",
    "devices": "on several devices",
    "partly manual": "in a shard_map over some axes",
}


def refused_callback(refused: RefusedCallback, name_file: NameFile) -> Finding:
    """Make the finding about a refused callback."""
    frame, words = refused.frame, WORDS[Kind.CALLBACK]
    where = f"{name_file(frame.file)}:{frame.line}" if frame.line else ""
    headline = words.headline.format(code=refused.call, names=_REASONS[refused.reason])
    advice = f"{refused.why[0].upper()}{refused.why[1:]}"
    fix = _with_method(frame) if (refused.primitive, refused.reason) == ("pure_callback", "vmap") else ()
    span = frame.line, frame.column, frame.end_line, frame.end_column
    return Finding.at(Kind.CALLBACK.word, where, headline, words.why, fix, advice, file=frame.file, span=span)


def _with_method(frame: Frame) -> tuple[str, ...]:
    """Write the call with `vmap_method`; empty if the source of the line is not the call."""
    written = written_at(frame)
    if written is None or not isinstance(written.node, ast.Call) or written.called != "pure_callback":
        return ()
    keywords = [one for one in written.node.keywords if one.arg != "vmap_method"]
    method = ast.keyword("vmap_method", ast.Constant("sequential"))
    return (ast.unparse(ast.Call(written.node.func, written.node.args, [*keywords, method])),)
