"""Test names that Python normalises (NFKC): they are found in every spelling."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw

MICRO, MU, WIDE = "\u00b5", "\u03bc", "\uff21\uff22"
PROGRAM = f"""
def f(x):
    {MICRO} = x * 2
    {WIDE} = {MICRO} + 1
    jax.debug.print('{{}}', {MICRO})
    return {WIDE}.sum()
"""


@pytest.mark.parametrize(("written", "python"), [(MICRO, MU), (WIDE, "AB")])
def test_a_name_is_watched_read_and_stopped_at_as_it_is_typed_and_as_python_has_it(tmp_path, written, python):
    (tmp_path / "model.py").write_text(PROGRAM, encoding="utf-8")
    names = {"jax": jax}
    exec(compile(PROGRAM, str(tmp_path / "model.py"), "exec"), names)  # noqa: S102 - names that no editor would keep.
    for name in (written, python):
        with jdw.capture(watch=name, break_on=f"{name} > 0") as run:
            jax.jit(names["f"])(jnp.ones(2))
        assert [*run] == [python] and written in run and run[written].name == run[python].name
        assert sum(run.policy.hits.values()) >= 1
        assert len(run.series(f"{name}.mean")[1]) == 1
