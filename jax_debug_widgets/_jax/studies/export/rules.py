"""Write functions that have derivative rules of their own: each function, and its rule as JAX traces it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.bodies import (
    WRITERS,
    ExportedFunction,
    ExportedStep,
    bare,
    sequence,
    write_function,
)
from jax_debug_widgets._jax.studies.export.library import library_calls, name_of_rule
from jax_debug_widgets._jax.studies.export.module import identifier
from jax_debug_widgets._jax.studies.export.proofs import applied, seen, spec_of, variables_of
from jax_debug_widgets._jax.studies.programs import body_of, opened
from jax_debug_widgets._jax.studies.texts import digest


def _custom(write: Callable[[ExportedStep, str], list[str]], step: ExportedStep) -> list[str]:
    text = step.module.proofs.text(library_calls, step.equation, step.names)
    if text is not None:
        return [step.called(text)]
    name = step.module.shared(_key(step), name_of_rule(step.equation), lambda own: write(step, own))
    given = zip(step.equation.invars, step.names, strict=True)
    named = {
        one: text for one, text in given if not isinstance(one, core.Literal)
    }  # Numbers are in the function: see `_key`.
    return [step.called(f"{name}({', '.join(named[one] for one in variables_of(step.equation))})")]


def _key(step: ExportedStep) -> Any:
    """Equal for calls of one function, which is another object whenever it is traced: what it computes, and its derivative."""
    equation = step.equation
    given = tuple(digest(one.val) if isinstance(one, core.Literal) else "" for one in equation.invars)
    specs = [spec_of(one) for one in variables_of(equation)]
    return "rule", name_of_rule(equation), given, repr(seen(applied(equation), specs))


def _primal(step: ExportedStep, name: str) -> list[str]:
    """The function itself, without its rule."""
    equation, variables = step.equation, variables_of(step.equation)
    inner = core.jaxpr_as_fun(equation.params["call_jaxpr"])

    def run(*values: Any) -> Any:
        given = dict(zip(variables, values, strict=True))
        return inner(*(one.val if isinstance(one, core.Literal) else given[one] for one in equation.invars))

    return _traced(step, run, [spec_of(one) for one in variables], _inputs(step)).defined(name)


def _inputs(step: ExportedStep) -> list[str]:
    """The function's names for its arguments, as far as JAX records them; `x` for others."""
    equation, variables = step.equation, variables_of(step.equation)
    about = getattr(opened(equation.params["call_jaxpr"])[0], "debug_info", None)
    told = getattr(about, "arg_names", None) or ()
    told = told if len(told) == len(equation.invars) else [None] * len(equation.invars)
    first = {}
    for variable, name in zip(equation.invars, told, strict=True):
        if not isinstance(variable, core.Literal):
            first.setdefault(variable, identifier(name or "x", "x"))
    return [first[one] for one in variables]


def _traced(step: ExportedStep, function: Callable[..., Any], specs: Any, wanted: Sequence[str]) -> ExportedFunction:
    program = jax.make_jaxpr(function)(*specs)
    body = body_of(program.jaxpr, program.consts, "rule", step.module.reading)
    return write_function(step.module, program, body, wanted=wanted)


def _jvp(step: ExportedStep, name: str) -> list[str]:
    """The rule takes the tangents of all operands; whole numbers have none that count."""
    variables, run = variables_of(step.equation), applied(step.equation)
    specs = [spec_of(one) for one in variables]
    tangents = [one if jnp.issubdtype(one.dtype, jnp.inexact) else None for one in specs]

    def rule(primals: Any, given: Any) -> Any:
        whole = [
            one if one is not None else np.zeros(spec.shape, jax.dtypes.float0)
            for one, spec in zip(given, specs, strict=True)
        ]
        return jax.jvp(run, tuple(primals), tuple(whole))

    smooth = [None if spec is None else jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in tangents]
    names = _inputs(step)
    moved = [f"{name}_dot" for name, one in zip(names, smooth, strict=True) if one is not None]
    written = _traced(step, rule, (specs, smooth), [*names, *moved])
    count = len(step.equation.outvars)
    takes = [f"unused_{place}" if spec is None else None for place, spec in enumerate(tangents)]
    rest = iter(written.params[len(specs) :])
    given = [one or next(rest) for one in takes]
    first = [f"{sequence(written.params[: len(specs)])}, {sequence(given)} = primals, tangents"]
    gives = f"{bare(written.results[:count])}, {bare(written.results[count:])}"
    rule_lines = written.defined(f"{name}_jvp", "primals, tangents", first, gives)
    return ["@jax.custom_jvp", *_primal(step, name), "", "", f"@{name}.defjvp", *rule_lines]


def _vjp(step: ExportedStep, name: str) -> list[str]:
    """Both halves of the rule: what it keeps are the leaves of what `jax.vjp` returns."""
    variables, run = variables_of(step.equation), applied(step.equation)
    specs = [spec_of(one) for one in variables]
    forward, (out, pull) = jax.make_jaxpr(lambda *x: jax.vjp(run, *x), return_shape=True)(*specs)
    backward = jax.make_jaxpr(lambda pull, cotangents: pull(cotangents))(pull, out)
    count = len(step.equation.outvars)
    forth, back = (body_of(one.jaxpr, one.consts, "rule", step.module.reading) for one in (forward, backward))
    forth = write_function(step.module, forward, forth, wanted=_inputs(step))
    kept = len(forth.results) - count
    names = [f"residual_{place}" for place in range(kept)] + ["cotangent"] * count
    back = write_function(step.module, backward, back, wanted=names)
    first = [f"{sequence(back.params[:kept])}, {bare(back.params[kept:])} = residuals, cotangents"]
    smooth = [jnp.issubdtype(spec.dtype, jnp.inexact) for spec in specs]
    given = sequence([one if is_smooth else "None" for one, is_smooth in zip(back.results, smooth, strict=True)])
    return [
        "@jax.custom_vjp",
        *_primal(step, name),
        "",
        "",
        *forth.defined(f"{name}_fwd", gives=f"{bare(forth.results[:count])}, {sequence(forth.results[count:])}"),
        "",
        "",
        *back.defined(f"{name}_bwd", "residuals, cotangents", first, given),
        "",
        "",
        f"{name}.defvjp({name}_fwd, {name}_bwd)",
    ]


def _custom_jvp(step: ExportedStep) -> list[str]:
    return _custom(_jvp, step)


def _custom_vjp(step: ExportedStep) -> list[str]:
    return _custom(_vjp, step)


WRITERS |= {"custom_jvp_call": _custom_jvp, "custom_vjp_call": _custom_vjp}
