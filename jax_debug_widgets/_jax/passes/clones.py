"""Let a check read a copy of a product, because reading the product itself would change last bits of the program.

XLA computes `a * b + c` with one rounding if it computes the product nowhere else. A product that a check reads is written
to memory, and so is rounded by itself. Therefore the check reads a product that is computed again, from the same operands
behind an `optimization_barrier`: XLA takes it for another value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.checked import Check
from jax_debug_widgets._jax.passes.operands import computed_for

_PRODUCTS = frozenset({"div", "integer_pow", "mul", "square"})
"""The primitives that XLA contracts with a sum. XLA makes a division by a constant a product."""

_OF_PRODUCTS = frozenset(
    {"broadcast_in_dim", "copy", "expand_dims", "neg", "reshape", "rev", "slice", "squeeze", "transpose"}
)
"""The primitives through which a product reaches a sum."""


class Clones:
    """The products of a body that are computed again."""

    def __init__(self, jaxpr: core.Jaxpr, *, is_inlined: bool) -> None:
        """Begin with no copy; `is_inlined` says that XLA inlines the body, so that it need not write its results."""
        self._makers = {out: one for one in jaxpr.eqns for out in one.outvars}
        self._written = {one for one in jaxpr.outvars if isinstance(one, core.Var) and not is_inlined}
        self._known: dict[Any, Any] = {}

    def read_by(self, check: Check) -> tuple[list[core.JaxprEqn], Check]:
        """Return the check with copies in place of the products that it reads, and the equations of new copies."""
        equations: list[core.JaxprEqn] = []
        operands = [self._copy(one, equations) if self._is_product(one) else one for one in check.operands]
        return equations, replace(check, operands=operands)

    def _is_product(self, atom: Any) -> bool:
        """Whether XLA may contract a value with a sum, unless it is written."""
        if isinstance(atom, core.Literal) or atom in self._written or atom not in self._makers:
            return False
        maker = self._makers[atom]
        if maker.primitive.name in _OF_PRODUCTS:
            return self._is_product(maker.invars[0])
        return maker.primitive.name in _PRODUCTS and jnp.issubdtype(atom.aval.dtype, jnp.floating)

    def _copy(self, variable: Any, equations: list[core.JaxprEqn]) -> Any:
        if variable not in self._known:
            maker = self._makers[variable]
            is_copied = [self._is_product(one) for one in maker.invars]
            operands = [
                self._copy(one, equations) if copied else one
                for one, copied in zip(maker.invars, is_copied, strict=True)
            ]
            made, (self._known[variable],) = computed_for(_again(maker, is_copied), operands)
            equations += made
        return self._known[variable]


def _again(equation: core.JaxprEqn, is_copied: Sequence[bool]) -> Any:
    """Return a function that computes an equation from its operands; those that are no copies go through a barrier."""

    def compute(*arrays: Any) -> list[Any]:
        hidden = [
            one if copied or isinstance(atom, core.Literal) else lax.optimization_barrier(one)
            for atom, one, copied in zip(equation.invars, arrays, is_copied, strict=True)
        ]
        return [equation.primitive.bind(*hidden, **equation.params)]

    return compute
