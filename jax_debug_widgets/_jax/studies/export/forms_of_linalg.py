"""The forms of decompositions, whose functions order the results otherwise, and of the nearly largest: see `forms`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.literals import text_of


def singular_values(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    """`lax.linalg.svd`; the equation gives the singular values first."""
    call = f"lax.linalg.svd({', '.join([*x, *_given(equation)])})"
    yield call
    yield f"(lambda u, s, vt: (s, u, vt))(*{call})"


def eigenvalues(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    """`lax.linalg.eigh`; whoever wrote the equation has made the matrix symmetric before."""
    call = f"lax.linalg.eigh({', '.join([*x, *_given(equation), 'symmetrize_input=False'])})"
    yield call
    yield f"(lambda v, w: (w, v))(*{call})"


def nearly_largest(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    """`lax.approx_max_k` or `lax.approx_min_k`."""
    kind = "max" if equation.params["is_max_k"] else "min"
    given = [f"{key}={text_of(value)}" for key, value in equation.params.items() if key != "is_max_k"]
    yield f"lax.approx_{kind}_k({', '.join([*x, *given])})"


def _given(equation: core.JaxprEqn) -> list[str]:
    return [f"{key}={text_of(value)}" for key, value in equation.params.items() if value is not None]
