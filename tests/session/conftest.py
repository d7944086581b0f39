"""Define shells, and programs with callbacks that wait until the test releases them."""

from __future__ import annotations

import threading

import jax
import numpy as np
import pytest

from jax_debug_widgets.session import current_session
from tests.devices import cpu_pmap
from tests.magics.shell_fixtures import _shell, ours  # noqa: F401 - fixtures.

PATIENCE = 20
"""The most seconds to wait for something that must happen."""


class SlowProgram:
    """Runs a program on all devices with `run()`; its effects are pending until `release()`."""

    def __init__(self) -> None:
        self._gate = threading.Event()
        self.fired = threading.Event()
        self.run = cpu_pmap(self._body, 4)
        self.x = np.arange(4, dtype=np.float32)

    def _body(self, x):
        jax.debug.callback(self._wait, x)
        return x + 1

    def _wait(self, _x) -> None:
        self.fired.set()
        assert self._gate.wait(PATIENCE)

    def release(self) -> None:
        self._gate.set()


@pytest.fixture
def slow():
    program = SlowProgram()
    yield program
    program.release()
    run = current_session().current
    assert run is None or run.barrier(PATIENCE)
