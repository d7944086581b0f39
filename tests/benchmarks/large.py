"""Run every kind of callback with large arguments on several devices; plain JAX can hang there, a capture must not.

`python -m tests.benchmarks.large DEVICES STEPS RUNS KIND ...` runs in a process of its own and prints `finished KIND`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.timing import table

KINDS = ("print", "echo", "callback", "io", "pure")
ELEMENTS = 100 << 10
"""The number of float32 elements: 400 KiB on each device."""

TIMEOUT = 600
ROOT = Path(__file__).parents[2]


def finishes(kinds: Sequence[str], devices: int, steps: int, runs: int, timeout: float = TIMEOUT) -> float:
    """Run captured programs of these kinds in a process of their own; return the seconds it took.

    Args:
      kinds: the kinds of callbacks.
      devices: the number of devices.
      steps: the number of steps of a program.
      runs: how often each program runs.
      timeout: the time limit in seconds.

    Raises:
      AssertionError: it failed. subprocess.TimeoutExpired: it hangs.
    """
    command = [sys.executable, "-m", "tests.benchmarks.large", str(devices), str(steps), str(runs), *kinds]
    start = time.perf_counter()
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    assert ended.returncode == 0, ended.stderr
    assert all(f"finished {kind}" in ended.stderr for kind in kinds), ended.stderr
    return time.perf_counter() - start


def run(kind: str, devices: int, steps: int, runs: int) -> None:
    """Run one kind in this process."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import io_callback
    from jax.sharding import PartitionSpec as P

    import jax_debug_widgets as jdw

    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    seen: list[float] = []

    def step(_, x):
        match kind:
            case "print" | "echo":
                jax.debug.print("{x}", x=x)
            case "callback":
                jax.debug.callback(lambda x: seen.append(float(np.asarray(x).sum())), x)
            case "io":
                x += io_callback(lambda x: np.asarray(x).min() * np.float32(0), scalar, x)
            case "pure":
                x += jax.pure_callback(lambda x: np.asarray(x).min() * np.float32(0), scalar, x)
        return x + 1

    mesh = jax.make_mesh((devices,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    body = jax.shard_map(lambda x: jax.lax.fori_loop(0, steps, step, x), mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    program, zeros = jax.jit(body), jnp.zeros((devices, ELEMENTS))
    for _ in range(runs):
        with jdw.capture(echo=kind == "echo") as captured:
            result = program(zeros)
            jax.block_until_ready(result)
        assert (result == steps).all()
        (count,) = captured.store.seen_by_site().values()
        assert count == devices * steps, f"{count} events"
        printed = sorted(float(event.values[0].max()) for event in captured.events)
        assert printed == sorted(devices * list(range(steps))), printed
    assert len(seen) == (devices * steps * runs if kind == "callback" else 0)
    sys.stderr.write(f"finished {kind}\n")


def main() -> None:
    """Print the table."""
    steps, runs = 100, 20
    rows = [
        [f"{kind}, {devices} devices", f"{finishes([kind], devices, steps, runs):.1f}"]
        for kind in KINDS
        for devices in (2, 4)
    ]
    table(f"400 KiB a device and step, {steps} steps, {runs} runs: all finished", ["", "s"], rows)


if __name__ == "__main__":
    count, *sizes = map(int, sys.argv[1:4])
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", count)
    for one in sys.argv[4:]:
        run(one, count, *sizes)
