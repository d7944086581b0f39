"""Where JAX has not what a feature needs, that feature is off and a sentence says so."""

from __future__ import annotations

import jax
import pytest

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.origins.residual_results import own_results_now


@pytest.mark.parametrize("gone", ["jax._src.pjit._pjit_linearize:gone", "jax._src.pjit.gone:num_primals_out"])
def test_a_feature_whose_function_or_local_variable_is_gone_is_off_and_says_so(gone, monkeypatch):
    assert features.available(features.KEPT)
    monkeypatch.setitem(features._NEEDED, features.KEPT, (gone,))
    features.missing.cache_clear()
    try:
        assert features.missing()[features.KEPT] == f"jax {jax.__version__} has no {gone}, so {features.KEPT} is off."
    finally:
        features.missing.cache_clear()


def test_the_results_that_are_a_programs_own_are_not_counted_where_that_is_off(monkeypatch):
    def _pjit_linearize():
        num_primals_out = 2
        return own_results_now(), num_primals_out

    assert _pjit_linearize() == (2, 2)
    monkeypatch.setattr(features, "missing", lambda: {features.KEPT: "it is off"})
    assert _pjit_linearize() == (None, 2)
