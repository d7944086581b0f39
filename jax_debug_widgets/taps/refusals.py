"""Explain JAX's errors about callbacks: which call JAX refused, why, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets._jax.running.callback_hooks import Refusal

_PARTLY_MANUAL = (
    "some axes of the mesh are automatic here, and JAX does not know on which device to call {name}. Make all axes of "
    "the mesh manual in shard_map, or call it outside."
)

_WAYS = {
    ("pure_callback", "vmap"): (
        "vmap does not know how to call {name} for a batch. Write vmap_method='sequential' to call it once a lane, or "
        "'expand_dims' or 'broadcast_all' to call it once with all lanes, if it takes a leading axis."
    ),
    ("pure_callback", "jvp"): (
        "JAX cannot differentiate Python code. Put the call into a function of its own under jax.custom_jvp, and give "
        "its derivative with defjvp; or pass jax.lax.stop_gradient(x), if no derivative is to go through it."
    ),
    ("io_callback", "vmap"): (
        "the lanes of vmap have no order among them. Write ordered=False to call {name} once a lane, or make one "
        "ordered call outside the vmap, with the whole batch."
    ),
    ("io_callback", "jvp"): (
        "a call with side effects has no derivative. If {name} only looks at values, use jax.debug.callback, which "
        "grad leaves alone; if its result is needed, put it under jax.custom_jvp, or pass jax.lax.stop_gradient(x)."
    ),
    ("io_callback", "vmap of cond"): (
        "under vmap both branches of a cond run, for all lanes, and a side effect of some lanes only cannot be. Call "
        "{name} outside the cond, or use jax.debug.callback, which fires for all lanes."
    ),
    ("io_callback", "vmap of while"): (
        "under vmap a while runs until its last lane has finished, and a side effect of some lanes only cannot be. Call "
        "{name} outside the loop, or use jax.debug.callback, which fires for all lanes."
    ),
    ("pure_callback", "partly manual"): _PARTLY_MANUAL,
    ("io_callback", "partly manual"): _PARTLY_MANUAL,
    ("debug", "devices"): (
        "the program runs on several devices, and debugging effects are ordered on one only. Write ordered=False and "
        "pass the step along, or use jax.experimental.io_callback(..., ordered=True), which keeps its order on several."
    ),
}
"""Primitive and reason of a refusal -> why JAX refuses it, and what to write instead."""


@dataclass(frozen=True)
class RefusedCallback:
    """A callback that JAX has refused.

    Attributes:
      frame: the user's frame that calls it.
      primitive: `pure_callback`, `io_callback` or `debug`.
      reason: the reason, see `Refusal`.
      call: the call, as text: `pure_callback(host)`.
      why: why JAX refuses it, and what to write instead.
      error: JAX's message.
    """

    frame: Frame
    primitive: str
    reason: str
    call: str
    why: str
    error: str


def refused(refusal: Refusal) -> RefusedCallback:
    """Describe a callback that JAX has refused, without the exception, which would keep the user's arrays alive."""
    primitive = "debug" if refusal.primitive.startswith("debug") else refusal.primitive
    reason = "jvp" if refusal.reason == "transpose" else refusal.reason
    why = _WAYS[primitive, reason].format(name=refusal.format)
    return RefusedCallback(refusal.frame, primitive, reason, _call(refusal), why, str(refusal.error))


def _call(refusal: Refusal) -> str:
    name = {"debug_print": "jax.debug.print", "debug_callback": "jax.debug.callback"}.get(
        refusal.primitive, refusal.primitive
    )
    what = repr(refusal.format) if refusal.primitive == "debug_print" else refusal.format
    arguments = [part for part in (what, "ordered=True" if refusal.ordered else "") if part]
    return f"{name}({', '.join(arguments)})"
