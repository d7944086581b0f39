"""Which part of what is assigned each result of one equation is, as JAX says it of the program that the equation runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from jax_debug_widgets._jax import versions
from jax_debug_widgets._jax.frames import asks_host, is_mapping
from jax_debug_widgets.watch.body import LOOPS, Body, Made
from jax_debug_widgets.watch.source import Target

PROGRAMS = frozenset({"jit", "pjit", "cond", "checkpoint", "remat", "remat2", "closed_call", "shard_map"})
"""Primitives that give what a function of the user's returns."""

_INDEX = re.compile(r"\[(\d+)\]")
_COUNTER = "<counter>"
"""The path of what the loop that `fori_loop` makes counts with."""


def results_of(body: Body, escaping: Sequence[Made], target: Target) -> list[list[Made]]:
    """The results of one equation for each part of a target; nothing where the parts cannot be told."""
    equation = body.equations[escaping[0][1]]
    name, count, results = kind_of(equation), len(target.parts), len(equation.outvars)
    told = parts_by_path(body, escaping[0][1])
    if told:
        return [[one for one in escaping if told[one[2]] == part] for part in range(count)]
    if name in PROGRAMS and "jvp(" in body.stack_of(escaping[0][1]):
        return []  # What nothing uses is left out, and what the derivative needs is added.
    escapes = {one[2]: one for one in escaping}
    carried = versions.scan_counts(equation.params)[1] if name == "scan" else results
    if name == "scan" and not _is_counted(equation):
        ends = [0, carried, results] if count == len(("carry", "ys")) else []
    else:
        ends = list(accumulate(map(_size, target.parts), initial=_counters(equation)))
        ends = ends if ends[-1] == carried else []
    return [[escapes[i] for i in range(start, stop) if i in escapes] for start, stop in pairwise(ends)]


def parts_by_path(body: Body, number: int) -> list[int]:
    """For each result of an equation which part of a tuple it is in, -1 for none; nothing where JAX does not say."""
    paths = result_paths(body, number)
    indices = [_INDEX.match(path) for path in paths]
    is_tuple = all(index for index, path in zip(indices, paths, strict=True) if path != _COUNTER)
    return [int(index[1]) if index else -1 for index in indices] if is_tuple else []


def result_paths(body: Body, number: int) -> list[str]:
    """Where each result of an equation is in what its function returns, `[0]['w']`; nothing where JAX does not say.

    JAX says it of what is not differentiated or mapped; in a counted loop its own counters come first. Of what
    gives tangents as well it numbers them.
    """
    equation = body.equations[number]
    name = kind_of(equation)
    if any(map(body.is_tangent, equation.outvars)):
        return []
    key = LOOPS.get(name, "jaxpr" if name in ("jit", "pjit") else "")
    told = equation.params[key].jaxpr.debug_info.result_paths if key else None
    if not told or len(told) != len(equation.outvars):
        return []
    own = "" if not _is_counted(equation) else "[0][1]" if name == "scan" else "[2]"
    own = "[1]" if name == "scan" and is_mapping(equation.params[key].jaxpr.debug_info) else own
    paths = [path.removeprefix("result") for path in told]
    return [path.removeprefix(own) if path.startswith(own) else _COUNTER for path in paths]


def kind_of(equation: Any) -> str:
    """The primitive of an equation; `host call` of the loop in which `vmap` asks the host for one lane after the other."""
    name = equation.primitive.name
    return "host call" if name in LOOPS and asks_host(equation.source_info.traceback) else name


def _is_counted(equation: Any) -> bool:
    """Whether it is the loop that `fori_loop` makes."""
    name = equation.primitive.name
    return name in LOOPS and equation.params[LOOPS[name]].jaxpr.debug_info.traced_for == "fori_loop"


def _counters(equation: Any) -> int:
    """How many results of a loop are counters of JAX's own, which come first; an unused one it leaves out."""
    if not _is_counted(equation):
        return 0
    if equation.primitive.name == "while":
        return len(("i", "end"))
    counter = equation.outvars[0].aval
    return int(counter.shape == () and counter.dtype.kind == "i")


def _size(target: Target) -> int:
    return sum(map(_size, target.parts)) if target.parts else 1
