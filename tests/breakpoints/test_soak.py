"""Test many repeated stops: no hang, no lost event, no remaining thread."""

from __future__ import annotations

import os

import pytest

from tests.breakpoints.kernel_client import KernelClient
from tests.breakpoints.test_kernels import SETUP

pytestmark = pytest.mark.cpu("starts processes that choose their own devices")

TIMES = int(os.environ.get("JAXDEBUG_SOAK", "1"))
"""`JAXDEBUG_SOAK=10` runs ten times as many of each."""

BREAKPOINTS, STOPS, INTERRUPTS = 80 * TIMES, 20 * TIMES, 8 * TIMES
THREADS = "print(sorted(t.name for t in threading.enumerate() if t.name.startswith('jaxdebug')))"


@pytest.fixture(scope="module")
def kernel():
    with KernelClient("7.4.0") as kernel:
        kernel.run(SETUP)
        yield kernel


def threads(kernel) -> str:
    """Return our threads that exist between cells."""
    kernel.run("import time; _ = [t.join(5) for t in threading.enumerate() if t.name == 'jaxdebug-console']")
    return kernel.run(THREADS)


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize(
    ("call", "large"),
    [pytest.param("%%jaxdebug\nf", "wide", id="captured"), pytest.param("plain", "wider", id="outside a capture")],
)
def test_many_breakpoints_stops_and_interrupts_in_a_row(kernel, call, large):
    cell = kernel.start(f"{call}(narrow, {BREAKPOINTS})")
    first = last = max((stop["id"] for stop in kernel.stops()), default=0)
    for number in range(BREAKPOINTS):
        stop, run = kernel.wait_for_stop(after=last)
        last = stop["id"]
        assert stop["step"] == ([number] if call != "plain" else [])
        if number % 50 == 0:
            assert kernel.ask(run, "command", stop=last, text="x.shape")["text"] == "(4, 4)"
        kernel.ask(run, "resume", stop=last, how="continue")
    kernel.wait_for_end(cell)
    assert kernel.printed(cell).split("\n")[:-1] == [f"noted {number}" for number in range(BREAKPOINTS)]
    before = threads(kernel)

    for number in range(STOPS):
        cell = kernel.start(f"{call}({large if number % 2 else 'narrow'}, 1000)")
        stop, run = kernel.wait_for_stop(after=last)
        last = stop["id"]
        kernel.ask(run, "resume", stop=last, how="quit")
        kernel.wait_for_end(cell)
        assert "jaxdebug: stopped at" in kernel.printed(cell)

    for number in range(INTERRUPTS):
        cell = kernel.start(f"{call}({large if number % 2 else 'narrow'}, 1000)")
        stop, _ = kernel.wait_for_stop(after=last)
        last = stop["id"]
        kernel.interrupt()
        kernel.wait_for_end(cell)
        assert "jaxdebug: interrupted" in kernel.printed(cell)

    assert last - first == BREAKPOINTS + STOPS + INTERRUPTS
    assert threads(kernel) == before
    assert kernel.run("jax.effects_barrier(); print(float(jax.jit(lambda x: x + 1)(1.0)))") == "2.0\n"
