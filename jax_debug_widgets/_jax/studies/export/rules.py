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
    ClosedOverError,
    ExportedFunction,
    ExportedStep,
    bare,
    sequence,
    write_function,
)
from jax_debug_widgets._jax.studies.export.library import library_calls, name_of_rule
from jax_debug_widgets._jax.studies.export.literals import RefusedError
from jax_debug_widgets._jax.studies.export.module import identifier
from jax_debug_widgets._jax.studies.export.proofs import (
    applied,
    fixed_in,
    pullback,
    seen,
    smooth_in,
    spec_of,
    variables_of,
)
from jax_debug_widgets._jax.studies.programs import body_of, opened
from jax_debug_widgets._jax.studies.texts import digest


def _custom(write: Callable[[ExportedStep, str], list[str]], step: ExportedStep) -> list[str]:
    text = step.module.proofs.text(library_calls, step.equation, step.names)
    if text is not None:
        return [step.called(text)]
    module, rule = step.module, name_of_rule(step.equation)
    with module.deeper() as depth:
        if depth > _DEEPEST:
            module.note(f"rules within rules are written {_DEEPEST} deep; {rule} within them has no rule of its own")
            write = _plainly
        name = module.shared(_key(step), rule, lambda own: _with_rule(write, step, own))
    return [step.called(f"{name}({', '.join(step.variables)})")]  # Numbers are in the function: see `_key`.


_DEEPEST = 2
"""How deep rules are written that stand in rules: those of JAX's Bessel functions name each other without end."""


def _with_rule(write: Callable[[ExportedStep, str], list[str]], step: ExportedStep, name: str) -> list[str]:
    """The function with its rule, or without one if JAX cannot trace the rule by itself."""
    try:
        return write(step, name)
    except RefusedError:
        raise
    except Exception as error:  # noqa: BLE001 - the rule is the user's code, or it depends on what it closes over.
        why = (
            str(error) if isinstance(error, ClosedOverError) else f"{type(error).__name__} when it is traced by itself"
        )
        step.module.note(f"the derivative rule of {name} is not written: {why}")
        return _plainly(step, name)


def _plainly(step: ExportedStep, name: str) -> list[str]:
    return ["@jax.jit", *_primal(step, name)]


def _key(step: ExportedStep) -> Any:
    """Equal for calls of one function, which is another object whenever it is traced: what it computes, and its derivative."""
    equation = step.equation
    given = tuple(digest(one.val) if isinstance(one, core.Literal) else "" for one in equation.invars)
    specs = [spec_of(one) for one in variables_of(equation)]
    try:
        key = repr(seen(applied(equation), specs, fixed_in(equation)))
    except Exception:  # noqa: BLE001 - as above; such a function is equal to itself alone.
        key = str(step.module.keep(equation))
    return "rule", name_of_rule(equation), given, key


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
    names = getattr(about, "arg_names", None) or ()
    names = names if len(names) == len(equation.invars) else [None] * len(equation.invars)
    first = {}
    for variable, name in zip(equation.invars, names, strict=True):
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
    moving = [place for place in range(len(specs)) if place not in fixed_in(step.equation)]
    forward, (out, pull) = jax.make_jaxpr(lambda *x: pullback(run, x, moving), return_shape=True)(*specs)
    backward = jax.make_jaxpr(lambda pull, cotangents: pull(cotangents))(pull, out)
    count = len(step.equation.outvars)
    forth, back = (body_of(one.jaxpr, one.consts, "rule", step.module.reading) for one in (forward, backward))
    forth = write_function(step.module, forward, forth, wanted=_inputs(step))
    kept = len(forth.results) - count
    names = [f"residual_{place}" for place in range(kept)] + ["cotangent"] * count
    back = write_function(step.module, backward, back, wanted=names)
    first = [f"{sequence(back.params[:kept])}, {bare(back.params[kept:])} = residuals, cotangents"]
    pulled = dict(zip(moving, back.results, strict=True))
    smooth = smooth_in(specs, fixed_in(step.equation))
    given = sequence([pulled[place] if place in smooth else "None" for place in range(len(specs))])
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
