"""Run one of two processes of a job, with two CPU devices each, and write what its captures saw as JSON.

Usage: `python job.py NUMBER PORT FOLDER`. In the first cases the processes capture differently: such differences made
jobs hang or fail. In the last cases both capture the same way, and record the job. The clock of process 1 is three
seconds ahead.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat.processes import shared_store
from jax_debug_widgets.breakpoints.answers import answer
from jax_debug_widgets.session import agreement, current_session

OWN, real_time = int(sys.argv[1]), time.time
if OWN == 1:
    time.time = lambda: real_time() + 3.0

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{sys.argv[2]}", 2, OWN)

MESH = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))
X = jax.make_array_from_callback(
    (8, 4), NamedSharding(MESH, P("d")), lambda index: np.arange(32.0, dtype=np.float32).reshape(8, 4)[index]
)


@jax.jit
def watched(x):
    h = x * 2
    k = h + 1
    return (k @ jnp.ones((4, 4))).sum()


@jax.jit
def looped(x):
    def body(carry, i):
        jax.debug.print("carry {}", carry * i)
        return carry + x, None

    return jax.lax.scan(body, x, jnp.arange(4.0))[0].sum()


@jax.jit
def chosen(x):
    def one(row):
        row = jdw.breakpoint(row, when=row.sum() > 1e9)
        return jax.lax.cond(row.sum() > 50, lambda r: (jax.debug.print("row {}", r.sum()), r)[1], lambda r: -r, row)

    return jax.vmap(one)(x).sum()


def shard(block):
    jax.debug.print("block {}", block.sum())
    return jax.lax.psum(block.sum(), "d")


@jax.jit
def sharded(x):
    jax.debug.print("first {}", x[0, 0])
    return jax.shard_map(shard, mesh=MESH, in_specs=P("d"), out_specs=P())(x)


def captured(function, first: dict | None, second: dict | None, *, calls: int = 2):
    """Call a function in this process's capture, if it has one; the calls run at the same time."""
    options = (first, second)[OWN]
    with contextlib.nullcontext() if options is None else jdw.capture(**options) as run:
        results = [function(X) for _ in range(calls)]
    return [float(one) for one in results], run


def told(results, run) -> dict:
    """Return what a run saw, for JSON."""
    if run is None:
        return {"results": results}
    return {
        "results": results,
        "notes": run.notes,
        "findings": [str(finding) for finding in run.findings],
        "calls": [event.call for event in run.events],
        "lanes": sorted(event.lane for event in run.events),
        "phantoms": sum(event.phantom for event in run.events),
        "watched": [site.watch.name for site in run.watched],
    }


agreement._PATIENCE_S = 1.0
seen = {
    "one watches": told(*captured(watched, {"watch": "h"}, None)),
    "other names": told(*captured(watched, {"watch": "h"}, {"watch": "k"})),
    "one samples": told(*captured(looped, {"every": 2}, {})),
    "one captures": told(*captured(chosen, {}, None)),
}
agreement._PATIENCE_S = 20.0
for name, function in (("lanes", chosen), ("shards", sharded), ("silent", watched)):
    seen[name] = told(*captured(function, {}, {}, calls=3))
results, run = captured(watched, {"watch": "h,grad/h", "values": True}, {"watch": "h,grad/h", "values": True})
assert run is not None
seen["both watch"] = told(results, run) | {"h": [] if OWN else np.sum(run["h"]["value"], axis=(1, 2)).tolist()}


@jax.jit
def train_step(x):
    def loss_of(block):
        jax.debug.callback(lambda _: None, block)
        return jax.lax.psum((block**2).sum(), "d")

    loss = jax.shard_map(loss_of, mesh=MESH, in_specs=P("d"), out_specs=P())(x)
    own = (x * 0.5)[0, 0]
    jax.debug.print("own {own}", own=own)
    return x * 0.5, loss


@jax.jit
def logged(loss):
    jax.debug.print("loss {loss}", loss=loss)


@jax.jit
def stopping(x):
    jax.debug.breakpoint()
    return x + 1


sys.stdin = open(os.devnull)  # noqa: SIM115
sys.stdin.isatty = lambda: True
with jdw.capture() as run:
    stopping(np.float32(OWN))
seen["breakpoints"] = told([], run) | {"kinds": [event.kind for event in run.events]}
with jdw.capture(record=sys.argv[3]) as run:
    x = X
    for step in range(4):
        x, loss = train_step(x)
        logged(np.float32(loss) + (OWN == 1 and step == 3))


def until(condition):
    """Wait until the condition is true."""
    while not condition():
        threading.Event().wait(0.005)


def asked(run, wish):
    """Return the text of the panel's button when the processes have agreed on it."""
    answers = []
    answer(current_session().debugger, run.key, 1, {"type": wish}, lambda message: answers.append(message[0]["type"]))
    until(lambda: answers)
    return answers[0]


def at_the_panel(run, seen):
    """Process 0 pauses all processes, and resumes them when process 1 has stopped; then process 1 ends all."""
    debugger, store, job = current_session().debugger, shared_store(), run.policy.job
    assert store and job
    if OWN == 0:
        debugger.observers.heard()
        until(lambda: job._begun)
        seen["stoppable"] = run.status().stoppable
        seen["answers"] = [asked(run, "pause")]
        until(lambda: debugger.stop)
        stop = debugger.stop
        assert stop
        stop.seen()
        seen["stands"] = [job.standing, int(store.wait_for("test/stands", 20) or 0)]
        seen["reason"], seen["frame"] = stop.scene.reason, stop.frames()[0].function
        stop.resume("continue")
    else:
        until(lambda: job.standing)
        store.put("test/stands", str(job.standing))
        until(lambda: not job.standing)
        seen["answers"] = [asked(run, "halt")]


def stopped(seen):
    """Call a function until it is ended; process 0 makes other calls in between."""
    with jdw.capture() as run:
        user = threading.Thread(target=at_the_panel, args=(run, seen))
        user.start()
        try:
            for number in itertools.count():
                if OWN == 0:
                    logged(np.float32(number))
                sharded(X).block_until_ready()
        finally:
            user.join()
            seen["notes"] = run.notes


seen["stops"] = {}
try:
    stopped(seen["stops"])
except jdw.Stopped as error:
    seen["stops"]["ended"] = str(error)
print(json.dumps(seen))
