"""What differs between the supported JAX versions, in one place. The oldest is 0.8, the newest tried 0.10.2."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from jax._src import monitoring
from jax._src.interpreters import batching, mlir

Batcher = Callable[..., Any]
"""`(axis_data, operands, dims, **params)`, as since 0.10; before, the rule of a primitive had no `axis_data`."""


def replace_batcher(primitive: Any, ours: Callable[..., Any]) -> Callable[[], None]:
    """Put `ours(theirs, operands, dims, **params)` in the place of the batching rule; answers with what undoes it."""
    table = batching.fancy_primitive_batchers
    if primitive in table:
        theirs = table[primitive]

        def with_axis(axis: Any, operands: Any, dims: Any, **params: Any) -> Any:
            return ours(partial(theirs, axis), operands, dims, **params)

        table[primitive] = with_axis
    else:
        table = batching.primitive_batchers
        theirs = table[primitive]
        table[primitive] = partial(ours, theirs)
    return partial(table.__setitem__, primitive, theirs)


def set_sharding(module: Any, operation: Any, sharding: Any) -> None:
    """Annotate an operation; since 0.10 the module's context is asked for as well."""
    wants_module = len(inspect.signature(mlir.set_sharding).parameters) > 2
    mlir.set_sharding(*([module] if wants_module else []), operation, sharding)


def stop_listening(listener: Callable[..., None]) -> None:
    """Undo `jax.monitoring.register_event_duration_secs_listener`; public since 0.9."""
    public = getattr(monitoring, "unregister_event_duration_listener", None)
    (public or monitoring._unregister_event_duration_listener_by_callback)(listener)
