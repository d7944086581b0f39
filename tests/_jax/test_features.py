"""Test that a feature is off and gives a reason if JAX lacks what it needs."""

from __future__ import annotations

import jax
import pytest

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.origins.residual_results import own_results_now


@pytest.fixture
def needing(monkeypatch):
    """Return a function that changes the names that a feature needs."""

    def need(feature, module, text):
        monkeypatch.setitem(features.NEEDED, feature, {module: text})
        features.missing.cache_clear()

    yield need
    monkeypatch.undo()
    features.missing.cache_clear()


def test_the_installed_jax_has_all_that_the_features_need():
    assert features.missing() == {}


@pytest.mark.parametrize(
    ("module", "gone", "told"),
    [
        ("pjit", "gone", "pjit.gone"),
        ("pjit", "_pjit_linearize:gone", "pjit._pjit_linearize:gone"),
        ("pjit", "gone:num_primals_out", "pjit.gone:num_primals_out"),
        ("ad", "JVPTrace.gone", "interpreters.ad.JVPTrace.gone"),
        ("batching", "fancy_primitive_batchers[gone]", "interpreters.batching.fancy_primitive_batchers[gone]"),
        ("pxla", "_dce_jaxpr(jaxpr)", "interpreters.pxla._dce_jaxpr(jaxpr)"),
        ("pxla", "_dce_jaxpr(*, gone)", "interpreters.pxla._dce_jaxpr(*, gone)"),
        ("core", "eval_jaxpr(consts, jaxpr)", "core.eval_jaxpr(consts, jaxpr)"),
    ],
)
def test_a_feature_whose_name_or_argument_is_gone_is_off_and_says_so(module, gone, told, needing):
    needing(features.KEPT, module, f"{gone} _a")
    reason = f"jax {jax.__version__} has no jax._src.{told}, "
    assert features.missing()[features.KEPT].startswith(reason)
    assert features.why_off(features.KEPT).endswith(f", so {features.KEPT} is off.")
    assert not features.available(features.KEPT)
    assert features.available(features.WATCH)


def test_all_features_are_off_if_jax_lacks_what_capturing_needs(needing):
    needing(features.CAPTURE, "core", "gone")
    assert not features.available(features.WATCH)
    assert features.why_off(features.WATCH) == features.missing()[features.CAPTURE]
    assert list(features.missing()) == [features.CAPTURE]


def test_a_function_with_more_arguments_than_expected_is_accepted(needing):
    needing(features.KEPT, "core", "eval_jaxpr(jaxpr, any|consts, *, propagate_source_info)")
    assert features.available(features.KEPT)


def test_the_results_that_are_a_programs_own_are_not_counted_where_that_is_off(monkeypatch):
    def _pjit_linearize():
        num_primals_out = 2
        return own_results_now(), num_primals_out

    assert _pjit_linearize() == (2, 2)
    monkeypatch.setattr(features, "missing", lambda: {features.KEPT: "it is off"})
    assert _pjit_linearize() == (None, 2)
