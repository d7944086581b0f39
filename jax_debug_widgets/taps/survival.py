"""List which of JAX's transformations each kind of callback survives. `tests/callbacks/test_survival.py` asks JAX itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall

TRANSFORMS = (
    "jit", "vmap", "grad", "scan", "cond", "checkpoint", "vmap of cond", "vmap of while", "shard_map",
    "partly manual shard_map", "sharded jit",
)  # fmt: skip
"""The transformations that a callback may be under. In `vmap of while` the lanes take different numbers of steps."""

_NO_DERIVATIVE = {"grad": "no derivative: jax.custom_jvp, or jax.lax.stop_gradient"}
_NO_METHOD = "vmap_method is missing"
_PARTLY_MANUAL = {"partly manual shard_map": "all axes of the mesh must be manual"}
_ONE_DEVICE = "debugging effects are ordered on one device only"
_IO_CONTROL_FLOW = {
    "vmap of cond": "side effects of some lanes only: call it outside the cond",
    "vmap of while": "side effects of some lanes only: call it outside the loop",
}

REFUSED: dict[str, dict[str, str]] = {
    "debug": {},
    "ordered debug": dict.fromkeys(("shard_map", "partly manual shard_map", "sharded jit"), _ONE_DEVICE),
    "pure": {
        **_NO_DERIVATIVE,
        **_PARTLY_MANUAL,
        **dict.fromkeys(("vmap", "vmap of cond", "vmap of while"), _NO_METHOD),
    },
    "pure with vmap_method": {**_NO_DERIVATIVE, **_PARTLY_MANUAL},
    "io": {**_NO_DERIVATIVE, **_PARTLY_MANUAL, **_IO_CONTROL_FLOW},
    "ordered io": {
        **_NO_DERIVATIVE,
        **_PARTLY_MANUAL,
        **_IO_CONTROL_FLOW,
        "vmap": "lanes have no order: ordered=False, or one call with the batch",
    },
    "sharding": {},
}
"""Variant of a callback -> the transformations that JAX refuses it under, and why."""


def variant_of(equation: DebugCall) -> str:
    """Return the row of `REFUSED` that an equation belongs to."""
    if equation.kind == "pure":
        return "pure with vmap_method" if equation.vmap_method else "pure"
    kind = equation.kind if equation.kind in ("io", "sharding") else "debug"
    return f"ordered {kind}" if equation.ordered else kind
