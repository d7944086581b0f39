"""Define the context of a body: the equation that runs it, and which of its inputs and results belong to a derivative."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.filtered_jit_args import LibraryCall
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.origins.pushed_frames import is_pushed_now
from jax_debug_widgets._jax.tracing.tangents import AROUND, tangents_given


@dataclass(frozen=True, eq=False)
class BodyContext:
    """The facts about a body that its equations do not show.

    Attributes:
      equation: the equation that runs the body; None for the whole program.
      primal: the results that the program itself uses; the others are residuals, kept for the backward pass.
      cotangents: the operands that are cotangents.
      every, sampled_loop: only each `every`-th iteration of the loop `sampled_loop` around the body is watched.
      switched: whether a switch beside the values selects these iterations, rather than two bodies of the loop.
      call_of: one of `call_of` calls of the program is watched.
      replicas: how many devices run the program.
      tangents: the operands that are tangents, computed beside the values, with the frames that asked for each; see
        `tangents_in`.
      pushed: whether an equation that pushes tangents runs the body.
      moved: whether JAX has moved the body's equations to another place than the source's: out of a loop, as the part
        of a jitted function that does not depend on the iteration, or into the function that `jax.linearize` returns.
      is_pass: whether the whole program is the forward or the backward pass of a derivative; the other pass is a
        program, too.
      derived: whether the whole program belongs to a derivative, and it is unknown which results the program itself
        uses.
      given: for a whole program jitted by a library, the arguments of the library's call.
      intended: the program's variables with intended infinities, see `intended_infinities`.
      outer: for a body run by a backward rule or a transposed `jax.checkpoint`: whether each derivative around it,
        except the one that runs the rule, has transposed it; None if the name stack shows it.
      path: the operations of the equations around the body, outermost first; equal in the forward and the backward
        pass.
      position: the numbers of the equations around the body, each in its own body, outermost first. It ends with the
        outermost loop.
    """

    equation: Any = None
    primal: frozenset[int] | None = None
    cotangents: frozenset[int] = frozenset()
    tangents: Mapping[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    every: int = 1
    sampled_loop: int = 0
    switched: bool = False
    call_of: int = 1
    replicas: int = 1
    pushed: bool = False
    moved: bool = False
    is_pass: bool = False
    derived: bool = False
    given: LibraryCall | None = None
    intended: Mapping[core.Var, frozenset[str]] = field(default_factory=dict["core.Var", frozenset[str]])
    outer: tuple[bool, ...] | None = None
    path: tuple[Hashable, ...] = ()
    position: tuple[int, ...] = ()

    @property
    def pushes_through(self) -> bool:
        """Whether a derivative around the body pushes tangents through it."""
        return any(AROUND in asked for asked in self.tangents.values())


def around_program(jaxpr: core.Jaxpr, place: Place, replicas: int, *, is_jitted: bool, own: int | None) -> BodyContext:
    """Make the context of a whole program. An un-jitted `jax.grad(f)` of a jitted `f` runs two: forward and transposed.

    Args:
      own: how many of its first results go to its caller; the others are residuals. None if unknown.
    """
    stack = str(place.stack)
    cotangents: frozenset[int] = frozenset()
    if "transpose(" in stack:
        cotangents = _cotangents(jaxpr) if is_jitted else _cotangents_of_scan(jaxpr, stack)
    is_pass = derived = "jvp(" in stack
    # JAX drops the results' names if it differentiates in reverse; an un-jitted `hessian` is on the Python stack.
    pushed = derived and (jaxpr.debug_info.result_paths is not None or is_pushed_now())
    primal = frozenset(range(own)) if derived and own is not None else None
    derived = derived and primal is None
    return BodyContext(
        primal=primal,
        cotangents=cotangents,
        tangents=dict.fromkeys(tangents_given(jaxpr) if pushed else (), frozenset([AROUND])),
        replicas=replicas,
        pushed=pushed,
        is_pass=is_pass,
        derived=derived,
    )


def _cotangents(jaxpr: core.Jaxpr) -> frozenset[int]:
    """Return the inputs of a transposed jitted function that are cotangents: the last ones.

    Each result depends on a cotangent. So the first cotangent is the minimum, over all results, of the last input that
    the result needs.
    """
    last: dict[Any, int] = {variable: number for number, variable in enumerate(jaxpr.invars)}
    for equation in jaxpr.eqns:
        operands = [last.get(atom, -1) for atom in equation.invars if not isinstance(atom, core.Literal)]
        last.update(dict.fromkeys(equation.outvars, max(operands, default=-1)))
    hang_on = [last.get(atom, -1) for atom in jaxpr.outvars if not isinstance(atom, core.Literal)]
    first = min((one for one in hang_on if one >= 0), default=len(jaxpr.invars))
    return frozenset(range(first, len(jaxpr.invars)))


def _cotangents_of_scan(jaxpr: core.Jaxpr, stack: str) -> frozenset[int]:
    """Return the inputs that are cotangents, of a program that is one transposed `scan`, as un-jitted `jax.grad` makes it.

    These are the carried values, and as few of the first `xs` as make all results linear in the cotangents.
    """
    if not (stack.startswith("transpose(") and [one.primitive.name for one in jaxpr.eqns] == ["scan"]):
        return frozenset()
    (scan,) = jaxpr.eqns
    (first, carried), inner = versions.scan_counts(scan.params), scan.params["jaxpr"].jaxpr
    least = first + carried
    last = next((one for one in range(least, len(scan.invars)) if _is_linear(inner, inner.invars[first:one])), least)
    cotangents = {atom for atom in scan.invars[first:last] if not isinstance(atom, core.Literal)}
    return frozenset(position for position, variable in enumerate(jaxpr.invars) if variable in cotangents)


def _is_linear(jaxpr: core.Jaxpr, operands: Sequence[Any]) -> bool:
    """Whether each result, and each term of a sum of cotangents, is computed from one of these operands, or is a constant."""
    linear = set(operands)

    def is_linear(atom: Any) -> bool:
        return isinstance(atom, core.Literal) or atom in linear

    for equation in jaxpr.eqns:
        found = [is_linear(atom) for atom in equation.invars]
        if equation.primitive.name == "add_any" and any(found) and not all(found):
            return False
        variables = [atom for atom in equation.invars if not isinstance(atom, core.Literal)]
        if not variables or any(atom in linear for atom in variables):
            linear.update(equation.outvars)
    return all(map(is_linear, jaxpr.outvars))
