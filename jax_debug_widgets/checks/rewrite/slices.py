"""Rewrite slices that begin at a traced position and have a known length: `x[i:i + 3]`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jax_debug_widgets.checks.namespace import is_array, is_traced, is_whole_number, value_of
from jax_debug_widgets.checks.rewrite.expressions import replaced


def known_lengths(statement: ast.stmt, names: Mapping[str, Any]) -> list[str] | None:
    """Return the lines of a statement with its traced slices rewritten.

    It is None for a compound statement, if there are no traced slices, or if the length of one is not certain.
    """
    known = None if hasattr(statement, "body") else with_known_lengths(statement, names)
    return None if known is None or known is statement else ast.unparse(known).splitlines()


def with_known_lengths(statement: ast.stmt, names: Mapping[str, Any]) -> ast.stmt | None:
    """Rewrite each slice with traced bounds: a read with `dynamic_slice_in_dim`, a write with the positions.

    Args:
      statement: a statement without a block.
      names: the variables of its frame.

    Returns:
      The statement itself if it has no such slice; None if the length of one is not certain.
    """
    changes: dict[ast.expr, str] = {}
    inner: list[ast.AST] = []
    for node in ast.walk(statement):
        if not isinstance(node, ast.Subscript) or node in inner or not _traced_slices(node, names):
            continue
        is_positions = isinstance(node.ctx, ast.Store) or (
            isinstance(node.value, ast.Attribute) and node.value.attr == "at"
        )
        new = _by_positions(node, names) if is_positions else _by_slices(node, names)
        nested = any(isinstance(one, ast.Subscript) and _traced_slices(one, names) for one in _below(node))
        if new is None or nested:
            return None
        changes[node] = new
        inner += ast.walk(node)
    return ast.fix_missing_locations(replaced(statement, changes)) if changes else statement


def _below(node: ast.AST) -> Iterator[ast.AST]:
    return (one for one in ast.walk(node) if one is not node)


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _traced_slices(node: ast.Subscript, names: Mapping[str, Any]) -> list[ast.Slice]:
    slices = [one for one in _parts(node) if isinstance(one, ast.Slice)]
    bounds = ((one, bound) for one in slices for bound in (one.lower, one.upper, one.step))
    return list(dict.fromkeys(one for one, bound in bounds if bound is not None and not _is_static(bound, names)))


def _by_slices(node: ast.Subscript, names: Mapping[str, Any]) -> str | None:
    """Write `x[b, i:i + 3]` as `jax.lax.dynamic_slice_in_dim(x, i, 3, axis=1)[b]`; None if an axis or a length is not known."""
    parts, text = _parts(node), ast.unparse(node.value)
    for one in _traced_slices(node, names):
        axis, size = _axis(node, parts.index(one), names), _length(one, names)
        if axis is None or not size or one.lower is None:
            return None
        where = f", axis={axis}" if axis else ""
        text = f"jax.lax.dynamic_slice_in_dim({text}, {ast.unparse(one.lower)}, {size}{where})"
        parts = [ast.Slice() if part is one else part for part in parts]
    while parts and isinstance(parts[-1], ast.Slice) and ast.unparse(parts[-1]) == ":":
        parts.pop()
    return f"{text}[{', '.join(map(ast.unparse, parts))}]" if parts else text


def _axis(node: ast.Subscript, position: int, names: Mapping[str, Any]) -> int | None:
    """Return the axis of the array that a part of an index applies to; None if that is not known."""
    parts = _parts(node)
    before, after = ([one for one in some if not _is_new(one)] for some in (parts[:position], parts[position + 1 :]))
    if not all(isinstance(one, ast.Slice) or _is_ellipsis(one) or _is_number(one, names) for one in before):
        return None
    if not any(map(_is_ellipsis, before)):
        return len(before)
    array = value_of(node.value, names)
    return array.ndim - 1 - len(after) if is_array(array) else None


def _by_positions(node: ast.Subscript, names: Mapping[str, Any]) -> str | None:
    """Write `x[b, i:i + 3]` as `x[b, i + jnp.arange(3)]`; None if that would move axes, or if a length is not known."""
    parts, slices = _parts(node), _traced_slices(node, names)
    listed = [one in slices or not (isinstance(one, ast.Slice) or _is_ellipsis(one) or _is_new(one)) for one in parts]
    first, last = listed.index(True), len(listed) - 1 - listed[::-1].index(True)
    numbers = (one for one, is_one in zip(parts, listed, strict=True) if is_one and one not in slices)
    if not all(listed[first : last + 1]) or not all(_is_number(one, names) for one in numbers):
        return None
    texts = []
    for one in parts:
        if one not in slices:
            texts.append(ast.unparse(one))
            continue
        size = _length(one, names) if isinstance(one, ast.Slice) else ""
        if not size or not isinstance(one, ast.Slice) or one.lower is None:
            return None
        later = len(slices) - 1 - slices.index(one)
        text = f"{ast.unparse(one.lower)} + jnp.arange({size})"
        texts.append(f"({text})[:, {', '.join(['None'] * later)}]" if later else text)
    return f"{ast.unparse(node.value)}[{', '.join(texts)}]"


def _is_new(part: ast.expr) -> bool:
    """Return whether a part of an index adds an axis."""
    return isinstance(part, ast.Constant) and part.value is None


def _is_ellipsis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is ...


def _is_number(part: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether a part of an index is one integer, which removes an axis."""
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
        part = part.operand
    if isinstance(part, ast.BinOp):
        return _is_number(part.left, names) and _is_number(part.right, names)
    return is_whole_number(value_of(part, names))


def _length(part: ast.Slice, names: Mapping[str, Any]) -> str:
    """Write the length of a slice, its end minus its beginning; empty if a traced value does not cancel."""
    if part.lower is None or part.upper is None or part.step is not None:
        return ""
    terms = Counter({})
    nodes: dict[str, Sequence[ast.expr]] = {}
    for bound, sign in ((part.upper, 1), (part.lower, -1)):
        for text, count, factors in _terms(bound, sign):
            terms[text] += count
            nodes[text] = factors
    left = {text: count for text, count in terms.items() if count}
    if not left or not all(_is_static(one, names) for text in left for one in nodes[text]):
        return ""
    return _sum(left)


def _sum(terms: Mapping[str, int]) -> str:
    """Write a sum of terms with their coefficients; the term "" is the number 1."""
    written = []
    for text, count in sorted(terms.items(), key=lambda one: (one[1] < 0, not one[0])):
        size = "" if abs(count) == 1 and text else str(abs(count))
        written.append(("- " if count < 0 else "+ ") + " * ".join(filter(None, (size, text))))
    return " ".join(written).removeprefix("+ ").strip()


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[str, int, Sequence[ast.expr]]]:
    """Yield the terms of a sum: the text of the term's factors ("" for a number), its coefficient, and the factors."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if isinstance(operator, ast.Add) else -sign)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for one, count, factors in _terms(left, sign):
                for other, times, others in _terms(right, 1):
                    texts = sorted(filter(None, (*one.split(" * "), *other.split(" * "))))
                    yield " * ".join(texts), count * times, [*factors, *others]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _terms(operand, -sign)
        case ast.Constant(value=int(number)):
            yield "", sign * number, []
        case ast.Name() | ast.Attribute() | ast.Subscript():
            yield ast.unparse(node), sign, [node]
        case _:
            yield f"({ast.unparse(node)})", sign, [node]


def _is_static(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether the value of an expression is known while JAX traces."""
    match node:
        case ast.BinOp(left=one, right=other):
            return _is_static(one, names) and _is_static(other, names)
        case ast.UnaryOp(operand=one) | ast.Subscript(value=ast.Attribute(attr="shape"), slice=one):
            return _is_static(one, names)
        case ast.Attribute(attr="ndim" | "size") | ast.Call(func=ast.Name(id="len"), keywords=[]):
            return True
    value = value_of(node, names)
    return is_whole_number(value) and not is_traced(value)
