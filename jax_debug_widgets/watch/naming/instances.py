"""Separate the executions of one statement where a Python loop runs it several times in one trace."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from jax_debug_widgets._jax.origins.frames import PUSHES
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.residuals import is_residual
from jax_debug_widgets._jax.passes.uses import runs_program
from jax_debug_widgets._jax.tracing.copies import is_given_back
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.progress import progress_of
from jax_debug_widgets.watch.naming.source_sites import SourceSite
from jax_debug_widgets.watch.naming.variable_types import is_array

_OPERATORS = re.compile(r"[\\/]jax[\\/]_src[\\/]numpy[\\/]array_methods\.py$")
"""The file that decides whether `h @ w` is `h.__matmul__(w)` or `w.__rmatmul__(h)`: that depends on whether `h` is traced."""


def instances(body: BodyWithFrames, call: SourceSite, members: list[int], *, repeats: bool) -> list[list[int]]:
    """Return the equations of each execution of the statement at `call`, in the order in which they were traced.

    Args:
      members: the statement's equations, of all executions, in order.
      repeats: whether the statement, or a call that leads to it, is in a loop.
    """
    if len(members) < 2 or not repeats:  # noqa: PLR2004 - one equation is of one execution
        return [members] if members else []
    statements = body.source(call.file).statements_at(call.span)
    comprehends = any(
        isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        for statement in statements
        for node in ast.walk(statement.value)
    )
    if pushed := _by_what_comes_out(body, call, members):
        return pushed
    elements = max([1, *(statement.elements for statement in statements)])
    signatures = [_signature(body, number) for number in members]
    parts: list[list[int]] = []
    first: Any = None
    left, is_looped = 0, False
    for position, (number, signature) in enumerate(zip(members, signatures, strict=True)):
        left -= signature == first
        if is_looped:  # The statement may call the loop once; then a repeated operation is the loop's next iteration.
            begins = _begins_anew(body, call, parts[-1][-1], number)
        else:
            comes_again = signature == first and left <= 0
            begins = comes_again and not _is_next_leaf(body, call, parts[-1], number)
        if not parts or begins or _is_interrupted(body, call, parts[-1][-1], number, comprehends=comprehends):
            parts.append([])
            first = signature
            is_mapped = body.levels[number][call.depth].maps
            left = _alike(signatures[position:]) if is_mapped else elements
            is_looped = elements == 1 and not is_mapped and progress_of(body, call, number).is_looped
        parts[-1].append(number)
    return parts


def _by_what_comes_out(body: BodyWithFrames, call: SourceSite, members: list[int]) -> list[list[int]]:
    """Return the executions of a statement that asks for tangents: each ends with the values that it returns.

    Return [] for other statements.
    """
    if not any(body.levels[number][call.depth].differentiates in PUSHES for number in members):
        return []
    parts: list[list[int]] = []
    is_over = True
    for number in members:
        comes_out = is_given_back(body.equations[number]) and len(body.levels[number]) == call.depth + 1
        if not parts or (is_over and not comes_out):
            parts.append([])
        is_over = comes_out
        parts[-1].append(number)
    return parts if is_over else []


def _alike(signatures: Sequence[Any]) -> int:
    """Return how many equations like the first one follow directly, each for another pytree leaf."""
    return len(list(takewhile(lambda other: other == signatures[0], signatures)))


def _is_next_leaf(body: BodyWithFrames, call: SourceSite, part: Sequence[int], number: int) -> bool:
    """Whether a repeated equation belongs to another leaf of one `jax.tree.map`.

    It does not if it uses a result of the equations before it: then a loop hands that on.
    """
    if not any(level.maps for level in body.levels[number][call.depth :]):
        return False
    made = {variable for one in part for variable in body.equations[one].outvars}
    return not any(is_array(atom) and atom in made for atom in body.equations[number].invars)


def _is_interrupted(body: BodyWithFrames, call: SourceSite, before: int, number: int, *, comprehends: bool) -> bool:
    """Whether something else was computed in between, or another execution has begun to compute its parts."""
    backward = body.passes_from(number, call.depth)
    for between in range(before + 1, number):
        is_put_in = body.is_put_in(between) and not body.is_put_in(number)
        is_beside = between in body.tangents and number not in body.tangents
        if is_put_in or is_beside or body.passes_from(between, call.depth) != backward or between in body.moved:
            continue
        if not body.is_within(between, call):
            return True
        # An equation within the statement's range is a part, which is computed before the statement's last operation.
        if not comprehends and not backward:
            return True
    return False


def _begins_anew(body: BodyWithFrames, call: SourceSite, before: int, number: int) -> bool:
    """Whether an equation belongs to another execution than the one before it, by the instructions that make them."""
    earlier, later = progress_of(body, call, before), progress_of(body, call, number)
    return earlier.is_behind(later) if body.passes_from(number, call.depth) else later.is_behind(earlier)


def _signature(body: BodyWithFrames, number: int) -> Any:
    """Return a key that is equal for the same operation of the same line in different executions, JAX's own lines included."""
    params = body.equations[number].params
    # In the transposed program the first layer has no gradient of its input, so other parameters differ.
    if runs_program(body.equations[number]):
        params = {key: params[key] for key in ("name", "length") if key in params}
    params = {key: value for key, value in params.items() if isinstance(value, int | float | str | tuple)}
    # The residuals of a derivative rule do not begin another execution.
    is_beside = is_residual(body.equations[number])
    return (*operation_of(body, number), is_beside, repr(sorted(params.items(), key=lambda item: item[0])))


@functools.lru_cache(maxsize=4096)
def _is_of_operators(file: str) -> bool:
    return bool(_OPERATORS.search(file))


def operation_of(body: BodyWithFrames, number: int) -> Any:
    """Return a key that is equal for the same operation of the same line, JAX's own lines included, for all types."""
    equation = body.equations[number]
    traceback = traceback_of(equation.source_info)
    return equation.primitive.name, () if traceback is None else _instructions_of(traceback)


@functools.lru_cache(maxsize=4096)
def _instructions_of(traceback: Any) -> tuple[tuple[int, int], ...]:
    codes, offsets = traceback.raw_frames()
    return tuple(
        (id(code), offset)
        for code, offset in zip(codes, list(offsets), strict=True)
        if not _is_of_operators(code.co_filename)
    )
