"""Find the lines of the forward pass whose derivative may have made a gradient infinite or NaN.

The derivative of `h - 1.0` hands on what comes to it; that of `jnp.sqrt(m)` divides by zero at 0. So the search goes
from a gradient back through the backward pass, up to gradients that are watched: these are finite if this one is the
first that is not. Equations that cannot make a number infinite are skipped.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax import dtypes

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Level
from jax_debug_widgets._jax.origins.inputs import JITS
from jax_debug_widgets._jax.origins.libraries import is_library
from jax_debug_widgets.events import Derivative
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.named import Named
from jax_debug_widgets.watch.naming.names import place_of
from jax_debug_widgets.watch.syntax.statements import Span

_LONGEST = 80
"""The most characters of an expression that are shown."""

_HANDING_ON = frozenset({
    "add_any", "broadcast_in_dim", "concatenate", "conj", "convert_element_type", "copy", "copy_p", "dynamic_slice",
    "dynamic_update_slice", "expand_dims", "gather", "imag", "mul", "name", "named", "neg", "optimization_barrier", "pad",
    "pbroadcast", "pvary", "real", "reshape", "reshard", "rev", "select_n", "sharding_constraint", "slice", "split", "squeeze",
    "stop_gradient", "transpose", "add", "sub", "reduce_sum", "scatter-add", "cumsum", "psum", "psum_invariant",
})  # fmt: skip
"""Primitives whose results are finite if their operands are, unless numbers overflow; `mul` only by a finite factor."""

_BOUNDED = frozenset({"abs", "atan", "clamp", "cos", "erf", "logistic", "max", "min", "sign", "sin", "tanh"})
"""Further primitives whose values are finite if their operands are."""


def derivatives_of(
    body: BodyWithFrames, gradient: Named, finite: Container[Any], name_file: Callable[[str], str]
) -> tuple[Derivative, ...]:
    """Return the expressions whose derivative may have made a gradient infinite, in the order of their lines.

    Args:
      finite: the watched variables of the body: they are finite if the gradient is the first value that is not.
    """
    way = _WayBack(body, finite)
    way.follow(gradient.variable)
    levels = {(one.file, Span(*one.span)) for one in (_line_of(body, at) for at in way.makers) if one}
    found = []
    for file, span in sorted(levels):
        text = textwrap.shorten(body.source(file).text(span), _LONGEST, placeholder=" …")
        if text:
            found.append(Derivative(text, file, span.line, f"{name_file(file)}:{span.line}", way.is_open))
    return tuple(found)


def _line_of(body: BodyWithFrames, number: int) -> Level | None:
    """Return the line of the forward pass that a backward equation belongs to.

    For a rule (`defvjp`) return the line that calls its function.
    """
    called = [one for one in body.levels[number] if one.runs_rule == "backward" and not is_library(one.file)]
    place = place_of(body, number)
    return called[0] if called else place[0] if place else None


@dataclass
class _WayBack:
    """A walk from a gradient back through the backward pass of a body.

    Attributes:
      finite: variables that are known to be finite.
      makers: the numbers of the equations that may make a non-finite number.
      is_open: whether the walk leads out of the body, to unknown cotangents.
    """

    body: BodyWithFrames
    finite: Container[Any]
    makers: list[int] = field(default_factory=list[int])
    is_open: bool = False

    def follow(self, variable: Any) -> None:
        """Go back from this variable."""
        todo, seen = [variable], set[int]()
        while todo:
            made = self.body.maker_of(atom := todo.pop())
            if made is None:
                self.is_open |= not self._is_given_constant(atom)
            elif made[1] not in seen:
                seen.add(made[1])
                equation = self.body.equations[made[1]]
                come_in = [one for one in equation.invars if self.body.uses.is_cotangent(one)]
                if not self._hands_on(equation, come_in):
                    self.makers.append(made[1])
                todo += [one for one in come_in if one not in self.finite]

    def _hands_on(self, equation: Any, come_in: list[Any]) -> bool:
        """Whether an equation gives finite cotangents for finite ones."""
        others = [one for one in equation.invars if not any(one is cotangent for cotangent in come_in)]
        name = equation.primitive.name
        if name == "mul":
            return len(come_in) <= 1 and all(map(self._is_finite, others))
        if name == "div":
            return not any(one is equation.invars[1] for one in come_in) and self._is_constant(equation.invars[1])
        is_kept = _only_moves(equation.params["jaxpr"].jaxpr) if name in JITS else name in _HANDING_ON
        return is_kept and not _narrows(equation) and all(map(self._is_finite, others))

    def _is_finite(self, atom: Any, depth: int = 8) -> bool:
        """Whether a factor is known to be finite: a literal, an integer, a watched value, or computed from such."""
        if isinstance(atom, core.Literal):
            return bool(np.isfinite(np.asarray(atom.val, np.complex128)).all())
        if not dtypes.issubdtype(atom.aval.dtype, np.inexact) or atom in self.finite:
            return True
        made = self.body.maker_of(atom)
        if made is None or depth == 0:
            return False
        equation = self.body.equations[made[1]]
        name, operands = equation.primitive.name, equation.invars
        if name == "mul" and not any(isinstance(one, core.Literal) for one in operands):
            return False  # It may overflow.
        is_kept = (name in _HANDING_ON and not _narrows(equation)) or name in _BOUNDED
        return is_kept and all(self._is_finite(one, depth - 1) for one in operands)

    def _is_constant(self, atom: Any) -> bool:
        """Whether a divisor is a finite number other than zero."""
        if isinstance(atom, core.Literal):
            value = np.asarray(atom.val, np.complex128)
            return bool(np.isfinite(value).all() and (value != 0).all())
        made = self.body.maker_of(atom)
        equation = self.body.equations[made[1]] if made else None
        is_same = equation is not None and equation.primitive.name in (
            "broadcast_in_dim",
            "convert_element_type",
            "reshape",
        )
        return is_same and equation is not None and self._is_constant(equation.invars[0])

    def _is_given_constant(self, atom: Any) -> bool:
        """Whether this cotangent is a constant argument of a jitted function: the 1 that a gradient begins with."""
        around = self.body.around.equation
        inputs = self.body.jaxpr.invars
        if around is None or len(around.invars) != len(inputs) or around.primitive.name in ("scan", "while"):
            return False
        return any(
            own is atom and isinstance(given, core.Literal) for own, given in zip(inputs, around.invars, strict=True)
        )


def _only_moves(jaxpr: Any) -> bool:
    """Whether a program only selects or moves its inputs, as that of `jnp.where` does."""
    moving = _HANDING_ON - {"mul"}
    return all(one.primitive.name in moving and not _narrows(one) for one in jaxpr.eqns)


def _narrows(equation: Any) -> bool:
    """Whether an equation converts to a type with a smaller range, such as float16."""
    if equation.primitive.name != "convert_element_type":
        return False
    old, new = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
    if not (dtypes.issubdtype(old, np.floating) and dtypes.issubdtype(new, np.floating)):
        return False
    return float(dtypes.finfo(new).max) < float(dtypes.finfo(old).max) / 2
