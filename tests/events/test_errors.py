"""Exceptions as people read them in a line."""

from __future__ import annotations

import jax
import pytest

from jax_debug_widgets.events.errors import error_line

RAISED = """INTERNAL: CpuCallback error calling callback: Traceback (most recent call last):
  File "model.py", line 3, in bad
ValueError: broken"""


@pytest.mark.parametrize("added", ["", " [executable_name='jit__lambda']"], ids=["on a CPU", "on a GPU"])
def test_of_what_a_callback_raised_it_is_what_the_user_raised(added):
    assert error_line(jax.errors.JaxRuntimeError(RAISED + added)) == "ValueError: broken"
