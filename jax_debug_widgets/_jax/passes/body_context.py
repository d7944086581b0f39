"""What a body cannot know by itself: who runs it, and which of its inputs and results are a derivative's."""

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
    """What a body cannot know by itself.

    Attributes:
      equation: what runs the body; None for the whole program.
      primal: the results that the program itself uses, as opposed to what differentiation keeps for its backward pass.
      cotangents: the operands that are cotangents.
      every, sampled_loop: only each n-th iteration of that loop around it is watched.
      switched: whether a switch beside the values sees to that, and not two bodies of the loop.
      call_of: of how many calls of the program one is watched.
      replicas: how many devices run the program.
      tangents: the operands that are tangents, which are computed beside the values, and who has asked for each, see
        `tangents_in`.
      pushed: whether it is run by what computes such.
      moved: whether it does not do what the source says: JAX has moved it out of a loop, of a jitted function that this runs
        what does not hang on the iteration, or it is a part of what `jax.linearize` gives.
      is_pass: whether the whole program is the forward or the backward pass of a derivative, which has another one.
      derived: whether the whole program is a derivative's, and of its results nobody says which the program itself uses.
      given: of a whole program what a library that has jitted it was called with.
      meant: of all of the program's variables those with infinities that are meant, see `meant_infinities`.
      outer: of what a backward rule or a transposed `jax.checkpoint` runs whether it is transposed, for each derivative around
        it but that which runs the rule; None: the name stack tells.
      path: what has made the equations around it, outermost first: the same in the forward and the backward pass.
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
    meant: Mapping[core.Var, frozenset[str]] = field(default_factory=dict["core.Var", frozenset[str]])
    outer: tuple[bool, ...] | None = None
    path: tuple[Hashable, ...] = ()

    @property
    def pushes_through(self) -> bool:
        """Whether somebody outside pushes tangents through the body."""
        return any(AROUND in asked for asked in self.tangents.values())


def around_program(jaxpr: core.Jaxpr, place: Place, replicas: int, *, is_jitted: bool, own: int | None) -> BodyContext:
    """What is around a whole program: un-jitted, `jax.grad(f)` of a jitted `f` runs two, the forward and the transposed one.

    Args:
      own: how many of its results it gives to who called it; the others are kept for the backward pass. None: nobody says.
    """
    stack = str(place.stack)
    cotangents: frozenset[int] = frozenset()
    if "transpose(" in stack:
        cotangents = _cotangents(jaxpr) if is_jitted else _cotangents_of_scan(jaxpr, stack)
    is_pass = derived = "jvp(" in stack
    # Of the results of what it differentiates in reverse JAX has no more names; un-jitted, `hessian` is on the Python stack.
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
    """Those operands of a transposed jitted function that are cotangents: the last ones, as many as its results hang on."""
    last: dict[Any, int] = {variable: number for number, variable in enumerate(jaxpr.invars)}
    for equation in jaxpr.eqns:
        operands = [last.get(atom, -1) for atom in equation.invars if not isinstance(atom, core.Literal)]
        last.update(dict.fromkeys(equation.outvars, max(operands, default=-1)))
    hang_on = [last.get(atom, -1) for atom in jaxpr.outvars if not isinstance(atom, core.Literal)]
    first = min((one for one in hang_on if one >= 0), default=len(jaxpr.invars))
    return frozenset(range(first, len(jaxpr.invars)))


def _cotangents_of_scan(jaxpr: core.Jaxpr, stack: str) -> frozenset[int]:
    """Those operands of a transposed `scan` that is a program of its own, as `jax.grad` of an un-jitted function makes it.

    What it carries; and of what it takes a slice at a time the first ones, as many as make all that it gives linear in them.
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
    """Whether each result, and each term of a sum of cotangents, comes from one of these operands, or is a constant."""
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
