"""Test that the record of the first NaN or infinity is the same from Numba and from XLA."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import native
from jax_debug_widgets._jax.passes import birth_records

NAN, INF = np.nan, np.inf

ELEMENTS = {
    "finite": ([1, 2, 3], [1, 2, 3]),
    "of finite numbers": ([1, INF, NAN], [1, 0, 0], [1, 1, 0]),
    "passed on": ([NAN, 2, INF], [NAN, 2, INF]),
    "passed on, then born": ([NAN, INF, 3], [NAN, 2, 3], 1.0),
    "NaN of infinities": ([1, NAN, 3], [1, INF, 3], [1, INF, 3]),
    "one number for a row": ([[1, 2], [NAN, 3]], [[1, 2], [0, 3]], [[1], [0]]),
    "one number for a column": ([[1, INF, 2], [1, INF, 3]], [[1, 7, 2], [1, 8, 3]], [[1, 0, 1]]),
    "one number for each axis between": (
        np.full((2, 3, 2), INF),
        np.arange(12.0).reshape(2, 3, 2) + 1,
        np.zeros((2, 1, 2)),
    ),
}
ARRAYS = {
    "finite": ([1, 2], [[1, 2], [3, 4]]),
    "of finite numbers": ([1, -INF], [[1, 2], [3, 4]]),
    "of infinite numbers": ([1, INF, NAN], [INF, 2]),
    "infinity of infinities": ([1, INF], [INF, 2]),
    "passed on": ([NAN, NAN], [NAN, 2], [1]),
}


def _both(elementwise, arrays):
    given = [jnp.asarray(one, jnp.float32) for one in arrays]
    ours = jax.jit(lambda *given: birth_records.record_of(elementwise, True, *given)[0])
    assert "jax_debug_widgets_births" in ours.lower(*given).as_text()
    xlas = jax.jit(
        lambda *given: birth_records._of_elements(*given) if elementwise else birth_records._of_arrays(*given)
    )
    return ours(*given).tolist(), xlas(*given).tolist()


@pytest.mark.cpu("custom calls compiled by Numba")
@pytest.mark.parametrize(
    ("elementwise", "arrays"),
    [*((True, one) for one in ELEMENTS.values()), *((False, one) for one in ARRAYS.values())],
    ids=[*ELEMENTS, *(f"arrays, {one}" for one in ARRAYS)],
)
def test_numba_and_xla_make_the_same_record(elementwise, arrays):
    ours, xlas = _both(elementwise, arrays)
    is_finite = np.isfinite(arrays[0]).all()
    assert ours == ([0] * 6 if is_finite else xlas)


@pytest.mark.cpu("custom calls compiled by Numba")
def test_a_large_array_is_counted():
    large = np.ones(1 << 19)
    large[[3, 1 << 18, -1]] = NAN, INF, NAN
    ours, xlas = _both(True, [large, np.ones(1 << 19)])
    assert ours == xlas and ours[:3] == [3, 1, 3]


@pytest.mark.cpu("custom calls compiled by Numba")
def test_numba_is_loaded_for_programs_that_are_worth_it(monkeypatch):
    asked: list[bool] = []
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(birth_records, "_native", lambda: asked.append(True))
    with jdw.capture(check="nonfinite"):
        jax.jit(lambda x: 1 / x)(jnp.arange(1, 3.0))
        assert not asked
        jax.jit(lambda x: ((((((((x / x) / x) / x) / x) / x) / x) / x) / x) / x)(jnp.arange(1, 3.0))
    assert asked


def test_the_first_nan_is_found_without_numba(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setitem(sys.modules, "jax_debug_widgets._jax.passes.births_native", None)
    monkeypatch.setattr(native, "_known", {})
    with pytest.warns(UserWarning, match="so XLA finds where a NaN was born"), jdw.capture(check="nonfinite") as run:
        jax.jit(lambda x: 1 / x)(jnp.arange(3.0))
    (found,) = run.findings
    assert "div(1, 0) = inf at [0]" in found.why
