"""Large arguments on several devices: plain JAX can hang there for ever, a captured program finishes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_num_cpu_devices", 2)
import jax_debug_widgets as jdw
from jax.sharding import PartitionSpec as P

sums = []

def step(i, x):
    if "callback" in sys.argv:
        jax.debug.callback(lambda x: sums.append(float(np.asarray(x).sum())), x)
    else:
        jax.debug.print("{x}", x=x)
    return x + 1

mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
body = lambda x: jax.lax.fori_loop(0, 10, step, x)
f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("d"), out_specs=P("d")))
with jdw.capture(echo="echo" in sys.argv) as run:
    y = f(jnp.zeros((2, 100 * 1024)))
assert float(y.sum()) == 10 * 2 * 100 * 1024
steps = sorted(float(event.values[0].sum()) / (100 * 1024) for event in run.events)
assert steps == sorted(2 * list(range(10))), steps
assert len(sums) == (20 if "callback" in sys.argv else 0), sums
sys.stderr.write("finished")
"""


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("what", [["callback"], ["print"], ["print", "echo"]], ids="-".join)
def test_a_loop_on_two_devices_that_shows_400_kib_finishes(what):
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, *what], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.endswith("finished")
    assert finished.stdout.count("0") > 0 if "echo" in what else finished.stdout == ""
