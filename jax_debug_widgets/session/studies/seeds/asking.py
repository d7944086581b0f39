"""Trace a function in fresh interpreters with other hash seeds, and compare the programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from typing import Any

from jax_debug_widgets.graphs.traces import Seeds
from jax_debug_widgets.session.run.progress import progress
from jax_debug_widgets.session.studies.seeds.sending import as_words

SECONDS = 300
"""An interpreter that takes more seconds is ended."""

_INSIDE = "JAX_DEBUG_WIDGETS_TRACES_WITH_SEED"
"""The environment variable that is set in these interpreters."""

_CHILD = "jax_debug_widgets.session.studies.seeds.received"


def traced_with_seeds(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    count: int,
    name_file: Callable[[str], str],
) -> Seeds:
    """Trace a function in `count` interpreters with the hash seeds 0, 1, …, and compare the programs.

    Raises:
      ValueError: `count` is less than two, or the function cannot be sent to another process.
      RuntimeError: an interpreter failed, or this is such an interpreter, which imports a file that asks for seeds.
    """
    if _INSIDE in os.environ:  # It would start interpreters that start interpreters.
        msg = "a file asks for traces with seeds when it is imported; put that call under `if __name__ == '__main__':`"
        raise RuntimeError(msg)
    if count < 2:  # noqa: PLR2004 - one cannot differ.
        raise ValueError("seeds compares interpreters: it takes 2 or more")
    about = json.dumps(as_words(function, args, kwargs))
    with (
        ThreadPoolExecutor(min(count, os.cpu_count() or 1)) as pool,
        progress("Tracing", "interpreters", count) as done,
    ):
        programs = []
        for program in pool.map(lambda seed: _traced(about, seed), range(count)):
            programs.append(program)
            done()
    (*first, result) = programs[0]
    for seed, (*lines, other) in enumerate(programs[1:], 1):
        if lines == first and other == result:
            continue
        pairs = zip_longest(first, lines, fillvalue=("nothing more", "", 0))
        left, right = next(((a, b) for a, b in pairs if a != b), (result, other))
        where = right if right[1] else left
        at = f"{name_file(where[1])}:{where[2]}" if where[1] else ""
        verdict = "another order" if other == result else "another program"
        return Seeds(count, verdict, seed, at, (left[0], right[0]))
    return Seeds(count, "same")


def _traced(about: str, seed: int) -> list[Any]:
    # A trace needs no accelerator, and must not take memory of the one that this process uses.
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "JAX_PLATFORMS": "cpu", _INSIDE: "1"}
    ran = subprocess.run(  # noqa: S603 - this Python.
        [sys.executable, "-m", _CHILD],
        input=about,
        capture_output=True,
        text=True,
        env=environment,
        timeout=SECONDS,
        check=False,
    )
    if ran.returncode:
        why = ran.stderr.strip().splitlines()[-1:] or [f"it ended with {ran.returncode}"]
        raise RuntimeError(f"a fresh interpreter cannot trace the function: {why[0]}")
    return json.loads(ran.stdout)
