"""Return everything that a loaded run shows, as plain data. This module must not import JAX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import jax_debug_widgets as jdw


def told(path: str) -> dict[str, Any]:
    """Load a run, and return everything that a reader of it sees."""
    run = jdw.load(path)
    bundle = run._repr_mimebundle_()[0]
    names = list(run)
    return {
        "events": [(one.text, one.kind, one.call, one.step, one.lane, [*map(bits, one.values)]) for one in run.events],
        "findings": str(run.findings),
        "values": {name: [bits(run[name][statistic]) for statistic in run[name].site.values] for name in names},
        "gradients": {name: _or_why(lambda name=name: [run[name].gradient["mean"]]) for name in names},
        "series": [_or_why(lambda name=name: run.series(name)) for name in ("loss", "half", *names)],
        "calls": [repr(one) for one in run.calls],
        "frame": run.to_pandas().to_csv(),
        "report": run.report(),
        "panel": bundle["text/plain"],
        "html": re.sub(run.key, "KEY", bundle["text/html"]),
        "lines": [bits(line.get_ydata()) for line in run.plot(names[0]).lines],
        "notes": run.notes,
        "repr": repr(run),
        "source": run.source_of(run.sites[0].file)["lines"],
    }


def _or_why(read: Callable[[], Iterable[Any]]) -> list[str]:
    """Return the bits of arrays; or why there are none, which is the same with JAX."""
    try:
        return [*map(bits, read())]
    except (AttributeError, LookupError, ValueError) as error:
        return [type(error).__name__, str(error)]


def bits(value: Any) -> str:
    """Return dtype, shape and bits of an array."""
    array = np.asarray(value)
    return f"{array.dtype}{array.shape}{array.tobytes().hex()}"
