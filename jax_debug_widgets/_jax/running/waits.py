"""Observe when the program waits: in `jax.effects_barrier`, `jax.block_until_ready`, and the array's method."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from jax_debug_widgets._jax.compat import features, hidden_frames
from jax_debug_widgets._jax.compat.private import array, dispatch, xla_client
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.context import is_capturing

Wait = Literal["effects_barrier", "block_until_ready"]
"""The JAX function in which the program waited."""

_SHORTEST_NS = 100_000
"""Shorter waits are not reported: the result was ready, and training loops wait often."""

Waited = Callable[[Wait, int, int], None]
"""Takes the function, and when the wait began and ended, in ns of `perf_counter_ns`; called in the thread that waited."""


class Waits(Replacing):
    """Reports the waits of capturing threads to `waited`."""

    def __init__(self, waited: Waited) -> None:
        super().__init__()
        self._waited = waited
        self._here = _Here()

    def _put_in(self, replace: Replacements) -> None:
        if not features.available(features.WAITS):
            return
        # These are called by the public functions, which a program may have imported by name before the capture.
        waits: tuple[tuple[Any, str, Wait], ...] = (
            (dispatch.RuntimeTokenSet, "block_until_ready", "effects_barrier"),
            (array.ArrayImpl, "block_until_ready", "block_until_ready"),
            (xla_client, "batched_block_until_ready", "block_until_ready"),
        )
        for owner, name, what in waits:
            replace.attribute(owner, name, partial(self._timed, what))

    def _timed(self, what: Wait, theirs: Callable[[Any], Any], waited_for: Any) -> Any:
        if not is_capturing():
            return theirs(waited_for)
        is_barrier, began = what == "effects_barrier", time.perf_counter_ns()
        if is_barrier:
            self._here.is_in_barrier = True
        try:
            return theirs(waited_for)
        except BaseException as error:
            # On a GPU a callback's exception is raised here, not where the program was called.
            hidden_frames.clean(error)
            raise
        finally:
            ended = time.perf_counter_ns()
            if is_barrier:
                self._here.is_in_barrier = False
            if ended - began >= _SHORTEST_NS and not self._here.is_in_barrier:
                self._waited(what, began, ended)


class _Here(threading.local):
    """The state of the current thread: whether it is in the barrier, where JAX waits for its tokens, which are arrays."""

    is_in_barrier = False
