"""`python -m tests.benchmarks`: all tables; with names, those."""

from __future__ import annotations

import sys

from tests.benchmarks import events, idle, vmap

TABLES = {"events": events.main, "vmap": vmap.main, "idle": idle.main}


def main(names: list[str]) -> None:
    """Print the tables of these names, all where none is given."""
    unknown = set(names) - TABLES.keys()
    if unknown:
        raise SystemExit(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    for name in names or TABLES:
        TABLES[name]()


main(sys.argv[1:])
