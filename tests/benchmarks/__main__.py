"""Print the tables: `python -m tests.benchmarks` prints all of them, or those with the given names."""

from __future__ import annotations

import sys

from tests.benchmarks import (
    checks,
    events,
    first_calls,
    gpu,
    idle,
    large,
    peers,
    programs,
    runs,
    scale,
    training,
    vmap,
    watch,
    watch_peers,
)

TABLES = {
    "events": events.main,
    "first-calls": first_calls.main,
    "scale": scale.main,
    "vmap": vmap.main,
    "training": training.main,
    "idle": idle.main,
    "peers": peers.main,
    "large": large.main,
    "watch": watch.main,
    "watch-peers": watch_peers.main,
    "checks": checks.main,
    "programs": programs.main,
    "runs": runs.main,
    "gpu": gpu.main,
}


def main(names: list[str]) -> None:
    """Print the tables with these names; all if none is given."""
    unknown = set(names) - TABLES.keys()
    if unknown:
        raise SystemExit(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    for name in names or TABLES:
        TABLES[name]()


main(sys.argv[1:])
