"""Record one run from two workers of Ray Train, as docs/processes.md describes it.

`python ray_job.py FOLDER` prints what is read from the recording.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def train_loop_per_worker(config: dict[str, Any]) -> None:
    """Run three steps of gradient descent in a capture."""
    import jax
    import jax.numpy as jnp
    from ray import train

    import jax_debug_widgets as jdw

    context = train.get_context()
    os.environ |= {"JDW_PROCESS": str(context.get_world_rank()), "JDW_PROCESSES": str(context.get_world_size())}

    def loss_of(w: jax.Array) -> jax.Array:
        loss = (w - 1) ** 2
        return loss.sum()

    step = jax.jit(jax.value_and_grad(loss_of))
    with jdw.capture(record=config["folder"], watch=["loss"]):
        w = jnp.float32(0)
        for _ in range(3):
            _, slope = step(w)
            w -= slope / 4


if __name__ == "__main__":
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.v2.jax import JaxTrainer

    import jax_debug_widgets as jdw

    folder = sys.argv[1]
    ray.init(num_cpus=2, include_dashboard=False)
    JaxTrainer(
        train_loop_per_worker,
        train_loop_config={"folder": f"{folder}/run.jdw"},
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(storage_path=folder),
    ).fit()
    run = jdw.load(f"{folder}/run.jdw")
    print("complete", run.is_complete)
    for process in run.processes:
        print("loss", *process.series("loss")[1].tolist())
