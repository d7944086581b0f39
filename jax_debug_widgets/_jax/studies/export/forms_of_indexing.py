"""The forms of equations that read and write parts of arrays: see `forms`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.literals import text_of

Operands = Sequence[str]


def _shape_of(atom: Any) -> tuple[int, ...]:
    return atom.aval.shape


def sliced(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    params, shape = equation.params, _shape_of(equation.invars[0])
    starts, ends, strides = params["start_indices"], params["limit_indices"], params["strides"]
    steps = strides or (1,) * len(starts)
    cuts = [
        ":"
        if (start, end, step) == (0, size, 1)
        else f"{start or ''}:{end if end != size else ''}" + (f":{step}" if step > 1 else "")
        for start, end, step, size in zip(starts, ends, steps, shape, strict=True)
    ]
    while cuts and cuts[-1] == ":":
        cuts.pop()
    if cuts:
        yield f"{x[0]}[{', '.join(cuts)}]"
    more = f", {text_of(strides)}" if strides is not None else ""
    yield f"lax.slice({x[0]}, {text_of(starts)}, {text_of(ends)}{more})"


def _indexed(params: Any) -> str:
    kept = ("indices_are_sorted", "unique_indices", "mode", "fill_value")
    return "".join(f", {key}={text_of(params[key])}" for key in kept if key in params)


def gathered(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    params = equation.params
    how = f"{text_of(params['dimension_numbers'])}, {text_of(params['slice_sizes'])}{_indexed(params)}"
    yield f"lax.gather({x[0]}, {x[1]}, {how})"


def scattered(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    params, name = equation.params, equation.primitive.name.replace("-", "_")
    yield f"lax.{name}({', '.join(x)}, {text_of(params['dimension_numbers'])}{_indexed(params)})"
