"""Follow equations into the compiled program: each gets a name scope of its own, which XLA keeps for what it makes of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.studies.programs import opened, runs_one_call
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets.graphs.program import Body, Equation, Program

TAG = "eqn"
"""The name of a scope, before its number; XLA drops names with an `@`."""


LONG = 0.5
"""A program that takes XLA so many seconds is not compiled a second time, to compare the results."""


@dataclass(frozen=True, eq=False)
class ProgramTexts:
    """A program that was lowered and compiled, as text.

    Attributes:
      stablehlo, hlo: with tags.
      plain_hlo: compiled as it is; None where that would take long.
      is_lowered_same: whether what XLA is given is the same with tags and without, but for them.
    """

    stablehlo: str
    hlo: str
    plain_hlo: str | None
    is_lowered_same: bool


def tagged_texts(traced: Traced) -> tuple[ProgramTexts, dict[int, int]]:
    """The texts of a program, and the numbers of its equations: see `chains`.

    Raises:
      Exception: what lowering or compiling raises.
    """
    jaxpr, numbers = tagged(traced.jaxpr)
    lowered, plain = _lowered(jaxpr, traced), _lowered(traced.jaxpr, traced)
    began = time.monotonic()
    hlo = lowered.compile().as_text() or ""
    is_long = time.monotonic() - began > LONG
    plain_hlo = None if is_long else plain.compile().as_text() or ""
    is_same = lowered.as_text() == plain.as_text()
    return ProgramTexts(lowered.as_text(debug_info=True), hlo, plain_hlo, is_same), numbers


def compiled_text(traced: Traced) -> str:
    """A program as XLA has compiled it.

    Raises:
      Exception: what lowering or compiling raises.
    """
    return _lowered(traced.jaxpr, traced).compile().as_text() or ""


def _lowered(jaxpr: core.Jaxpr, traced: Traced) -> Any:
    return jax.jit(jaxpr_as_fun(ClosedJaxpr(jaxpr, traced.consts))).lower(*traced.operands)


def tagged(jaxpr: core.Jaxpr) -> tuple[core.Jaxpr, dict[int, int]]:
    """The program with a scope for each equation, and identity of an equation -> number. A shared body stays shared."""
    numbers: dict[int, int] = {}
    known: dict[int, tuple[Any, Any]] = {}

    def of_program(program: Any) -> Any:
        if id(program) not in known:
            own, _ = opened(program)
            inner = of_jaxpr(own)
            made = inner if own is program else program.replace(jaxpr=inner)
            known[id(program)] = (made, program)
        return known[id(program)][0]

    def of_param(value: Any) -> Any:
        if isinstance(value, ClosedJaxpr | core.Jaxpr):
            return of_program(value)
        if isinstance(value, tuple) and any(isinstance(one, ClosedJaxpr | core.Jaxpr) for one in value):
            parts: Any = map(of_param, value)
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value

    def of_jaxpr(own: core.Jaxpr) -> core.Jaxpr:
        made = []
        for equation in own.eqns:
            number = numbers[id(equation)] = len(numbers)
            stack = equation.source_info.name_stack.extend(f"{TAG}{number}")
            params = {key: of_param(value) for key, value in equation.params.items()}
            info = equation.source_info.replace(name_stack=stack)
            made.append(equation.replace(params=params, source_info=info))
        return own.replace(eqns=made)

    return of_jaxpr(jaxpr), numbers


def chains(traced: Traced, program: Program, numbers: Mapping[int, int]) -> list[tuple[int, ...]]:
    """For each equation of the program: the tags of the equations around it, outermost first, and its own."""
    found: list[tuple[int, ...]] = []

    def walk(equations: Sequence[Any], body: Body, around: tuple[int, ...]) -> None:
        for equation, read in zip(equations, body.equations, strict=True):
            own = (*around, numbers[id(equation)])
            found.append(own)
            _walk_inside(equation, read, own)

    def _walk_inside(equation: Any, read: Equation, own: tuple[int, ...]) -> None:
        programs = dict(programs_in(equation))
        for inner in read.bodies:
            walk(programs[inner.key].eqns, inner, own)

    whole = traced.jaxpr
    if runs_one_call(whole):
        inner, _ = opened(whole.eqns[0].params["jaxpr"])
        walk(inner.eqns, program.body, (numbers[id(whole.eqns[0])],))
    else:
        walk(whole.eqns, program.body, ())
    return found
