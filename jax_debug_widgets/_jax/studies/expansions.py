"""Tell what jax 0.12's high-level primitives compute, such as `lax.custom_root`: JAX makes other operations of them."""

from __future__ import annotations

from typing import Any

import jax

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets.graphs.flat import digest, flat_of, hash_down
from jax_debug_widgets.graphs.program import Body

LOOPS_INSIDE = frozenset({"random_gamma"})
"""Primitives that JAX lowers to a loop whose number of iterations is known only when it runs."""


def expansion_of(equation: core.JaxprEqn) -> Any | None:
    """The program that JAX makes of an operation with a high-level primitive; None for another, and if that fails."""
    operation: Any = versions.high_level(equation)
    if operation is None:
        return None

    def expand(*leaves: Any) -> Any:
        return operation.expand(*operation.in_tree.unflatten(leaves))

    try:
        return jax.make_jaxpr(expand)(*operation.in_avals_flat)
    except Exception:  # noqa: BLE001 - whatever a library's operation raises, the program can be read without this.
        return None


def runs_functions(equation: core.JaxprEqn) -> bool:
    """Whether the operation of a high-level primitive runs functions of the user: its parameters do not say what they do."""
    operation: Any = versions.high_level(equation)
    return operation is not None and any(
        callable(one) and not isinstance(one, type) for one in operation.params.values()
    )


def digest_of(body: Body) -> str:
    """A text that is equal for bodies that compute the same."""
    return digest(hash_down(flat_of(body, [("input", place) for place in range(len(body.inputs))])))[:8]
