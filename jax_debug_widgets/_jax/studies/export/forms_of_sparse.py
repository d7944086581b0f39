"""The forms of operations on sparse matrices (`BCOO`), which a program takes apart into numbers and indices: see `forms`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.literals import dtype_of, text_of

_SPARSE = "jax.experimental.sparse"


def _matrix(data: str, indices: str, about: Any) -> str:
    given = [f"({data}, {indices})", f"shape={text_of(tuple(about.shape))}"]
    given += [f"{key}=True" for key in ("indices_sorted", "unique_indices") if getattr(about, key)]
    return f"{_SPARSE}.BCOO({', '.join(given)})"


def _parts(matrix: str) -> str:
    return f"(lambda m: (m.data, m.indices))({matrix})"


def _product(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    params = equation.params
    matrix = _matrix(x[0], x[1], params["lhs_spinfo"])
    yield f"{matrix} @ {x[2]}"
    given = f"dimension_numbers={text_of(params['dimension_numbers'])}"
    yield f"{_SPARSE}.bcoo_dot_general({matrix}, {x[2]}, {given})"
    kind = params.get("preferred_element_type")
    if kind is not None:
        yield f"{_SPARSE}.bcoo_dot_general({matrix}, {x[2]}, {given}, preferred_element_type={dtype_of(kind)})"


def _product_at(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    given = f"dimension_numbers={text_of(equation.params['dimension_numbers'])}"
    yield f"{_SPARSE}.bcoo_dot_general_sampled({', '.join(x)}, {given})"


def _dense(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    yield f"{_matrix(x[0], x[1], equation.params['spinfo'])}.todense()"


def _of_dense(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    params = equation.params
    given = [f"{key}={params[key]}" for key in ("nse", "n_batch", "n_dense") if params[key]]
    yield _parts(f"{_SPARSE}.BCOO.fromdense({', '.join([x[0], *given])})")


def _transposed(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    matrix = _matrix(x[0], x[1], equation.params["spinfo"])
    yield _parts(f"{matrix}.T")
    yield _parts(f"{_SPARSE}.bcoo_transpose({matrix}, permutation={text_of(tuple(equation.params['permutation']))})")


def _in_order(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    yield _parts(f"{_matrix(x[0], x[1], equation.params['spinfo'])}.sort_indices()")


def _summed(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    params = equation.params
    yield _parts(f"{_matrix(x[0], x[1], params['spinfo'])}.sum_duplicates(nse={params['nse']}, remove_zeros=False)")


SPARSE: dict[str, Callable[[core.JaxprEqn, Sequence[str]], Iterator[str]]] = {
    "bcoo_dot_general": _product,
    "bcoo_dot_general_sampled": _product_at,
    "bcoo_todense": _dense,
    "bcoo_fromdense": _of_dense,
    "bcoo_transpose": _transposed,
    "bcoo_sort_indices": _in_order,
    "bcoo_sum_duplicates": _summed,
}
