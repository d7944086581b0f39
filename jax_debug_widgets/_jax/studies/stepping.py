"""Run a program equation by equation, and report its place before each one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import api_util, core
from jax_debug_widgets._jax.origins.frames import UNKNOWN_FRAME, Frame, frames_in_body, frames_of
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.body_context import BodyContext, around_program
from jax_debug_widgets._jax.passes.program import outermost
from jax_debug_widgets._jax.passes.uses import VariableUses
from jax_debug_widgets._jax.studies.trace import trace
from jax_debug_widgets._jax.tracing.expressions import LinesOf


@dataclass(frozen=True, eq=False)
class RunBody:
    """A body that is being run.

    Attributes:
      entered: the body around it, the number of the equation there that runs it, and as which of its parameters; None for the
        whole program, which has that `name`.
    """

    jaxpr: core.Jaxpr
    entered: tuple[RunBody, int, str] | None
    name: str

    @cached_property
    def where(self) -> tuple[Place, BodyContext]:
        """The place and context of the body; computed only when the debugger stands in it."""
        if self.entered is None:
            place = outermost(self.name)
            return place, around_program(self.jaxpr, place, 1, is_jitted=True, own=None)
        body, number, key = self.entered
        (place, around), equation = body.where, body.jaxpr.eqns[number]
        inside = place.inside(equation, key, self.jaxpr)
        return inside, VariableUses(body.jaxpr, place, around).around(number, equation, key)


@dataclass(frozen=True, eq=False)
class Standing:
    """The program is about to run an equation.

    Attributes:
      equation: the text of the equation, `c:f32[3] = sin b`.
      primitive: the name of its primitive.
      frame: the user's frame that it comes from; for an equation of JAX's own functions, the frame that called these.
      by_jax: whether a function of JAX's own has made it.
      path: the bodies it is in, outermost first: `scan, step 2`.
      body: the body that it is in, as equation `number`.
      values: the values computed in this body so far.
      has_body: whether it can be stepped into.
      outer: the equations around it that run the bodies, innermost first.
    """

    equation: str
    primitive: str
    frame: Frame
    path: tuple[str, ...]
    body: RunBody
    number: int
    values: Mapping[Any, Any]
    has_body: bool
    by_jax: bool = False
    outer: tuple[Standing, ...] = ()


Ask = Callable[[Standing], bool]
"""Called before each equation; whether to step into its body. May raise to end the program."""


def run_stepwise(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], ask: Ask, lines_of: LinesOf
) -> Any:
    """Run `function(*args, **kwargs)` equation by equation, and return its value.

    Values are those of un-jitted JAX: XLA fuses nothing, so last digits may differ from the compiled program's.

    Args:
      ask: called before each equation; says how to go on.
      lines_of: returns the lines to note of a function while it is traced, see `tracing/bindings.py`.

    Raises:
      Exception: what tracing the function raises, what an equation raises, what `ask` raises.
    """
    traced = trace(function, args, kwargs, lines_of, whole_numbers=True)
    operands = [jnp.asarray(one) for one in traced.operands]
    results = _Run(ask).program(RunBody(traced.jaxpr, None, traced.name), traced.consts, operands)
    return jax.tree.unflatten(traced.result, results)


class _Run:
    """One run of a program; bodies that are stepped into are run by Python, others by JAX."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._outer: tuple[Standing, ...] = ()
        self._around: tuple[Frame, ...] = ()

    def program(self, whole: RunBody, consts: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """The outputs of a whole program. One that is a call of another (a jitted function) is gone straight into."""
        equations, names = whole.jaxpr.eqns, (whole.name,)
        if [_INTO.get(equation.primitive.name) for equation in equations] != [_into_jit]:
            return self._body(whole, consts, operands, names)
        call = equations[0]
        values = dict(zip((*whole.jaxpr.constvars, *whole.jaxpr.invars), (*consts, *operands), strict=True))
        inner = call.params["jaxpr"]
        jitted = RunBody(inner.jaxpr, None, call.params.get("name") or whole.name)
        inputs = [_read(atom, values) for atom in call.invars]
        results = self._body(jitted, inner.consts, inputs, (*names, _name_of(call)))
        values.update(zip(call.outvars, results, strict=True))
        return [_read(atom, values) for atom in whole.jaxpr.outvars]

    def inside(self, key: str, program: Any, operands: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
        """The outputs of a program that the equation we stand at has as its parameter `key` (`branch_1_fun` of a tuple)."""
        jaxpr, consts = (program, ()) if isinstance(program, core.Jaxpr) else (program.jaxpr, program.consts)
        standing = self._outer[0]
        body = RunBody(jaxpr, (standing.body, standing.number, key), standing.body.name)
        return self._body(body, consts, operands, path)

    def _body(self, body: RunBody, consts: Sequence[Any], operands: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
        jaxpr = body.jaxpr
        values: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *operands), strict=True))
        for number, equation in enumerate(jaxpr.eqns):
            inputs = [_read(atom, values) for atom in equation.invars]
            inner: Any = _INTO.get(equation.primitive.name)
            traceback = equation.source_info.traceback
            own = next(iter(frames_in_body(traceback, jaxpr, self._around)), UNKNOWN_FRAME)
            standing = _standing(body, number, own, path, values, self._outer)
            if self._ask(standing) and inner is not None:
                outside = self._outer, self._around
                self._outer, self._around = (standing, *self._outer), frames_of(traceback)
                results = inner(self, equation, inputs, (*path, _name_of(equation)))
                self._outer, self._around = outside
            else:
                results = bind(equation, inputs)
            values.update(zip(equation.outvars, results, strict=True))
        return [_read(atom, values) for atom in jaxpr.outvars]


def _read(atom: Any, values: Mapping[Any, Any]) -> Any:
    return atom.val if isinstance(atom, core.Literal) else values[atom]


@functools.cache
def _no_names() -> Any:
    return api_util.debug_info("step", lambda: None, (), {}).with_unknown_names()


def bind(equation: core.JaxprEqn, inputs: Sequence[Any]) -> list[Any]:
    """Run an equation on `inputs`, as a program of this equation alone; return its results. No input is donated."""
    if any(given := equation.params.get("donated_invars", ())):  # They are still shown at later equations.
        equation = equation.replace(params={**equation.params, "donated_invars": (False,) * len(given)})
    values = {atom: x for atom, x in zip(equation.invars, inputs, strict=True) if not isinstance(atom, core.Literal)}
    program = core.Jaxpr((), list(values), list(equation.outvars), [equation], equation.effects, _no_names())
    return list(core.eval_jaxpr(program, (), *values.values()))


def _into_jit(run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    return run.inside("jaxpr", equation.params["jaxpr"], inputs, path)


def _into_call(key: str, run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    return run.inside(key, equation.params[key], inputs, path)


def _into_cond(run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    index, *operands = inputs
    branches = equation.params["branches"]
    taken = min(max(int(index), 0), len(branches) - 1)
    return run.inside(f"branch_{taken}_fun", branches[taken], operands, (*path[:-1], f"cond, branch {taken}"))


def _into_while(run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    params = equation.params
    of_cond, of_body = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts = inputs[:of_cond], inputs[of_cond : of_cond + of_body]
    carry = list(inputs[of_cond + of_body :])
    step = 0
    # The condition is run as it is: it would be in the way of going through the body.
    while bool(core.jaxpr_as_fun(params["cond_jaxpr"])(*cond_consts, *carry)[0]):
        there = (*path[:-1], f"while, step {step}")
        carry = run.inside("body_jaxpr", params["body_jaxpr"], [*body_consts, *carry], there)
        step += 1
    return carry


def _into_scan(run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    params = equation.params
    (of_consts, of_carry), length = versions.scan_counts(params), params["length"]
    consts, carry = list(inputs[:of_consts]), list(inputs[of_consts : of_consts + of_carry])
    xs = inputs[of_consts + of_carry :]
    if length == 0:
        return bind(equation, inputs)
    stacked: list[list[Any]] = []
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)
    for step in order:
        operands = [*consts, *carry, *(x[step] for x in xs)]
        outputs = run.inside("jaxpr", params["jaxpr"], operands, (*path[:-1], f"scan, step {step}"))
        carry = outputs[:of_carry]
        stacked.append(outputs[of_carry:])
    rows = stacked[::-1] if params["reverse"] else stacked
    return [*carry, *(jnp.stack(column) for column in zip(*rows, strict=True))]


_INTO: dict[str, Any] = {
    "jit": _into_jit,
    "pjit": _into_jit,
    **dict.fromkeys(versions.CALLS, functools.partial(_into_call, "call_jaxpr")),
    "custom_jvp_call": functools.partial(_into_call, "call_jaxpr"),
    "custom_vjp_call": functools.partial(_into_call, "call_jaxpr"),
    "checkpoint": functools.partial(_into_call, "jaxpr"),
    "remat2": functools.partial(_into_call, "jaxpr"),
    "cond": _into_cond,
    "while": _into_while,
    "scan": _into_scan,
}


def _name_of(equation: core.JaxprEqn) -> str:
    name = equation.params.get("name")
    return f"{equation.primitive.name} {name}" if isinstance(name, str) and name else equation.primitive.name


def _standing(
    body: RunBody,
    number: int,
    own: Frame,
    path: tuple[str, ...],
    values: Mapping[Any, Any],
    outer: tuple[Standing, ...],
) -> Standing:
    equation = body.jaxpr.eqns[number]
    by_jax = own is UNKNOWN_FRAME
    outputs = ", ".join(f"{_letter(v)}:{v.aval.str_short(short_dtypes=True)}" for v in equation.outvars)
    inputs = " ".join(str(a.val) if isinstance(a, core.Literal) else _letter(a) for a in equation.invars)
    return Standing(
        equation=f"{outputs} = {_name_of(equation)} {inputs}".strip(),
        primitive=equation.primitive.name,
        frame=outer[0].frame if by_jax and outer else own,
        path=path,
        body=body,
        number=number,
        values=values,
        has_body=equation.primitive.name in _INTO,
        by_jax=by_jax,
        outer=outer,
    )


@functools.cache
def _letters() -> Any:
    """Gives variables their letters; one for all programs, so that none has two."""
    return core.JaxprPpContext()


def _letter(variable: Any) -> str:
    return "_" if isinstance(variable, core.DropVar) else str(core.pp_var(variable, _letters()))
