"""Follow equations into the compiled program: each gets a name scope of its own, which XLA keeps on its instructions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.compat.stages import with_program
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.studies.programs import opened, runs_one_call
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets.graphs.hlo import without_metadata
from jax_debug_widgets.graphs.hlo_frames import frames_in
from jax_debug_widgets.graphs.program import Body, Equation, Program

TAG = "eqn"
"""The name of a scope, before its number; XLA drops names with an `@`."""


LONG = 0.5
"""A program that takes XLA so many seconds is not compiled a second time, to compare the results."""


Links = Literal["exact", "exact as lowered", "of another program", "by line"]
"""What links instructions with equations: lines, or tags.

With tags the program is the same as without, compiled or as it is lowered; or it is another one.
"""


@dataclass(frozen=True, eq=False)
class Stages:
    """A program that was lowered and compiled, as text.

    Attributes:
      stablehlo: with tags. `hlo`: with tags, but where links are by line.
      numbers: identity of an equation -> its tag.
      roots: where links are by line, the parts that the name of an instruction has for the whole program: `jit(f)`.
    """

    stablehlo: str
    hlo: str
    numbers: Mapping[int, int]
    links: Links
    roots: int = 1


def stages_of(traced: Traced, ran: str = "") -> Stages:
    """The stages of a program. Where tags change what is compiled, or cannot be compiled, links are by line.

    Args:
      ran: the text of the executable that a call runs. Nothing is compiled if it has what links by line need.

    Raises:
      Exception: what lowering or compiling raises.
    """
    plain, failed = cache(lambda: _lowered(traced.jaxpr, traced)), None
    try:
        stages = _stages_by_tags(traced, plain, ran)
    except Exception as error:  # noqa: BLE001 - of the tags; what the program itself raises is raised below.
        stages, failed = Stages(plain().as_text(), "", {}, "of another program"), error
    if stages.links != "of another program":
        return stages
    own = plain().compile().as_text() or ""
    if frames_in(own):
        return replace(stages, hlo=own, links="by line", roots=1 + runs_one_call(traced.jaxpr))
    if failed is not None:
        raise failed
    return stages


def _stages_by_tags(traced: Traced, plain: Callable[[], Any], ran: str) -> Stages:
    jaxpr, numbers = tagged(traced.jaxpr)
    lowered = _lowered(jaxpr, traced)
    hlo, links = (ran, "by line") if frames_in(ran) else _compiled_with_tags(lowered, plain)
    return Stages(lowered.as_text(debug_info=True), hlo, numbers, links)


def _compiled_with_tags(lowered: Any, plain: Callable[[], Any]) -> tuple[str, Links]:
    began = time.monotonic()
    hlo = lowered.compile().as_text() or ""
    if time.monotonic() - began > LONG:
        return hlo, "exact as lowered" if lowered.as_text() == plain().as_text() else "of another program"
    is_same = without_metadata(hlo) == without_metadata(plain().compile().as_text() or "")
    return hlo, "exact" if is_same else "of another program"


def executable_of_calls(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The text of the executable that a call runs, from JAX's cache; empty if the function is not jitted."""
    if not isinstance(function, jax.stages.Wrapped):
        return ""
    return function.lower(*args, **kwargs).compile().as_text() or ""


def compiled_text(traced: Traced) -> str:
    """A program as XLA has compiled it.

    Raises:
      Exception: what lowering or compiling raises.
    """
    return _lowered(traced.jaxpr, traced).compile().as_text() or ""


def _lowered(jaxpr: core.Jaxpr, traced: Traced) -> Any:
    """Lower a program as JAX lowers a jitted function; it is not traced again for that."""

    def alike(*_operands: Any) -> list[Any]:
        return [np.float32(0)] * len(jaxpr.outvars)  # Lowering takes the types of the results from the program.

    alike.__name__ = traced.name
    return with_program(jax.jit(alike).trace(*traced.operands), ClosedJaxpr(jaxpr, traced.consts)).lower()


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
