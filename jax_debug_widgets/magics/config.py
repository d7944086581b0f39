"""Parse `--config`: the settings by which a table compares runs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from jax_debug_widgets.watch.choosing.select import separated

EXAMPLE = "lr=3e-4,seed=1"


def config_of(texts: Sequence[str], expand: Callable[[str], str]) -> dict[str, Any]:
    """Return the names and values of `lr=3e-4,seed=1`. A value that is not a literal is a text.

    Args:
      texts: the texts after each `--config`.
      expand: replaces variables in a text.

    Raises:
      ValueError: a name has no value.
    """
    config = {}
    for one in [one for text in texts for one in separated(expand(text))]:
        name, sign, value = one.partition("=")
        if not (name.strip() and sign):
            raise ValueError(f"--config wants names with values, not {one!r}; write `--config {EXAMPLE}`")
        try:
            config[name.strip()] = ast.literal_eval(value.strip())
        except (SyntaxError, ValueError):
            config[name.strip()] = value.strip()
    return config
