"""Tell which values of a program XLA writes to memory; it computes the others inside of its kernels."""

from __future__ import annotations

from collections import Counter
from typing import Any

SAME_ELEMENTS = frozenset(
    {"reshape", "squeeze", "expand_dims", "copy", "copy_p", "named", "stop_gradient", "transpose"}
)
"""The primitives that only rearrange the same elements; all but `transpose` keep their order."""

READ = frozenset({"conv_general_dilated", "dot_general", "fft", "scan", "sort", "while"})
"""The primitives whose operands XLA writes to memory."""


def folded_transposes(jaxpr: Any) -> dict[Any, Any]:
    """Map each matrix product to its transpose, if nothing else uses it: XLA then computes and writes only the transpose.

    JAX computes the gradient of each weight like this. Reading the product itself makes XLA write both, with a further
    kernel for the transpose.
    """
    uses = Counter(id(atom) for equation in jaxpr.eqns for atom in equation.invars)
    uses.update(id(atom) for atom in jaxpr.outvars)
    products = {one.outvars[0] for one in jaxpr.eqns if one.primitive.name == "dot_general"}
    return {
        equation.invars[0]: equation.outvars[0]
        for equation in jaxpr.eqns
        if equation.primitive.name == "transpose" and equation.params["permutation"] == (1, 0)
        if equation.invars[0] in products and uses[id(equation.invars[0])] == 1
    }
