"""Let a check read copies of the values that XLA computes inside of its kernels.

XLA never writes such a value to memory. A check that reads it makes XLA write it: that breaks the program's kernels apart
and rounds what they compute with one rounding (`a * b + c`), so last bits of the results change. Therefore the check reads a
value that is computed again, from values that XLA writes anyway. These go through an `optimization_barrier`, so that XLA
takes the copy for another value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.birth_primitives import ELEMENTWISE
from jax_debug_widgets._jax.passes.checked import Check
from jax_debug_widgets._jax.passes.operands import computed_for
from jax_debug_widgets._jax.passes.written_values import READ, SAME_ELEMENTS

_FUSED = ELEMENTWISE | frozenset(
    {
        "abs", "and", "broadcast_in_dim", "ceil", "clamp", "copy", "eq", "erf", "erfc", "expand_dims", "floor", "ge", "gt",
        "is_finite", "le", "logistic", "lt", "max", "min", "ne", "neg", "not", "or", "pad", "reshape", "rev", "round",
        "select_n", "sign", "slice", "squeeze", "tanh", "transpose", "xor",
    }
)  # fmt: skip
"""The primitives that XLA computes inside of the kernels that use their results."""


class Clones:
    """The values of a body that are computed again."""

    def __init__(self, jaxpr: core.Jaxpr, folded: Iterable[Any], *, is_inlined: bool) -> None:
        """Begin with no copy.

        Args:
          jaxpr: the body.
          folded: the transposes of matrix products that XLA writes, see `folded_transposes`.
          is_inlined: whether XLA inlines the body, so that it need not write its results.
        """
        self._makers = {out: one for one in jaxpr.eqns if one.primitive.name in _FUSED for out in one.outvars}
        self._written = {*folded, *(one for one in jaxpr.outvars if isinstance(one, core.Var) and not is_inlined)}
        for equation in jaxpr.eqns:
            if equation.primitive.name in READ:
                self._written.update(map(self._rearranged, equation.invars))
        self._known: dict[Any, Any] = {}

    def read_by(self, check: Check) -> tuple[list[core.JaxprEqn], Check]:
        """Return the check with copies in place of the values that it reads, and the equations of new copies."""
        equations: list[core.JaxprEqn] = []
        operands = [self._copy(one, equations) if self._is_fused(one) else one for one in check.operands]
        return equations, replace(check, operands=operands)

    def _rearranged(self, atom: Any) -> Any:
        """Return the value whose elements a value has in another shape."""
        while isinstance(atom, core.Var) and atom in self._makers:
            maker = self._makers[atom]
            if maker.primitive.name not in SAME_ELEMENTS:
                break
            atom = maker.invars[0]
        return atom if isinstance(atom, core.Var) else None

    def _is_fused(self, atom: Any) -> bool:
        return isinstance(atom, core.Var) and atom in self._makers and atom not in self._written

    def _copy(self, variable: Any, equations: list[core.JaxprEqn]) -> Any:
        left = [variable]
        while left:  # A chain may be longer than Python's stack.
            if left[-1] in self._known:
                left.pop()
                continue
            maker = self._makers[left[-1]]
            missing = [one for one in maker.invars if self._is_fused(one) and one not in self._known]
            if missing:
                left += missing
                continue
            is_copied = [self._is_fused(one) for one in maker.invars]
            operands = [
                self._known[one] if copied else one for one, copied in zip(maker.invars, is_copied, strict=True)
            ]
            made, (copy,) = computed_for(_again(maker, is_copied), operands)
            self._known[left.pop()] = copy
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
