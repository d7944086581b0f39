"""Code in the kernel that goes on when the test says so: what is shown meanwhile is shown while the cell runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BLOCKED = """%%jaxdebug
{define}

@jax.jit
def blocked(x):
    def body(i, x):
        jax.debug.print("step {{i}}", i=i)
        return x * 0.5
    x = lax.fori_loop(0, {steps}, body, x)
    jax.debug.callback(lambda x: wait(), x)
    return x

blocked(1.0)
"""


class Hold:
    """A place where the kernel waits for the test.

    Attributes:
      define: Python that defines `may_go_on()`, and `wait()` until it says yes.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.define = f"""import pathlib, time

may_go_on = pathlib.Path({str(file)!r}).exists

def wait():
    while not may_go_on():
        time.sleep(0.01)
"""

    def blocked_cell(self, steps: int) -> str:
        """A captured cell whose program prints `steps` times and then waits in a callback: `steps + 1` events."""
        return BLOCKED.format(define=self.define, steps=steps)

    def go_on(self) -> None:
        """The test has seen enough."""
        self._file.touch()
