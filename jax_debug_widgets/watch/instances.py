"""Tell the executions of one statement apart where Python's loops run it several times in one trace."""

from __future__ import annotations

import ast
import dis
import functools
import re
from collections.abc import Sequence
from itertools import pairwise, takewhile
from types import CodeType
from typing import Any

from jax_debug_widgets.watch.body import Body, Call, is_array

_OPERATORS = re.compile(r"[\\/]jax[\\/]_src[\\/]numpy[\\/]array_methods\.py$")
"""Where JAX says whether `h @ w` is `h.__matmul__(w)` or `w.__rmatmul__(h)`: it hangs on whether `h` is traced."""


def instances(
    body: Body, call: Call, members: list[int], *, repeats: bool, executions: int | None = None
) -> list[list[int]]:
    """The equations of each execution of the statement at `call`, in the order in which they were traced.

    Args:
      members: its equations, of all executions, in order.
      repeats: whether the statement, or a call that leads to it, is in a loop.
      executions: of transposed equations how many executions they are of at most, 0 where that is not known; None of others.
    """
    if len(members) < 2 or not repeats:  # noqa: PLR2004 - one equation is of one execution
        return [members] if members else []
    statements = body.source(call.file).statements_at(call.span)
    comprehends = any(
        isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        for statement in statements
        for node in ast.walk(statement.value)
    )
    elements = max((statement.elements for statement in statements), default=1)
    signatures = [_signature(body, number) for number in members]
    once = _coming_once(body, call, members, signatures) if executions is None and elements == 1 else set()
    parts: list[list[int]] = []
    first: Any = None
    left = 0
    for position, (number, signature) in enumerate(zip(members, signatures, strict=True)):
        left -= signature == first
        comes_again = signature == first and left <= 0
        if (
            not parts
            or _is_interrupted(body, call, parts[-1][-1], number, comprehends=comprehends)
            or (comes_again and not (executions is None and _is_next_leaf(body, call, parts[-1], number)))
        ):
            parts.append([])
            first = signature
            left = elements if executions is None else _alike(signatures, position, executions)
            if executions is None and body.levels[number][call.depth].maps:
                left = _alike(signatures, position, 0)
            elif once and first not in once:
                left = _before_any(signatures, position, once)
        parts[-1].append(number)
    return parts


def _coming_once(body: Body, call: Call, members: list[int], signatures: Sequence[Any]) -> set[Any]:
    """Of equations that begin with what is repeated in what the statement calls, those that an execution has once.

    `promote_dtype` casts each of its arguments in one line: that it is there again does not mean that the statement is.
    """
    if all(one != other for one, other in pairwise(signatures)):
        return set()
    looped = {one for one, number in zip(signatures, members, strict=True) if _is_looped(body, call, number)}
    return set(signatures) - looped


def _before_any(signatures: Sequence[Any], position: int, once: set[Any]) -> int:
    """How often the equation at `position` comes until one that an execution has once."""
    before = list(takewhile(lambda one: one not in once, signatures[position:]))
    return before.count(signatures[position])


def _is_looped(body: Body, call: Call, number: int) -> bool:
    """Whether an equation is made in a loop of a function that the statement calls, JAX's own included."""
    own = body.levels[number][call.depth]
    codes, offsets = body.equations[number].source_info.traceback.raw_frames()
    for code, offset in zip(codes, list(offsets), strict=True):
        line = code.co_firstlineno
        if (code.co_filename, line) == (own.file, own.code_line):
            return False
        is_here = code.co_filename == call.file and call.span.line <= line <= call.span.end_line
        if not is_here and _is_in_loop(code, offset):
            return True
    return False


@functools.lru_cache(maxsize=4096)
def _is_in_loop(code: CodeType, offset: int) -> bool:
    """Whether an instruction is in a loop or comprehension of its function."""
    jumps = (one for one in dis.get_instructions(code) if one.opname.startswith("JUMP_BACKWARD"))
    return any(one.argval <= offset <= one.offset for one in jumps)


def has_twins(body: Body, members: Sequence[int]) -> bool:
    """Whether the first of these equations of the forward pass comes again.

    What `jax.checkpoint` has traced and differentiation has inlined does not say who called it.
    """
    forward = [number for number in members if not body.uses.transposed[number]]
    return len(forward) > 1 and _signature(body, forward[0]) in {_signature(body, number) for number in forward[1:]}


def _alike(signatures: Sequence[Any], position: int, executions: int) -> int:
    """How many equations like the one at `position` an execution has: `tanh` is transposed into two such products."""
    first = signatures[position]
    if executions:
        return -(-signatures.count(first) // executions)
    return len(list(takewhile(lambda other: other == first, signatures[position:])))


def _is_next_leaf(body: Body, call: Call, part: Sequence[int], number: int) -> bool:
    """Whether an equation that comes again is that of another leaf, in what `jax.tree.map` does in one execution.

    It is not if it takes what those before it have made: then a loop hands that on.
    """
    if not any(level.maps for level in body.levels[number][call.depth :]):
        return False
    made = {variable for one in part for variable in body.equations[one].outvars}
    return not any(is_array(atom) and atom in made for atom in body.equations[number].invars)


def _is_interrupted(body: Body, call: Call, before: int, number: int, *, comprehends: bool) -> bool:
    """Whether something else was computed in between, or the statement's parts have begun anew."""
    backward = body.uses.transposed[number]
    for between in range(before + 1, number):
        if body.uses.transposed[between] != backward:
            continue
        if not body.is_within(between, call):
            return True
        # What is within it and not of its whole range is a part, computed before what was computed last.
        if not comprehends and not backward:
            return True
    return False


def _signature(body: Body, number: int) -> Any:
    """Equal for the same operation of the same line, JAX's own lines included, in different executions."""
    equation = body.equations[number]
    params = {key: value for key, value in equation.params.items() if isinstance(value, int | float | str | tuple)}
    return (*operation_of(body, number), repr(sorted(params.items(), key=lambda item: item[0])))


def operation_of(body: Body, number: int) -> Any:
    """Equal for the same operation of the same line, JAX's own lines included, whatever the types are."""
    equation = body.equations[number]
    traceback = equation.source_info.traceback
    frames: Any = ()
    if traceback is not None:
        codes, offsets = traceback.raw_frames()
        frames = tuple(
            (id(code), offset)
            for code, offset in zip(codes, list(offsets), strict=True)
            if not _OPERATORS.search(code.co_filename)
        )
    return equation.primitive.name, frames
