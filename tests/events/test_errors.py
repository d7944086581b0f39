"""Test exceptions as single lines for people."""

from __future__ import annotations

import jax
import pytest

from jax_debug_widgets.events.errors import error_line

RAISED = """INTERNAL: CpuCallback error calling callback: Traceback (most recent call last):
  File "model.py", line 3, in bad
ValueError: broken"""


@pytest.mark.parametrize("added", ["", " [executable_name='jit__lambda']"], ids=["on a CPU", "on a GPU"])
def test_the_line_of_an_error_in_a_callback_is_the_users_exception(added):
    assert error_line(jax.errors.JaxRuntimeError(RAISED + added)) == "ValueError: broken"
