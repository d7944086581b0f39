"""Make findings about indices that were out of bounds while a program ran (S6)."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.passes.out_of_bounds import Indexing
from jax_debug_widgets._jax.passes.switches import Switch
from jax_debug_widgets._jax.passes.words import number_of_words, recorded_type, wrapped
from jax_debug_widgets._jax.running.indexing import OutsideIndex
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.moments import moment
from jax_debug_widgets.checks.switches import missing_branch
from jax_debug_widgets.checks.written import SourceExpression, written_at, written_in
from jax_debug_widgets.events import Finding
from jax_debug_widgets.events.amounts import plural

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_INDEXING = frozenset(
    {
        "take",
        "take_along_axis",
        "take_along_dim",
        "get",
        "set",
        "add",
        "subtract",
        "multiply",
        "mul",
        "divide",
        "power",
        "min",
        "max",
        "apply",
        "dynamic_slice",
        "dynamic_index_in_dim",
        "dynamic_slice_in_dim",
        "dynamic_update_slice",
        "dynamic_update_slice_in_dim",
        "dynamic_update_index_in_dim",
        "gather",
        "scatter",
        "scatter_add",
        "scatter_mul",
        "scatter_min",
        "scatter_max",
        "scatter_sub",
        "put_along_axis",
        "segment_sum",
        "segment_max",
        "segment_min",
        "segment_prod",
    }
)
"""The functions that take indices from the user."""

_EXACT = frozenset({"gather", "scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter_sub"})
"""The functions that take a negative index literally; others count it from the end."""


def out_of_bounds(seen: LineHits, name_file: NameFile) -> Finding | None:
    """Make the finding about an index out of bounds.

    It is None if the call sets `mode`, or if the source shows no index of the user's.
    """
    frame = seen.checked.frames[0]
    written = written_at(frame)
    if written is not None and isinstance(seen.checked.facts, Switch):
        return missing_branch(seen, written, name_file)
    if written is None or written.sets_mode or not _is_users(written):
        return None
    if isinstance(seen.checked.facts, OutsideIndex):
        return _without_jit(seen, seen.checked.facts, written, name_file)
    facts: Indexing = seen.checked.facts
    position, *words = seen.numbers[1 + seen.checked.loops :]
    at = np.unravel_index(position, (*facts.shape, len(facts.axes)))
    column = int(at[-1])
    axis, size, last = facts.axes[column], facts.sizes[column], facts.last[column]
    lanes = [int(at[lane]) for lane in facts.lanes]
    index, value, became = _index_of(facts, column, words)
    if not facts.written and value < 0 and not _is_literal(written):
        index = value - size
    where = f"{name_file(frame.file)}:{frame.line}"
    headline = f"index {index} is outside axis {axis} (size {size}){moment(seen, lanes)}"
    if last != size - 1:
        length = size - last
        headline = f"the slice {index}:{index + length} is outside axis {axis} (size {size}){moment(seen, lanes)}"
    sliced = f" The slice has {plural(size - last, 'element')}." if last != size - 1 else ""
    often = f" {seen.count} indices were outside, in {plural(seen.calls, 'call')}." if seen.count > 1 else ""
    why = f"JAX raises no IndexError in a compiled program: {became}{_what_happened(facts, value, last, size)}.{sliced}{often}"
    fix, advice = _within(written, index, last, size), _advice(written, facts, index, last, size)
    span = frame.line, frame.column, frame.end_line, frame.end_column
    found = (Kind.OUT_OF_BOUNDS.word, where, headline, why, fix, advice)
    return Finding.at(*found, file=frame.file, span=span, seen=seen.count)


HitsAndFinding = tuple["LineHits", Finding | None]


def with_the_same_index(found: Sequence[HitsAndFinding]) -> list[HitsAndFinding]:
    """Merge the findings of one call about one index: the same value and size, and a common name. The first lists all lines."""
    kept: list[HitsAndFinding] = []
    others: dict[int, dict[str, None]] = {}
    for seen, finding in found:
        first = next((at for at, one in enumerate(kept) if _is_same_index(one, (seen, finding))), None)
        if first is None or finding is None:
            kept.append((seen, finding))
        else:
            others.setdefault(first, {})[finding.where] = None
    for at, lines in others.items():
        seen, finding = kept[at]
        lines.pop(finding.where if finding else "", None)
        if finding is not None and lines:
            kept[at] = seen, finding.saying(f"The same index is outside at {', '.join(lines)} as well.")
    return kept


def _is_same_index(one: HitsAndFinding, other: HitsAndFinding) -> bool:
    (seen, finding), (also, another) = one, other
    if finding is None or another is None or not all(isinstance(each.checked.facts, Indexing) for each in (seen, also)):
        return False
    is_one_call = (seen.call, seen.newest) == (also.call, also.newest)
    is_one_value = _value_and_size(finding) == _value_and_size(another)
    return is_one_call and is_one_value and bool(_names_of_index(finding) & _names_of_index(another))


def _value_and_size(finding: Finding) -> tuple[str, ...]:
    found = re.match(r"(?:index|the slice) (-?\d+).* \(size (\d+)\)", finding.headline)
    return found.groups() if found else (finding.where,)


def _names_of_index(finding: Finding) -> set[str]:
    """Return the names in an index; for a function call, those in all arguments but the first."""
    written = written_in(finding.file, finding.span)
    match written.node if written is not None else None:
        case ast.Subscript(slice=index):
            parts: list[ast.expr] = [index]
        case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="at"), slice=index))):
            parts = [index]
        case ast.Call(args=[_, *parts]):
            pass
        case _:
            parts = []
    return {one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)}


def _without_jit(seen: LineHits, facts: OutsideIndex, written: SourceExpression, name_file: NameFile) -> Finding:
    frame = seen.checked.frames[0]
    headline = f"index {facts.index} is outside axis {facts.axis} (size {facts.size})"
    became = "the update was dropped" if facts.writes else "the nearest element was read"
    often = f" {seen.calls} times here." if seen.calls > 1 else ""
    why = f"JAX raises no IndexError: {became}.{often}"
    span = frame.line, frame.column, frame.end_line, frame.end_column
    last = facts.size - 1
    fix, advice = (
        _within(written, facts.index, last, facts.size),
        _advice(written, facts, facts.index, last, facts.size),
    )
    found = (Kind.OUT_OF_BOUNDS.word, f"{name_file(frame.file)}:{frame.line}", headline, why, fix, advice)
    return Finding.at(*found, file=frame.file, span=span, seen=seen.count)


def _index_of(facts: Indexing, column: int, words: list[int]) -> tuple[int, int, str]:
    """Return an index as the user wrote it (if known), the index that reaches the array, and in words why they differ.

    The words are empty if the two are the same index.
    """
    if not facts.written:
        return words[0], words[0], ""
    written, size = facts.written[column], facts.sizes[column]
    index = value = number_of_words(recorded_type(written.name), words)
    if written.counts:
        value = wrapped(value, written.counts)
        value = wrapped(value + size, written.counts) if value < 0 else value
    value = wrapped(value, facts.made)
    if value in (index, index + size):
        return index, value, ""
    narrow = min(filter(None, (written.counts, facts.made)), key=lambda name: np.dtype(name).itemsize)
    return index, value, f"as {narrow} it becomes {value}, and "


def _is_users(written: SourceExpression) -> bool:
    return isinstance(written.node, ast.Subscript) or written.called in _INDEXING


def _what_happened(facts: Indexing, value: int, last: int, size: int) -> str:
    if 0 <= value <= last:
        return f"element {value} was {'written' if facts.writes else 'read'}"
    if facts.mode == "fill":
        if facts.writes:
            return "the update was dropped"
        filled = (
            "NaN, or the least integer,"
            if facts.fill is None
            else ("NaN" if facts.fill != facts.fill else f"{facts.fill}")
        )
        return f"{filled} was read instead"
    if last != size - 1:
        return f"the start was moved to {min(max(value, 0), last)}"
    return "the nearest element was written" if facts.writes else "the nearest element was read"


def _is_literal(written: SourceExpression) -> bool:
    """Return whether a negative index is no index from the end."""
    return written.called in _EXACT or written.called.startswith("segment_")


def _within(written: SourceExpression, index: int, last: int, size: int) -> tuple[str, ...]:
    """Return the expression with the last valid index, if the source shows that the size itself is the index."""
    node = written.node
    if not isinstance(node, ast.Subscript) or not index == size == last + 1:
        return ()
    match node.slice:
        case ast.Constant():
            inside: ast.expr = ast.Constant(last)
        case (
            ast.Call(func=ast.Name(id="len"))
            | ast.Subscript(value=ast.Attribute(attr="shape"))
            | ast.Attribute(attr="size")
        ):
            inside = ast.BinOp(node.slice, ast.Sub(), ast.Constant(1))
        case _:
            return ()
    return (ast.unparse(ast.Subscript(node.value, inside, ast.Load())),)


def _advice(written: SourceExpression, facts: Indexing | OutsideIndex, index: int, last: int, size: int) -> str:
    """Say which indices are valid, and what to write if an index outside is meant."""
    if last != size - 1:
        return f"The last start that fits is {last}: begin earlier, take a shorter slice, or pad the array."
    if not size:
        return "The array has no element on this axis."
    is_counted_back = index < 0 and not _is_literal(written)
    valid = f"The valid indices are {-size} to {last}" if is_counted_back else f"The last valid index is {last}"
    beyond = f": count to it, not to {size}" if index == size else ""
    with_mode = _with_mode(written, facts)
    on_purpose = f" If an index outside is meant, say what becomes of it: {with_mode}" if with_mode else ""
    return f"{valid}{beyond}.{on_purpose}"


def _with_mode(written: SourceExpression, facts: Indexing | OutsideIndex) -> str:
    """Return the expression with a `mode` for indices out of bounds; empty if it takes none."""
    node = written.node
    if isinstance(node, ast.Subscript):
        index = ast.unparse(node.slice)
        index = index[1:-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else index
        return f'{ast.unparse(node.value)}.at[{index}].get(mode="fill", fill_value=0)'
    if isinstance(node, ast.Call) and not written.called.startswith("dynamic_") and written.called not in _EXACT:
        mode = "drop" if facts.writes else "clip"
        call: Any = ast.Call(node.func, node.args, [*node.keywords, ast.keyword("mode", ast.Constant(mode))])
        return ast.unparse(ast.fix_missing_locations(call))
    return ""
