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
from jax.experimental import io_callback
from jax.sharding import PartitionSpec as P

callback = {"pure": jax.pure_callback, "io": io_callback}[sys.argv[1]]
scalar = jax.ShapeDtypeStruct((), jnp.float32)
step = lambda _, x: x + callback(lambda x: np.asarray(x).max() + np.float32(1), scalar, x) - x
mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
body = lambda x: jax.lax.fori_loop(0, 10, step, x)
f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("d"), out_specs=P("d")))
x = jnp.zeros((2, 100 * 1024))
if "plain" in sys.argv:
    f(x).block_until_ready()
else:
    with jdw.capture() as run:
        y = f(x).block_until_ready()
        jax.effects_barrier()
    assert (y == 10).all()
    assert run.callbacks[0].returned == len(run.events) == 20, run.callbacks
sys.stderr.write("finished")
"""


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("callback", ["pure", "io"])
def test_a_loop_on_two_devices_whose_host_function_reads_400_kib_finishes(callback):
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, callback], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.endswith("finished")
