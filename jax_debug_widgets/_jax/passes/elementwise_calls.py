"""See a jitted function of elementwise operations, such as `jax.nn.gelu`, as part of the body that calls it.

XLA inlines what is jitted inside a program, and fuses its operations with those around it. So only with them it can be known
which values XLA writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.operands import renamed

_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr"}
"""Primitive -> the parameter that holds the function."""

_ELEMENTWISE = frozenset({
    "abs", "add", "add_any", "and", "broadcast_in_dim", "ceil", "clamp", "convert_element_type", "copy", "copy_p", "cos",
    "div", "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expand_dims", "expm1", "floor", "ge", "gt", "integer_pow",
    "is_finite", "le", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "not", "one_minus_square", "or",
    "pow", "reshape", "round", "rsqrt", "select_n", "sign", "sin", "sqrt", "square", "squeeze", "stop_gradient", "sub",
    "tanh", "xor",
})  # fmt: skip
"""The primitives that XLA may compute once more without a loss: the same operation in a program twice becomes one."""


@dataclass(frozen=True)
class Copied:
    """A program that computes variables inside of calls from those of the body.

    Attributes:
      program: the program, which has no effects.
      inputs: the body's variables that it takes.
      results: the variables that it computes.
    """

    program: core.Jaxpr
    inputs: tuple[Any, ...]
    results: tuple[Any, ...]

    def compute(self, values: Sequence[Any]) -> list[Any]:
        """Compute the results from the values of the inputs."""
        return list(core.eval_jaxpr(self.program, (), *values))


def with_calls_inlined(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """Return a body in which the equations of elementwise functions stand in place of their calls."""
    equations = [inner for equation in jaxpr.eqns for inner in _inlined(equation)]
    return jaxpr if len(equations) == len(jaxpr.eqns) else jaxpr.replace(eqns=equations)


def copied(jaxpr: core.Jaxpr, inlined: core.Jaxpr, wanted: Sequence[Any]) -> Copied | None:
    """Return what computes those of the variables that only `inlined` has; None if `jaxpr` has all."""
    own = {*jaxpr.invars, *jaxpr.constvars, *(out for equation in jaxpr.eqns for out in equation.outvars)}
    results = tuple(one for one in wanted if one not in own)
    if not results:
        return None
    needed, inputs, equations = set(results), dict[Any, None](), []
    for equation in reversed(inlined.eqns):
        if needed.intersection(equation.outvars).difference(own):
            equations.append(equation)
            variables = [atom for atom in equation.invars if not isinstance(atom, core.Literal)]
            needed.update(variables)
            inputs.update(dict.fromkeys(one for one in variables if one in own))
    program = inlined.replace(
        constvars=[],
        invars=list(inputs),
        outvars=list(results),
        eqns=equations[::-1],
        effects=core.no_effects,
        debug_info=inlined.debug_info.with_unknown_names(),
    )
    return Copied(program, tuple(inputs), results)


def _inlined(equation: core.JaxprEqn) -> list[core.JaxprEqn]:
    """The equations of a call of elementwise operations; the equation itself if it is something else."""
    if equation.primitive.name not in _CALLS or equation.effects:
        return [equation]
    program = equation.params[_CALLS[equation.primitive.name]].jaxpr
    equations = [inner for outer in program.eqns for inner in _inlined(outer)]
    made = [out for inner in equations for out in inner.outvars]
    is_plain = not program.constvars and len({*program.outvars}) == len(program.outvars)
    if not (
        is_plain and {*program.outvars} <= {*made} and all(one.primitive.name in _ELEMENTWISE for one in equations)
    ):
        return [equation]
    results = zip(program.outvars, equation.outvars, strict=True)
    names = {inner: out for inner, out in results if not isinstance(out, core.DropVar)}
    return renamed(equations, {**dict(zip(program.invars, equation.invars, strict=True)), **names})
