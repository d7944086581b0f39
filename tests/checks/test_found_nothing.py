"""Test that a run lists the requested checks that found nothing."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session.panel.snapshots import snapshot_of
from jax_debug_widgets.widgets.summary import summary


@pytest.mark.parametrize(
    ("check", "checked"),
    [(True, "All checks"), ("oob,keys", "keys, oob"), (None, "")],
)
def test_a_run_says_which_checks_found_nothing(check, checked):
    f = jax.jit(lambda x, i: x[i] + jax.random.normal(jax.random.key(0)))
    x = jnp.arange(3.0)
    with jdw.capture(check=check) as run:
        f(x, 1)
    assert (run.status().checked, run.findings) == (checked, [])
    assert (f"{checked} found nothing" in summary(snapshot_of(run))) is bool(checked)
    with jdw.capture(check=check) as run:
        f(x, 3)
    assert run.status().checked == ("" if check else checked)
    with pytest.raises(ZeroDivisionError), jdw.capture(check=check) as run:
        f(x, 1 // 0)
    assert run.status().checked == ""


def test_a_check_that_covers_nothing_of_the_program_has_not_found_nothing():
    with jdw.capture(check="oob,keys") as run:
        jax.jit(lambda x: x + 1)(jnp.ones(3))
    assert run.status().checked == "keys"
