"""Write the golden folder for the present version of the format: `python tests/run_cases/make_case.py`.

The folder of a released version is never written again: tests read it to check that we still can.
"""

from __future__ import annotations

import json
import linecache
import shutil
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import jax_debug_widgets as jdw
from jax_debug_widgets.archive.layout import VERSION

HERE = Path(__file__).parent

FILE = "/home/user/train.py"

PROGRAM = """import jax
import jax.numpy as jnp

def loss_of(w, x):
    h = jnp.tanh(x @ w)
    jax.debug.print("h {h:.3f}", h=h.mean())
    return (h**2).sum()

@jax.jit
def step(w, x):
    def body(w, i):
        loss, g = jax.value_and_grad(loss_of)(w, x)
        jax.debug.print("{i} loss {loss}", i=i, loss=loss, ordered=True)
        return w - 0.1 * g, loss
    return jax.lax.scan(body, w, jnp.arange(3))

@jax.jit
def lanes(x):
    return jax.vmap(lambda y: [jax.debug.print("lane {y!r}", y=y), jnp.log(y)][1])(x)
"""


def described(run: Any) -> dict[str, Any]:
    """Return the facts about a run that the test compares."""
    return {
        "events": [
            {
                "text": event.text,
                "where": event.site.where,
                "step": list(event.step),
                "lane": list(event.lane),
                "call": event.call,
                "values": [[value.dtype.name, list(value.shape), value.tobytes().hex()] for value in event.values],
            }
            for event in run.events
        ],
        "watched": {name: repr(run[name]) for name in run},
        "calls": [[call.name, call.state, call.events] for call in run.calls],
        "findings": [finding.message for finding in run.findings],
        "notes": run.notes,
        "repr": repr(run),
        "source": run.source_of(FILE)["lines"],
    }


def main() -> None:
    """Run the program, and write its run and the facts."""
    target, names = HERE / f"v{VERSION}.jdw", {}
    linecache.cache[FILE] = (len(PROGRAM), None, PROGRAM.splitlines(keepends=True), FILE)
    exec(compile(PROGRAM, FILE, "exec"), names)  # noqa: S102 - our own program, compiled with the file name of another machine.
    with jdw.capture(title="golden", watch="h", values=True, name="golden", config={"lr": 0.1}) as run:
        names["step"](jnp.ones((2, 10)) / 8, jnp.ones((3, 2)))
        names["lanes"](jnp.arange(3.0))
    shutil.rmtree(target, ignore_errors=True)
    about = run.save(target) / "run.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "host": "host", "pid": 1}, indent=1))
    (HERE / f"v{VERSION}.expected.json").write_text(json.dumps(described(run), indent=1) + "\n")


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    sys.exit(main())
