"""Run the command line: `python -m jax_debug_widgets record FILE train.py args`; see `scripts`."""

from __future__ import annotations

import sys

from jax_debug_widgets.scripts.record import USAGE, WRONG_USAGE, record


def main(words: list[str]) -> int:
    """Run the command given by `words`; return the exit status."""
    match words:
        case ["help" | "--help" | "-h"] | ["record", "--help" | "-h"]:
            from jax_debug_widgets.magics.options import help_of_options

            print(f"{USAGE}\n{help_of_options()}")  # noqa: T201 - the user asked for it.
            return 0
        case ["record", *rest]:
            return record(rest)
    print(USAGE, file=sys.stderr)  # noqa: T201
    return WRONG_USAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
