"""Make code in the kernel wait until the test lets it continue.

What the page shows in the meantime, it shows while the cell runs.
"""

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
      define: Python code that defines `may_go_on()`, and `wait()`, which waits until `may_go_on()` is true.
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
        """Return a captured cell with a program that prints `steps` times and then waits in a callback.

        It has `steps + 1` events.
        """
        return BLOCKED.format(define=self.define, steps=steps)

    def go_on(self) -> None:
        """Let the kernel continue."""
        self._file.touch()
