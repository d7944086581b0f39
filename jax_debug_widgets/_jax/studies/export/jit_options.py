"""Describe the options of `jax.jit` that a written package leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jax.sharding import Sharding


def left_out(params: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield a sentence for each option of a jitted function that the package leaves out.

    Args:
      params: the parameters of its equation; `name`: the name of the function.
    """
    given = [key for key in ("in_shardings", "out_shardings") if _has(params.get(key), Sharding)]
    given += [
        f"{key} of XLA's layouts"
        for key in ("in_layouts", "out_layouts")
        if any(one is not None for one in params.get(key) or ())
    ]
    if given:
        yield f"jax.jit({name}) was given {' and '.join(given)}: the package computes wherever its arguments are"
    if any(params.get("donated_invars") or ()):
        yield f"jax.jit({name}) gave arguments away (donate_argnums): the package keeps them"
    if params.get("keep_unused"):
        yield f"jax.jit({name}) kept arguments that it does not use (keep_unused=True): the package does not"
    if params.get("compiler_options_kvs"):
        yield f"jax.jit({name}) had compiler_options: the package has none"


def _has(values: Any, kind: type) -> bool:
    return any(isinstance(one, kind) for one in values or ())
