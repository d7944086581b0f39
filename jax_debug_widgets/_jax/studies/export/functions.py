"""Write operations that take functions of the user's: reductions, `scatter_apply`, linear solves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.bodies import (
    WRITERS,
    ExportedStep,
    by_form,
    sequence,
    write_function,
)
from jax_debug_widgets._jax.studies.export.literals import RefusedError, text_of
from jax_debug_widgets._jax.studies.programs import opened


def _combined(step: ExportedStep) -> tuple[list[str], str]:
    """The function that combines two elements of a reduction: its lines and its name."""
    name = step.name("combined")
    body = write_function(step.module, step.equation.params["jaxpr"], step.body("jaxpr"), used=step.used)
    count = len(body.params) // 2
    if count == 1:
        return body.defined(name), name
    left, right = step.name("left"), step.name("right")
    first = [f"{sequence(body.params[:count])}, {sequence(body.params[count:])} = {left}, {right}"]
    return body.defined(name, f"{left}, {right}", first, sequence(body.results)), name


def _operands(step: ExportedStep) -> str:
    """The arrays and the numbers that a reduction begins with."""
    x, count = step.x, len(step.x) // 2
    return ", ".join(x) if count == 1 else f"{sequence(x[:count])}, {sequence(x[count:])}"


def _reduce(step: ExportedStep) -> list[str]:
    lines, name = _combined(step)
    axes = text_of(tuple(step.equation.params["dimensions"]))
    return [*lines, step.called(f"lax.reduce({_operands(step)}, {name}, {axes})")]


def _reduce_window(step: ExportedStep) -> list[str]:
    params = step.equation.params
    lines, name = _combined(step)
    keys = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")
    given = ", ".join(f"{key}={text_of(tuple(params[key]))}" for key in keys)
    return [*lines, step.called(f"lax.reduce_window({_operands(step)}, {name}, {given})")]


def _scatter(step: ExportedStep) -> list[str]:
    """`lax.scatter`; with an update function of the user's it is `lax.scatter_apply`."""
    params = step.equation.params
    if params.get("update_jaxpr") is None:
        return by_form(step)
    jaxpr, _ = opened(params["update_jaxpr"])
    if _reads(jaxpr, jaxpr.invars[1]) or not hasattr(lax, "scatter_apply"):
        raise RefusedError("an update function of two arguments")
    name, (operand, indices, _) = step.name("updated"), step.x
    body = write_function(step.module, params["update_jaxpr"], step.body("update_jaxpr"), used=step.used)
    shape: Any = step.equation.invars[2].aval
    keys = ("indices_are_sorted", "unique_indices", "mode")
    given = [
        operand,
        indices,
        name,
        text_of(params["dimension_numbers"]),
        f"update_shape={text_of(tuple(shape.shape))}",
        *(f"{key}={text_of(params[key])}" for key in keys),
    ]
    step.uses = {one for one in step.names[:2] if one}
    return [*body.defined(name, body.params[0]), step.called(f"lax.scatter_apply({', '.join(given)})")]


def _reads(jaxpr: core.Jaxpr, variable: Any) -> bool:
    return any(one is variable for equation in jaxpr.eqns for one in equation.invars)


_SOLVE = ("matvec", "vecmat", "solve", "transpose_solve")


def _linear_solve(step: ExportedStep) -> list[str]:
    """`lax.custom_linear_solve`: the products with the matrix, and how the system and the transposed one are solved."""
    params = step.equation.params
    jaxprs, counts = params["jaxprs"], params["const_lengths"]
    given = len(step.x) - sum(counts)
    count = len(opened(jaxprs.matvec)[0].outvars)
    if len(opened(jaxprs.solve)[0].outvars) != count:
        raise RefusedError("a linear solve with further results")
    lines: list[str] = []
    names: dict[str, str] = {}
    first = 0
    for place, kind in enumerate(_SOLVE):
        end = first + counts[place]
        program = jaxprs[place]
        if program is not None and kind != "vecmat":  # JAX makes that of the first.
            body = write_function(
                step.module, program, step.body(f"branch_{place}_fun"), step.outer(first, end), step.used
            )
            names[kind] = step.name(kind)
            lines += _of_vector(body, names[kind], takes_product=kind != "matvec", is_tree=given > 1)
        first = end
    operands = step.x[first:]
    options = [names["matvec"], operands[0] if given == 1 else sequence(operands), names["solve"]]
    if "transpose_solve" in names:
        options.append(f"transpose_solve={names['transpose_solve']}")
        if _is_symmetric(jaxprs):
            options.append("symmetric=True")
    return [*lines, step.called(f"lax.custom_linear_solve({', '.join(options)})")]


def _is_symmetric(jaxprs: Sequence[Any]) -> bool:
    """Whether the caller said so: then JAX has one program for both products."""
    matvec, vecmat = jaxprs[0], jaxprs[1]
    return opened(matvec)[0] is opened(vecmat)[0]


def _of_vector(body: Any, name: str, *, takes_product: bool, is_tree: bool) -> list[str]:
    product = "_, " if takes_product else ""
    if not is_tree:
        return body.defined(name, f"{product}{body.params[0]}")
    return body.defined(name, f"{product}b", [f"{sequence(body.params)} = b"], sequence(body.results))


WRITERS |= {
    "reduce": _reduce,
    "reduce_window": _reduce_window,
    "scatter": _scatter,
    "custom_linear_solve": _linear_solve,
}
