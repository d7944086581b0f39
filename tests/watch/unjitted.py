"""Record what an un-jitted run assigns to the variables of its source: watched values must equal these."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jax_debug_widgets.watch.syntax.source import source_of
from jax_debug_widgets.watch.syntax.statements import Function, Target

Assigned = dict[tuple[int, str], list[Any]]
"""(line of the expression, name) -> its values, in order; each is a mapping from path (`['w']`) to leaf."""


def assigned_un_jitted(program: Callable[[], Any], file: str, lines: range) -> Assigned:
    """Run `program` without `jit` and note the values that it assigns to plain names and elements of tuples."""
    found: Assigned = defaultdict(list)
    source = source_of(file)
    before: dict[Any, int] = {}

    def note(frame: Any) -> None:
        function: Function | None = source.function_at(frame.f_code.co_firstlineno, frame.f_code.co_qualname)
        last = before.get(frame)
        for statement in function.statements if function else ():
            if (
                statement.body
                or not statement.targets
                or not statement.span.line <= (last or 0) <= statement.span.end_line
            ):
                continue
            for target in statement.targets:
                for name in _names(target):
                    leaves = _primal(frame.f_locals.get(name))
                    if any(leaf is not None for leaf in leaves.values()):
                        found[statement.span.line, name].append(leaves)

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename != file or frame.f_code.co_firstlineno not in lines:
            return None
        if event in ("line", "return"):
            note(frame)
            before[frame] = frame.f_lineno
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        with jax.disable_jit():
            jax.block_until_ready(program())
    finally:
        sys.settrace(outer)
    return found


def _names(target: Target) -> list[str]:
    return [name for part in target.parts for name in _names(part)] if target.parts else [target.text]


def _primal(tree: Any) -> dict[str, np.ndarray | None]:
    return {jax.tree_util.keystr(path): _array(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _array(leaf: Any) -> np.ndarray | None:
    while isinstance(leaf, Tracer):
        leaf = getattr(leaf, "primal", getattr(leaf, "val", None))
    try:
        array = np.asarray(leaf)
    except TypeError:  # A PRNG key.
        return None
    return None if array.dtype == object else array  # An abstract value: this pass only computes shapes.
